/** The log of a run over HTTP: as text, in parts, searched, and followed on a real connection. */
import { type Caller, type NodeId, type RunId, SERVER } from '@carillon/domain';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { dayOf } from '../log-store/log-store.ts';
import { GatewayFixture, KEY } from './gateway.fixture.ts';

const SOON = { withinMs: 60_000 };
const DAY = '2030-01-01';
let gateway: GatewayFixture;
let runId: RunId;

beforeEach(async () => {
  gateway = new GatewayFixture();
  const jobId = await gateway.createdId({ name: 'chatty', schedule_type: 'IMMEDIATE', namespace: 'default' });
  runId = jobId as unknown as RunId;
});
afterEach(() => gateway.app.close());

/** An attempt that has ended, with what it wrote. */
async function attempt(
  epoch: number,
  text: string,
  over: { start?: number; ended?: boolean; writer?: NodeId } = {},
) {
  const { start = 0, ended = true, writer } = over;
  const key = { day: DAY, runId, epoch, writer };
  await gateway.logStore.write(key, { segment: start, offset: start }, Buffer.from(text));
  const { clock, storage } = gateway;
  await storage.runLogs.recordLogs([
    {
      ...{ ...key, nodeId: undefined, bytes: start + Buffer.byteLength(text), lines: 1 },
      ...{ firstAtMs: clock.now(), lastAtMs: clock.now(), ended, incomplete: false },
    },
  ]);
}

async function fail(next: 'again' | 'dead'): Promise<void> {
  const batch = await gateway.claimDue();
  await gateway.settle(batch, {
    status: 'FAILED',
    error: 'boom',
    next:
      next === 'again'
        ? { kind: 'again', atMs: gateway.clock.now(), attempt: 2, crashes: 0 }
        : { kind: 'dead', reason: 'retries_exhausted' },
  });
}

async function get(query = '', headers: Record<string, string> = {}, key = KEY) {
  const answer = await gateway.app.inject({
    method: 'GET',
    url: `/api/runs/${runId}/logs${query}`,
    headers: { accept: '*/*', authorization: `Bearer ${key}`, ...headers },
  });
  return { status: answer.statusCode, text: answer.body, headers: answer.headers };
}

