/** Events over HTTP: real connections, for a stream is only a stream on one. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../../../../tests/support/eventually.ts';
import { GatewayFixture, KEY } from '../gateway.fixture.ts';

interface Message {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: { id: string; type: string; subject: string; data: Record<string, unknown> };
}

let gateway: GatewayFixture;
let address: string;
const open: AbortController[] = [];

beforeEach(async () => {
  gateway = new GatewayFixture();
  address = await gateway.app.listen({ port: 0, host: '127.0.0.1' });
});

afterEach(async () => {
  for (const controller of open.splice(0)) controller.abort();
  await gateway.app.close();
});

/** Follows a stream until the test ends. */
async function follow(path: string, headers: Record<string, string> = {}) {
  const controller = new AbortController();
  open.push(controller);
  const response = await fetch(`${address}${path}`, {
    headers: { authorization: `Bearer ${KEY}`, accept: 'text/event-stream', ...headers },
    signal: controller.signal,
  });
  const messages: Message[] = [];
  const state = { ended: false, text: '' };
  const read = async () => {
    const decoder = new TextDecoder();
    try {
      for await (const chunk of response.body!) {
        state.text += decoder.decode(chunk as Uint8Array, { stream: true });
        const blocks = state.text.split('\n\n');
        state.text = blocks.pop()!;
        messages.push(...blocks.flatMap(messageOf));
      }
      state.ended = true;
    } catch (error) {
      if (!controller.signal.aborted) throw error;
    }
  };
  void read();
  return { response, messages, state, close: () => controller.abort() };
}

function messageOf(block: string): Message[] {
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1];
  const data = field('data');
  return data === undefined ? [] : [{ id: field('id'), event: field('event')!, data: JSON.parse(data) }];
}

/** The clock of the feed stands still until it is turned: so does its reading. */
async function heard(messages: readonly Message[], count: number): Promise<void> {
  await eventually(
    () => {
      gateway.clock.advance(300);
      expect(messages.length).toBeGreaterThanOrEqual(count);
    },
    { withinMs: 60_000 },
  );
}

async function connected(stream: { state: { text: string }; messages: Message[] }): Promise<void> {
  await eventually(
    () => {
      gateway.clock.advance(300);
      expect(gateway.events.counts().listeners).toBeGreaterThan(0);
    },
    { withinMs: 60_000 },
  );
  // A first look of the tail decides where "from now on" begins.
  for (let turn = 0; turn < 5; turn += 1) {
    gateway.clock.advance(300);
    await new Promise((resolve) => setImmediate(resolve));
  }
  void stream;
}

const JOB = { name: 'nightly', schedule_type: 'IMMEDIATE', handler: 'http', payload: { url: 'http://x' } };

