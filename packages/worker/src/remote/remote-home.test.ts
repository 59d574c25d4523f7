/** A worker and its streams: it listens to the newest one alone. */
import { create } from '@bufbuild/protobuf';
import { ManualClock, SeededRandom, silentLog } from '@carillon/foundation';
import { Code, ConnectError } from '@connectrpc/connect';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  FrameQueue,
  OutcomeKind,
  type SessionRequest,
  SessionResponseSchema,
  URGENCY,
} from '../protocol/index.ts';
import { createWorker, type Worker } from './create-worker.ts';
import { type Dial, WorkerRefused } from './remote-home.ts';

const LATER = { reason: 'a later stream of this worker came', dialAgain: false };

/** One stream, seen from the server. */
class Served {
  readonly answers = new FrameQueue(() => create(SessionResponseSchema));
  readonly heard: SessionRequest[] = [];
  failure: Error | undefined;

  answer(message: Parameters<typeof create<typeof SessionResponseSchema>>[1]): void {
    this.answers.put(URGENCY.life, 0, (frame) =>
      Object.assign(frame, create(SessionResponseSchema, message)),
    );
  }
}

let clock: ManualClock;
let served: Served[];
let worker: Worker;
let outcome: unknown;
let warnings: string[];
let signals: AbortSignal[];

const dial: Dial = async function* (_server, requests) {
  const stream = new Served();
  served.push(stream);
  void (async () => {
    for await (const request of requests) stream.heard.push(request);
  })();
  yield* stream.answers.frames();
  if (stream.failure) throw stream.failure;
};

const turns = async () => {
  for (let i = 0; i < 10; i += 1) await new Promise((resolve) => setImmediate(resolve));
};

async function untilDialled(times: number): Promise<void> {
  for (let i = 0; served.length < times; i += 1) {
    expect(i, 'the worker does not dial').toBeLessThan(200);
    clock.advance(100);
    await turns();
  }
}

beforeEach(async () => {
  clock = new ManualClock();
  served = [];
  signals = [];
  outcome = undefined;
  warnings = [];
  worker = createWorker({
    ...{
      servers: ['http://one', 'http://two'],
      key: 'key',
      slots: 2,
      log: { ...silentLog, warn: (_facts: object, message: string) => void warnings.push(message) },
      endWhenKeyRefused: true,
    },
    internals: { clock, random: new SeededRandom(1), dial },
  })
    .handle('quick', () => undefined)
    .handle('long', ({ signal }) => {
      signals.push(signal);
      return new Promise((resolve) => signal.addEventListener('abort', resolve));
    });
  void worker.run().then(
    () => {
      outcome = 'ended';
    },
    (error: unknown) => {
      outcome = error;
    },
  );
  // The first server does not answer.
  await untilDialled(2);
});

afterEach(async () => {
  let isOver = false;
  const stopped = worker.stop().then(() => {
    isOver = true;
  });
  for (let i = 0; i < 600 && !isOver; i += 1) {
    for (const { answers } of served) answers.end();
    clock.advance(100);
    await turns();
  }
  await stopped;
});

test('what an older stream says, its goodbye included, does not end the worker', async () => {
  const [older, newer] = served;
  newer!.answer({ welcome: { protocol: 1, workerId: 'w', beatMs: 3_000, trustMs: 12_000 } });
  await turns();
  older!.answer({ goodbye: LATER });
  await turns();
  expect(outcome).toBeUndefined();
  clock.advance(3_000);
  await turns();
  expect(newer!.heard.at(-1)?.beat?.sequence).toBe(1);
  expect(served).toHaveLength(2);
});

test('a key that an older stream is refused with does not end the worker either', async () => {
  const [older, newer] = served;
  older!.failure = new ConnectError('no', Code.Unauthenticated);
  older!.answers.end();
  await turns();
  expect(outcome).toBeUndefined();
  newer!.failure = older!.failure;
  newer!.answers.end();
  // The other server may take it; each is asked once.
  await untilDialled(3);
  expect(outcome).toBeUndefined();
  served[2]!.failure = older!.failure;
  served[2]!.answers.end();
  await turns();
  expect(outcome).toBeInstanceOf(WorkerRefused);
});

test('a goodbye on its newest stream that tells it not to dial again ends it', async () => {
  served[1]!.answer({ goodbye: LATER });
  await turns();
  expect(outcome).toBeInstanceOf(WorkerRefused);
});