describe('the text', () => {
  beforeEach(async () => {
    await fail('dead');
    await attempt(1, '1 o one\n2 e two <b>\n3 s three\n4 o one more\n');
  });

  test('begins with a line about the attempt, and is nothing but text for a browser', async () => {
    const { status, text, headers } = await get();
    expect(status).toBe(200);
    expect(text).toMatch(/^# attempt 1, epoch 1, FAILED, worker worker-1, from .*\n1 o one\n2 e two <b>\n/);
    expect(headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(headers['content-disposition']).toBeUndefined();
    expect(headers['content-length']).toBe(String(text.length));
    expect((await get('?download=1')).headers['content-disposition']).toBe(
      `attachment; filename="run-${runId}.log"`,
    );
  });

  test.each([
    ['?attempt=1', '1 o one\n2 e two <b>\n3 s three\n4 o one more\n'],
    ['?epoch=1&tail=2', '3 s three\n4 o one more\n'],
    ['?epoch=2', ''],
    ['?stream=stderr', '2 e two <b>\n'],
    ['?stream=stdout,system', '1 o one\n3 s three\n4 o one more\n'],
    ['?search=one', '1 o one\n4 o one more\n'],
    ['?search=one&tail=1', '4 o one more\n'],
    ['?since=1970-01-01T00:00:00.003Z', '3 s three\n4 o one more\n'],
    ['?since=1h', ''],
  ])('with %s is %j', async (query, expected) => {
    expect(await get(query)).toMatchObject({ status: 200, text: expected });
  });

  test.each(['?tail=0', '?stream=out', '?since=soon', '?attempt=x', '?head=3'])(
    '%s is refused',
    async (query) => {
      expect((await get(query)).status).toBe(400);
    },
  );

  test('is read in parts', async () => {
    const whole = (await get()).text;
    for (const [range, from, to] of [
      ['bytes=0-0', 0, 1],
      ['bytes=5-20', 5, 21],
      [`bytes=${whole.length - 3}-`, whole.length - 3, whole.length],
      ['bytes=-4', whole.length - 4, whole.length],
      ['bytes=3-99999', 3, whole.length],
    ] as const) {
      const { status, text, headers } = await get('', { range });
      expect([range, status, text]).toEqual([range, 206, whole.slice(from, to)]);
      expect(headers['content-range']).toBe(`bytes ${from}-${to - 1}/${whole.length}`);
    }
    expect(await get('', { range: 'bytes=5-2' })).toMatchObject({ status: 200, text: whole });
    const beyond = await get('', { range: `bytes=${whole.length}-` });
    expect(beyond.status).toBe(416);
    expect(beyond.headers['content-range']).toBe(`bytes */${whole.length}`);
    expect(JSON.parse(beyond.text)).toMatchObject({ code: 'range_not_satisfiable' });
  });

  test('names what was left out of its middle, and what is lost at its end', async () => {
    await attempt(1, '99 o tail\n', { start: 1_000 });
    const gap = /4 o one more\n99 s 957 bytes of output are left out here: .*\n99 o tail\n$/;
    const { text, headers } = await get('?epoch=1');
    expect(text).toMatch(gap);
    expect(headers['content-length']).toBe(String(text.length));
    expect((await get('?epoch=1&stream=stdout,stderr,system')).text).toBe(text);
    await gateway.logStore.dropSome({ beforeDay: '2030-01-02' });
    expect((await get('?epoch=1')).text).toMatch(/^\d+ s 1010 bytes of output are missing here/);
  });

  test('of JSON is the story, as it was before; without a preference too', async () => {
    for (const accept of ['application/json', '']) {
      const { status, text } = await get('', { accept });
      expect(status).toBe(200);
      expect(JSON.parse(text).logs.map(({ message }: { message: string }) => message)).toContain(
        'error: boom',
      );
    }
  });

  test('in the folder of another server is named as such', async () => {
    const { runLogs } = gateway.storage;
    const [record] = await runLogs.logsOf(runId);
    await runLogs.recordLogs([{ ...record!, nodeId: 'node-9' as never }]);
    const { status, text } = await get();
    expect(status).toBe(200);
    expect(text).toMatch(/is missing here: it is in a folder of the server node-9/);
  });

  test('of which all is in the folder of another server is refused', async () => {
    const { runLogs } = gateway.storage;
    const [record] = await runLogs.logsOf(runId);
    await runLogs.recordLogs([{ ...record!, epoch: 7, nodeId: 'node-9' as never }]);
    const { status, text } = await get('?epoch=7');
    expect(status).toBe(503);
    expect(JSON.parse(text)).toMatchObject({
      code: 'log_elsewhere',
      detail: expect.stringContaining('node-9'),
    });
  });
});

test('attempts follow each other, each with its own line', async () => {
  await fail('again');
  await fail('dead');
  await attempt(2, '5 o second\n');
  await attempt(1, '1 o first\n');
  const { text } = await get();
  expect(text).toMatch(/^# attempt 1, epoch 1, .*\n1 o first\n# attempt 2, epoch 2, .*\n5 o second\n$/);
  expect((await get('?attempt=2')).text).toBe('5 o second\n');
});

test('takes the permission logs.read; a run elsewhere looks as if it were not there', async () => {
  await attempt(1, '1 o secret\n');
  const asked = async (grant: Parameters<GatewayFixture['keyWith']>[0], accept = 'text/plain') => {
    const { status, text } = await get('', { accept }, await gateway.keyWith(grant));
    expect(status === 200).toBe(text.includes('secret'));
    return status;
  };
  expect(await asked({ role: 'observer' })).toBe(200);
  expect(await asked({ role: 'operator' })).toBe(200);
  for (const accept of ['text/plain', 'text/event-stream']) {
    expect(await asked({ role: 'viewer' }, accept)).toBe(403);
    expect(await asked({ role: 'admin', namespace: 'elsewhere' }, accept)).toBe(404);
  }
});

describe('followed', () => {
  const leave = new Set<AbortController>();
  afterEach(() => {
    for (const controller of leave) controller.abort();
  });

  async function follow(headers: Record<string, string> = {}, query = '') {
    const address = gateway.app.server.listening
      ? `http://127.0.0.1:${(gateway.app.server.address() as { port: number }).port}`
      : await gateway.app.listen({ port: 0, host: '127.0.0.1' });
    const controller = new AbortController();
    leave.add(controller);
    const response = await fetch(`${address}/api/runs/${runId}/logs${query}`, {
      headers: { authorization: `Bearer ${KEY}`, accept: 'text/event-stream', ...headers },
      signal: controller.signal,
    });
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
    const state = { text: '', ended: false };
    const read = async () => {
      const decoder = new TextDecoder();
      for await (const chunk of response.body!)
        state.text += decoder.decode(chunk as Uint8Array, { stream: true });
      state.ended = true;
    };
    read().catch(() => undefined);
    return state;
  }
  const until = (condition: () => boolean) =>
    eventually(() => {
      gateway.clock.advance(300);
      expect(condition()).toBe(true);
    }, SOON);
  const said = ({ text }: { text: string }) =>
    [...text.matchAll(/"text":("(?:[^"\\]|\\.)*")/g)].map(([, json]) => JSON.parse(json!));

  test('shows lines while the run goes on, its next attempt, and its end', async () => {
    const batch = await gateway.claimDue();
    await attempt(1, '1 o one\r half\n', { ended: false });
    const stream = await follow();
    await until(() => said(stream).length === 1);
    await gateway.logStore.write(
      { day: DAY, runId, epoch: 1 },
      { segment: 0, offset: 14 },
      Buffer.from('2 e two\n3 o not yet'),
    );
    await until(() => said(stream).length === 2);
    expect(stream.text).toContain('id: 1:0:22\nevent: line\n');
    await attempt(2, '9 o next\n');
    await until(() => said(stream).length === 3);
    expect(said(stream)).toEqual(['one\r half', 'two', 'next']);
    expect(stream.ended).toBe(false);
    await gateway.settle(batch, { status: 'SUCCESS', next: { kind: 'finish' } });
    await until(() => stream.ended);
    expect(stream.text).toMatch(/event: end\ndata: \{"status":"SUCCESS"\}\n\n$/);
  });

  test('goes on after the last message that was seen', async () => {
    await fail('dead');
    await attempt(1, '1 o one\n2 o two\n3 o three\n');
    const whole = await follow();
    await until(() => whole.ended);
    expect(said(whole)).toEqual(['one', 'two', 'three']);
    const rest = await follow({ 'last-event-id': '1:0:8' });
    await until(() => rest.ended);
    expect(said(rest)).toEqual(['two', 'three']);
    const filtered = await follow({}, '?search=t');
    await until(() => filtered.ended);
    expect(said(filtered)).toEqual(['two', 'three']);
    expect((await get('', { accept: 'text/event-stream', 'last-event-id': 'x' })).status).toBe(400);
  });

  test('goes on in the part of an attempt where it was left: those of other servers are numbered', async () => {
    await fail('dead');
    await attempt(1, '1 o one\n2 o two\n', { writer: 'a' as NodeId });
    await attempt(1, '3 o three\n4 o four\n', { writer: 'b' as NodeId });
    const whole = await follow();
    await until(() => whole.ended);
    expect(said(whole)).toEqual(['one', 'two', 'three', 'four']);
    const ids = [...whole.text.matchAll(/^id: (.*)$/gm)].map(([, id]) => id!);
    expect(ids).toEqual(['1:0:0', '1:0:8', '1:0:16', '1:1:10', '1:1:19']);
    for (const [i, id] of ids.entries()) {
      const rest = await follow({ 'last-event-id': id });
      await until(() => rest.ended);
      expect(said(rest)).toEqual(['one', 'two', 'three', 'four'].slice(i));
    }
  });

  test.each([
    ['a job', ''],
    ['a deleted job, which has no namespace any more', '?purge=true'],
  ])(
    'ends between two lines for a caller who may read another namespace alone by now: %s',
    async (_, purge) => {
      await fail('dead');
      await attempt(1, '1 o one\n2 o two\n3 o three\n');
      if (purge !== '') expect((await gateway.ask('DELETE', `/api/jobs/${runId}${purge}`)).status).toBe(200);
      let caller: Caller = SERVER;
      const { items: lines } = await gateway.everyones.followRunLog(caller, runId, {
        recognise: async () => caller,
        signal: new AbortController().signal,
      });
      const heard: string[] = [];
      for await (const each of lines) {
        if (each.kind === 'line') heard.push(each.text);
        if (heard.length === 1)
          caller = { ...SERVER, grants: [{ namespace: 'elsewhere', role: 'admin', ownOnly: false }] };
        gateway.clock.advance(each.kind === 'line' ? 20_000 : 0);
      }
      expect(heard).toEqual(['one']);
    },
  );

  test('ends when the gateway closes, and does not hold it up', async () => {
    await gateway.claimDue();
    const stream = await follow();
    await until(() => stream.text.includes('connected'));
    await gateway.app.close();
  });
});

test('the run names where its log is', async () => {
  const { body } = await gateway.ask('GET', `/api/runs/${runId}`);
  expect(body.log_url).toBe(`/api/runs/${runId}/logs`);
  expect(dayOf(gateway.clock.now())).toBe(DAY);
});