describe('GET /api/events', () => {
  test('streams what happens as CloudEvents, with the headers of a stream', async () => {
    const stream = await follow('/api/events');
    expect(stream.response.status).toBe(200);
    expect(stream.response.headers.get('content-type')).toMatch(/^text\/event-stream/);
    expect(stream.response.headers.get('cache-control')).toContain('no-transform');
    expect(stream.response.headers.get('x-request-id')).toBeTruthy();
    await connected(stream);
    const jobId = await gateway.createdId(JOB);
    await heard(stream.messages, 1);
    const [message] = stream.messages;
    expect(message).toMatchObject({
      event: 'io.carillon.job.created',
      data: {
        specversion: '1.0',
        source: 'carillon',
        type: 'io.carillon.job.created',
        subject: `jobs/${jobId}`,
        data: { job_id: jobId, name: 'nightly', namespace: 'default' },
      },
    });
    expect(message!.id).toBe(message!.data.id);
  });

  test('goes on after Last-Event-ID, in the header or in the address', async () => {
    const ids = [await gateway.createdId(JOB), await gateway.createdId(JOB), await gateway.createdId(JOB)];
    const { body } = await gateway.ask('GET', '/api/events');
    const first = body[0].id;
    for (const stream of [
      await follow('/api/events', { 'last-event-id': first }),
      await follow(`/api/events?last_event_id=${first}`),
    ]) {
      await heard(stream.messages, 2);
      expect(stream.messages.map(({ data }) => data.subject)).toEqual(ids.slice(1).map((id) => `jobs/${id}`));
    }
  });

  test('filters by job and by type', async () => {
    const stream = await follow('/api/events?type=io.carillon.job.paused&type=job.cancelled&user_id=ada');
    await connected(stream);
    const [adas, bobs] = [
      await gateway.createdId({ ...JOB, user_id: 'ada' }),
      await gateway.createdId({ ...JOB, user_id: 'bob' }),
    ];
    await gateway.ask('DELETE', `/api/jobs/${bobs}`);
    await gateway.ask('DELETE', `/api/jobs/${adas}`);
    await heard(stream.messages, 1);
    expect(stream.messages.map(({ data }) => data.data.job_id)).toEqual([adas]);
  });

  test('a page of JSON tells what happened, and its Link leads on', async () => {
    const ids = [await gateway.createdId(JOB), await gateway.createdId(JOB), await gateway.createdId(JOB)];
    const first = await gateway.ask('GET', '/api/events?limit=2&type=job', {
      headers: { accept: 'application/json' },
    });
    expect(first.status).toBe(200);
    expect(first.body.map((event: Message['data']) => event.subject)).toEqual([
      `jobs/${ids[0]}`,
      `jobs/${ids[1]}`,
    ]);
    const next = /<([^>]+)>; rel="next"/.exec(String(first.headers.link))![1]!;
    const second = await gateway.ask('GET', next);
    expect(second.body.map((event: Message['data']) => event.subject)).toEqual([`jobs/${ids[2]}`]);
    const third = await gateway.ask('GET', /<([^>]+)>; rel="next"/.exec(String(second.headers.link))![1]!);
    expect(third.body).toEqual([]);
    const later = await gateway.createdId(JOB);
    const fourth = await gateway.ask('GET', /<([^>]+)>; rel="next"/.exec(String(third.headers.link))![1]!);
    expect(fourth.body.map((event: Message['data']) => event.subject)).toEqual([`jobs/${later}`]);
  });

  test.each([
    '/api/events?type=jobs',
    '/api/events?last_event_id=yesterday',
    '/api/events?limit=0',
    '/api/events?x=1',
  ])('refuses %s before anything is streamed', async (path) => {
    const response = await fetch(`${address}${path}`, {
      headers: { authorization: `Bearer ${KEY}`, accept: 'text/event-stream' },
    });
    expect(response.status).toBe(400);
    expect(response.headers.get('content-type')).toContain('application/problem+json');
    await response.body?.cancel();
  });

  test('is for those with a key', async () => {
    const response = await fetch(`${address}/api/events`, { headers: { accept: 'text/event-stream' } });
    expect(response.status).toBe(401);
    await response.body?.cancel();
  });

  test('ends its streams when the gateway closes, and does not wait for them', async () => {
    const stream = await follow('/api/events');
    await connected(stream);
    await gateway.app.close();
    await eventually(() => expect(stream.state.ended).toBe(true), { withinMs: 60_000 });
    expect(gateway.events.counts().listeners).toBe(0);
  });

  test('a listener that goes away is forgotten', async () => {
    const stream = await follow('/api/events');
    await connected(stream);
    stream.close();
    await eventually(() => expect(gateway.events.counts().listeners).toBe(0), { withinMs: 60_000 });
  });

  test('a reader that takes nothing holds up neither others nor memory', async () => {
    const served: Socket[] = [];
    gateway.app.server.on('connection', (socket: Socket) => served.push(socket));
    const { port } = new URL(address);
    const lazy = connect({ port: Number(port), host: '127.0.0.1' });
    await once(lazy, 'connect');
    lazy.pause();
    lazy.write(
      `GET /api/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nAccept: text/event-stream\r\n\r\n`,
    );
    const stream = await follow('/api/events');
    await connected(stream);
    // About 4 KB an event: together far more than the system itself keeps for a connection.
    const labels = Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`label-${i}`, 'x'.repeat(120)]));
    const batch = { jobs: Array.from({ length: 100 }, () => ({ ...JOB, labels })) };
    for (let i = 0; i < 30; i += 1) await gateway.post('/api/jobs/batch', batch);
    await heard(stream.messages, 3_000);
    expect(stream.messages).toHaveLength(3_000);
    expect(gateway.events.counts().listeners).toBe(2);
    const [toLazy, toOther] = served as [Socket, Socket];
    expect(toOther.bytesWritten).toBeGreaterThan(12_000_000);
    expect(toLazy.bytesWritten).toBeLessThan(toOther.bytesWritten);
    // What waits in this process for a reader that takes nothing: a batch or two, however much happens.
    expect(toLazy.writableLength).toBeGreaterThan(0);
    expect(toLazy.writableLength).toBeLessThan(1_000_000);
    lazy.destroy();
  });
});

test('whoever asks only for the headers of the stream opens none, and takes no place from others', async () => {
  const headers = { authorization: `Bearer ${KEY}`, accept: 'text/event-stream' };
  for (let asked = 0; asked < 60; asked += 1) {
    expect((await fetch(`${address}/api/events`, { method: 'HEAD', headers })).status).toBe(200);
  }
  expect((await follow('/api/events')).response.status).toBe(200);
});