test("how many outcomes wait to be recorded is the server's to bound: the worker does not say that it starts no runs", async () => {
  const server = served.at(-1)!;
  server.answer({ welcome: { protocol: 1, workerId: 'w', beatMs: 3_000, trustMs: 12_000 } });
  await turns();
  const column = <Value>(of: (i: number) => Value) => Array.from({ length: 1_100 }, (_, i) => of(i));
  server.answer({
    assigns: [
      {
        ...{ leaseId: 'lease', runIds: column((i) => `run-${i}`), jobIds: column((i) => `job-${i}`) },
        ...{ epochs: column(() => 1), attempts: column(() => 1), scheduledAtMs: column(() => 0n) },
        ...{ timeoutMs: column(() => 60_000), handlers: column(() => 'quick'), payloads: column(() => '{}') },
      },
    ],
  });
  await turns();
  const told = server.heard.flatMap(({ ended }) => ended.flatMap(({ positions }) => positions));
  expect(told).toHaveLength(1_100);
  expect(warnings).not.toContainEqual(expect.stringContaining('no more runs are started'));
  server.answer({ settled: [{ leaseId: 'lease', positions: told, verdicts: told.map(() => 0) }] });
});

test('hazard 18: a run that shares a frame with its cancel is not started', async () => {
  const stream = served[1]!;
  stream.answer({ welcome: { protocol: 1, workerId: 'w', beatMs: 3_000, trustMs: 12_000 } });
  await turns();
  const columns = { epochs: [1], attempts: [1], scheduledAtMs: [1n], timeoutMs: [60_000], payloads: ['{}'] };
  stream.answer({
    assigns: [{ leaseId: 'lease', runIds: ['run'], jobIds: ['job'], handlers: ['long'], ...columns }],
    cancels: [{ runId: 'run' }],
  });
  await turns();
  expect(signals).toEqual([]);
  const told = stream.heard.flatMap(({ ended }) => ended.flatMap(({ outcomes }) => outcomes));
  expect(told).toMatchObject([{ kind: OutcomeKind.CANCELLED }]);
  stream.answer({ settled: [{ leaseId: 'lease', positions: [0], verdicts: [0] }] });
  await turns();
});

test('hazards 7 and 14: after the machine was suspended it beats at once, starts nothing before the answer, and keeps its runs', async () => {
  const stream = served[1]!;
  stream.answer({ welcome: { protocol: 1, workerId: 'w', beatMs: 3_000, trustMs: 12_000 } });
  await turns();
  const columns = { epochs: [1], attempts: [1], scheduledAtMs: [1n], timeoutMs: [60_000], payloads: ['{}'] };
  const assign = (leaseId: string, handler: string) =>
    stream.answer({
      assigns: [{ leaseId, runIds: [`run-${leaseId}`], jobIds: ['job'], handlers: [handler], ...columns }],
    });
  const kinds = () => stream.heard.flatMap(({ ended }) => ended.flatMap(({ outcomes }) => outcomes));
  const beats = () => stream.heard.filter(({ beat }) => beat !== undefined).length;
  assign('one', 'long');
  await turns();
  clock.step(3_600_000);
  clock.advance(100);
  await turns();
  expect(beats()).toBe(1);
  assign('two', 'quick');
  await turns();
  expect(kinds()).toMatchObject([{ kind: OutcomeKind.RETURNED }]);
  stream.answer({ beatAnswer: { sequence: 1 } });
  await turns();
  assign('three', 'long');
  await turns();
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, false]);
  // Without an answer it stops them by itself, long before the trust would have ended.
  clock.step(3_600_000);
  clock.advance(100);
  await turns();
  clock.advance(5_000);
  await turns();
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
});

test('the pause before the first dial after a stream broke is any of 0.1 to 3 s', async () => {
  const pauses: number[] = [];
  served[1]!.answer({ welcome: { protocol: 1, workerId: 'w', beatMs: 3_000, trustMs: 12_000 } });
  await turns();
  for (let i = 0; i < 40; i += 1) {
    const before = { at: clock.monotonic(), dials: served.length };
    served.at(-1)!.answers.end();
    await turns();
    await untilDialled(before.dials + 1);
    pauses.push(clock.monotonic() - before.at);
    served.at(-1)!.answer({ welcome: { protocol: 1, workerId: 'w', beatMs: 3_000, trustMs: 12_000 } });
    await turns();
  }
  expect(Math.min(...pauses)).toBeLessThanOrEqual(1_000);
  expect(Math.max(...pauses)).toBeGreaterThan(2_000);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(3_100);
  expect(new Set(pauses).size).toBeGreaterThan(10);
});
