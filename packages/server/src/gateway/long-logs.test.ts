/** A log of many blocks that is searched and followed over real connections, by callers who go and callers who are many. */
import { connect, type Socket } from 'node:net';
import type { RunId } from '@carillon/domain';
import { ManualClock } from '@carillon/foundation';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { GatewayFixture, KEY } from './gateway.fixture.ts';
import { createListener } from './listener/create-listener.ts';

const SOON = { withinMs: 60_000 };
let gateway: GatewayFixture;
let runId: RunId;
const BLOCK = 256 * 1_024;
const BLOCKS = 40;
/** Blocks that were read, and whether reading goes on. */
let blocks: number;
let held: PromiseWithResolvers<void> | undefined;
let address: string;
/** By which the connections of callers are judged. */
let connectionClock: ManualClock;

beforeEach(async () => {
  connectionClock = new ManualClock();
  gateway = new GatewayFixture({ listener: createListener({ clock: connectionClock }) });
  const jobId = await gateway.createdId({ name: 'chatty', schedule_type: 'IMMEDIATE', namespace: 'default' });
  runId = jobId as unknown as RunId;
  const next = { kind: 'dead', reason: 'retries_exhausted' } as const;
  await gateway.settle(await gateway.claimDue(), { status: 'FAILED', error: 'boom', next });
  const line = `1 o ${'a'.repeat(1_019)}\n`;
  const key = { day: '2030-01-01', runId, epoch: 1 };
  const { logStore, storage } = gateway;
  const text = Buffer.from(line.repeat((BLOCKS * BLOCK) / line.length));
  await logStore.write(key, { segment: 0, offset: 0 }, text);
  const sizes = { bytes: text.length, lines: 1, firstAtMs: 1, lastAtMs: 1 };
  await storage.runLogs.recordLogs([
    { ...key, ...sizes, writer: undefined, nodeId: undefined, ended: true, incomplete: false },
  ]);
  const read = logStore.read.bind(logStore);
  [blocks, held] = [0, undefined];
  logStore.read = async (...asked) => {
    blocks += 1;
    await held?.promise;
    return read(...asked);
  };
  address = await gateway.app.listen({ host: '127.0.0.1', port: 0 });
});

const ask = (query: string, accept = 'text/plain', key = KEY) => {
  const gone = new AbortController();
  const answer = fetch(`${address}/api/runs/${runId}/logs${query}`, {
    headers: { accept, authorization: `Bearer ${key}` },
    signal: gone.signal,
  });
  answer.catch(() => undefined);
  return { answer, gone };
};

const connections = () =>
  new Promise<number>((resolve) => {
    gateway.app.server.getConnections((_, count) => resolve(count));
  });

afterEach(() => gateway.app.close());

test.each([
  ['a search', '?search=zzz', 'text/plain'],
  ['the last lines', '?tail=1', 'text/plain'],
  ['followed', '?search=zzz', 'text/event-stream'],
])('is not read to its end when the caller has gone: %s', async (_, query, accept) => {
  held = Promise.withResolvers();
  const { gone } = ask(query, accept);
  await eventually(() => expect(blocks).toBe(1), SOON);
  gone.abort();
  await eventually(async () => expect(await connections()).toBe(0), SOON);
  held.resolve();
  expect(await (await ask('?search=zzz').answer).text()).toBe('');
  expect(blocks).toBeLessThan(BLOCKS + 3);
});

test('is searched four times at once by one caller: the next is told when to come again', async () => {
  held = Promise.withResolvers();
  const first = Array.from({ length: 4 }, () => ask('?search=zzz'));
  await eventually(() => expect(blocks).toBe(4), SOON);
  const fifth = ask('?search=zzz');
  let refused: Response | undefined;
  void fifth.answer.then((answer) => {
    refused = answer;
  });
  await eventually(() => {
    gateway.clock.advance(500);
    expect(refused).toBeDefined();
  }, SOON);
  expect([refused!.status, refused!.headers.get('retry-after')]).toEqual([429, '2']);
  expect(await refused!.json()).toMatchObject({
    code: 'rate_limited',
    detail: expect.stringContaining('4 logs'),
  });
  for (const { gone } of first) gone.abort();
  held.resolve();
  await eventually(async () => expect((await ask('?search=zzz').answer).status).toBe(200), SOON);
});

test('is searched for others again when those who take nothing of their answers have lost them', async () => {
  const lazy = Array.from({ length: 4 }, (): Socket => {
    const socket = connect({ port: Number(new URL(address).port), host: '127.0.0.1' });
    socket.on('error', () => undefined).pause();
    const headers = `Host: localhost\r\nAccept: text/plain\r\nAuthorization: Bearer ${KEY}\r\n`;
    socket.write(`GET /api/runs/${runId}/logs?search=a HTTP/1.1\r\n${headers}\r\n`);
    return socket;
  });
  const status = async () => {
    let answer: Response | undefined;
    void ask('?tail=1').answer.then((given) => {
      answer = given;
    });
    await eventually(() => {
      gateway.clock.advance(500);
      expect(answer).toBeDefined();
    }, SOON);
    await answer!.text();
    return answer!.status;
  };
  await eventually(async () => expect(await status()).toBe(429), SOON);
  await eventually(async () => {
    connectionClock.advance(60_000);
    expect(await status()).toBe(200);
  }, SOON);
  for (const socket of lazy) socket.destroy();
});

test('lets others have their turn between its blocks', async () => {
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const searching = gateway.app.inject({
    url: `/api/runs/${runId}/logs?search=zzz`,
    headers: { accept: 'text/plain', authorization: `Bearer ${KEY}` },
  });
  await searching;
  isOver = true;
  expect(turns).toBeGreaterThanOrEqual(BLOCKS - 1);
});
