import { type LeaseId, RESULT_BYTES_MAX, type RunId } from '@carillon/domain';
import { ManualClock } from '@carillon/foundation';
import { beforeEach, describe, expect, test } from 'vitest';
import { batchOf } from './claimed-run.fixture.ts';
import { type EndedRun, ExecutionEngine } from './execution-engine.ts';
import { type Handler, HandlerError, type RunContext } from './handler.ts';
import { type LargeResults, type RunChannel, SILENT_CHANNEL } from './run-channel.ts';
import type { TrustState } from './worker-trust.ts';

const RUN = 'run-1' as RunId;
const GRACE_MS = 5_000;

let clock: ManualClock;
let ended: EndedRun[];
let freed: number;
let shown: string[];
let engine: ExecutionEngine;
let trustedUntil: number;
let trustState: TrustState;
/** What the handlers under test were given, and the ways to end them. */
let contexts: RunContext[];
let answers: PromiseWithResolvers<unknown>[];

const HANDLERS: Record<string, Handler> = {
  /** Ends when the test says so, deaf to its signal. */
  stubborn: (context) => {
    contexts.push(context);
    const answer = Promise.withResolvers<unknown>();
    answers.push(answer);
    return answer.promise;
  },
  /** Ends with an error as soon as it is told to stop. */
  obedient: (context) => {
    contexts.push(context);
    return new Promise((_, reject) => {
      context.signal.addEventListener('abort', () => reject(context.signal.reason as Error));
    });
  },
  test: () => ({ done: true }),
  nothing: () => undefined,
  throws: () => {
    throw new Error('it broke');
  },
  rejects: () => Promise.reject(new HandlerError('gone for good', { retryable: false })),
  echo: (context) => context.payload,
};

beforeEach(() => {
  clock = new ManualClock();
  ended = [];
  freed = 0;
  shown = [];
  contexts = [];
  answers = [];
  trustedUntil = Number.POSITIVE_INFINITY;
  trustState = 'given';
  engine = engineWith(HANDLERS);
});

function engineWith(handlers: Record<string, Handler>, channel?: RunChannel): ExecutionEngine {
  return new ExecutionEngine({
    ...(channel && { channel }),
    handlers: new Map(Object.entries(handlers)),
    slots: 100,
    clock,
    trustState: () => (clock.monotonic() < trustedUntil ? trustState : 'over'),
    onEnded: (run) => ended.push(run),
    onSlotFree: () => {
      freed += 1;
    },
    onRunning: (runs) => shown.push(...runs.map((run) => run.runId)),
  });
}

/** Lets promise callbacks run. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
const outcomes = () => ended.map(({ outcome }) => outcome);

describe('a result that is too large for an outcome', () => {
  const LARGE = 'x'.repeat(RESULT_BYTES_MAX);
  const engineOver = (results?: LargeResults) => {
    return engineWith(
      { large: () => LARGE, throws: () => Promise.reject(failure) },
      { ...SILENT_CHANNEL, ...(results && { results }) },
    );
  };
  const failure = new HandlerError('broken', { retryable: false, result: LARGE });

  test('is kept before the run is reported, and something small stands for it', async () => {
    const kept = Promise.withResolvers<string>();
    const saved: string[] = [];
    const save: LargeResults['save'] = (_, bytes) => {
      saved.push(Buffer.from(bytes).toString());
      return kept.promise;
    };
    const keeping = engineOver({ bytesMax: 1_000_000, save });
    keeping.accept(batchOf({ handler: 'large' }));
    await settled();
    expect(saved).toEqual([JSON.stringify(LARGE)]);
    expect([outcomes(), keeping.runningCount]).toEqual([[], 1]);
    kept.resolve('{"stored":true}');
    await settled();
    expect(outcomes()).toEqual([{ kind: 'SUCCESS', result: '{"stored":true}' }]);
    expect([freed, keeping.runningCount]).toEqual([1, 0]);
  });

  test('of a failure is kept, too', async () => {
    engineOver({ bytesMax: 1_000_000, save: async () => '1' }).accept(batchOf({ handler: 'throws' }));
    await settled();
    expect(outcomes()).toEqual([{ kind: 'FAILED', error: 'broken', retryable: false, result: '1' }]);
  });

  const note = (text: string) => [{ kind: 'SUCCESS', result: JSON.stringify({ note: text }) }];

  test('and cannot be kept costs the result, and not the run', async () => {
    const save = () => Promise.reject(new Error('the disk is full'));
    engineOver({ bytesMax: 1_000_000, save }).accept(batchOf({ handler: 'large' }));
    await settled();
    expect(outcomes()).toEqual(note('the result could not be kept: the disk is full'));
  });

  test('and is not kept within two minutes is left out', async () => {
    const save = () => new Promise<string>(() => undefined);
    engineOver({ bytesMax: 1_000_000, save }).accept(batchOf({ handler: 'large' }));
    await settled();
    clock.advance(120_000);
    await settled();
    expect(outcomes()).toEqual(note('the result could not be kept: it took more than 120 s'));
  });

  test.each([undefined, 0, RESULT_BYTES_MAX + 1])(
    'and larger than the %s bytes that are taken is named',
    async (max) => {
      const save = () => Promise.reject(new Error('never asked'));
      engineOver(max === undefined ? undefined : { bytesMax: max, save }).accept(
        batchOf({ handler: 'large' }),
      );
      await settled();
      const bytes = Math.max(RESULT_BYTES_MAX, max ?? 0);
      expect(outcomes()).toEqual(note(`the result is larger than ${bytes} bytes and was not kept`));
    },
  );
});

describe('a handler', () => {
  test('that answers at once is done within accept, without a promise or a timer', () => {
    engine.accept(batchOf({ handler: 'test' }));
    expect(outcomes()).toEqual([{ kind: 'SUCCESS', result: '{"done":true}' }]);
    expect(freed).toBe(1);
    expect(engine.runningCount).toBe(0);
    expect(clock.untilNextTimer()).toBeUndefined();
  });

  test('that answers nothing succeeds without a result', () => {
    engine.accept(batchOf({ handler: 'nothing' }));
    expect(outcomes()).toEqual([{ kind: 'SUCCESS' }]);
  });

  test('that throws fails, and its failure never leaves the engine', () => {
    engine.accept(batchOf({ handler: 'throws' }));
    expect(outcomes()).toEqual([{ kind: 'FAILED', error: 'it broke', retryable: true }]);
    expect(freed).toBe(1);
  });

  test('that rejects fails as it says', async () => {
    engine.accept(batchOf({ handler: 'rejects' }));
    await settled();
    expect(outcomes()).toEqual([{ kind: 'FAILED', error: 'gone for good', retryable: false }]);
  });

  test('that takes its time is reported when it ends, with its own start and end', async () => {
    engine.accept(batchOf({ handler: 'stubborn' }));
    const startedAtMs = clock.now();
    clock.advance(100);
    expect(ended).toEqual([]);
    answers[0]!.resolve('late');
    await settled();
    expect(ended).toMatchObject([
      { startedAtMs, endedAtMs: startedAtMs + 100, outcome: { kind: 'SUCCESS', result: '"late"' } },
    ]);
  });

  test('gets a payload it cannot read as a failure for good (hazard 21)', () => {
    engine.accept(batchOf({ handler: 'echo', payload: '{"cut of' }));
    expect(outcomes()).toEqual([
      { kind: 'FAILED', error: expect.stringMatching(/^the payload is not valid JSON/), retryable: false },
    ]);
  });

  test('nobody has here is given back for another worker, and its slot is free (hazard 21)', () => {
    engine.accept(batchOf({ handler: 'gpu' }, { handler: 'test' }));
    expect(outcomes()).toEqual([
      { kind: 'RETURNED', error: 'this worker does not offer the handler "gpu"' },
      { kind: 'SUCCESS', result: '{"done":true}' },
    ]);
    expect(freed).toBe(2);
    expect([engine.offers('gpu'), engine.offers('test')]).toEqual([false, true]);
  });
});

describe('a run that goes on', () => {
  test('is shown as running once, after a quarter of a second', () => {
    engine.accept(batchOf({ handler: 'stubborn' }));
    clock.advance(200);
    expect(shown).toEqual([]);
    clock.advance(100);
    clock.advance(1_000);
    expect(shown).toEqual([RUN]);
  });

  test('past its limit is told to stop and reported as timed out', async () => {
    engine.accept(batchOf({ handler: 'obedient', timeoutMs: 2_000 }));
    clock.advance(1_900);
    expect(contexts[0]!.signal.aborted).toBe(false);
    clock.advance(100);
    await settled();
    expect(outcomes()).toEqual([{ kind: 'TIMED_OUT', error: 'ran longer than 2 s' }]);
    expect(freed).toBe(1);
  });

  test('that finishes between the word to stop and its grace has finished', async () => {
    engine.accept(batchOf({ handler: 'stubborn', timeoutMs: 1_000 }));
    clock.advance(1_500);
    answers[0]!.resolve('just made it');
    await settled();
    expect(outcomes()).toEqual([{ kind: 'SUCCESS', result: '"just made it"' }]);
  });

  test('and does not stop is reported after its grace, but keeps its slot until it returns', async () => {
    engine.accept(batchOf({ handler: 'stubborn', timeoutMs: 1_000 }));
    clock.advance(1_000 + GRACE_MS);
    expect(outcomes()).toEqual([
      { kind: 'TIMED_OUT', error: 'ran longer than 1 s; the handler did not stop' },
    ]);
    expect([freed, engine.runningCount]).toEqual([0, 1]);
    answers[0]!.resolve('much later');
    await settled();
    expect(ended).toHaveLength(1);
    expect([freed, engine.runningCount]).toEqual([1, 0]);
  });

  test('and is cancelled ends as cancelled, even when its handler then answers', async () => {
    engine.accept(batchOf({ handler: 'obedient' }, { handler: 'stubborn' }));
    engine.cancel([RUN, 'run-2' as RunId, 'unknown' as RunId]);
    answers[0]!.resolve('too late');
    await settled();
    const cancelled = { kind: 'CANCELLED', error: 'cancelled while running' };
    expect(outcomes()).toEqual([cancelled, cancelled]);
  });

  test('keeps the first reason it was told to stop for', async () => {
    engine.accept(batchOf({ handler: 'obedient', timeoutMs: 1_000 }));
    engine.giveBackAll('the server was shut down');
    engine.cancel([RUN]);
    clock.advance(1_000);
    await settled();
    expect(outcomes()).toEqual([{ kind: 'RETURNED', error: 'the server was shut down' }]);
  });

  test('is not disturbed by the end of an earlier attempt of the same run that was abandoned here', async () => {
    engine.accept(batchOf({ handler: 'stubborn', timeoutMs: 1_000 }));
    clock.advance(1_000 + GRACE_MS);
    engine.accept(batchOf({ handler: 'obedient', leaseId: 'lease-2' as LeaseId, attempt: 2, epoch: 2 }));
    expect(engine.runningCount).toBe(2);
    answers[0]!.resolve('at last');
    await settled();
    expect(engine.runningCount).toBe(1);
    engine.cancel([RUN]);
    await settled();
    expect(ended.map(({ run, outcome }) => [run.attempt, outcome.kind])).toEqual([
      [1, 'TIMED_OUT'],
      [2, 'CANCELLED'],
    ]);
  });
});

describe('giving back', () => {
  test('tells everything to stop, and nothing counts as a failure (hazard 22)', async () => {
    engine.accept(batchOf({ handler: 'obedient' }, { handler: 'obedient' }));
    engine.giveBackAll('the server was shut down');
    await settled();
    const returned = { kind: 'RETURNED', error: 'the server was shut down' };
    expect(outcomes()).toEqual([returned, returned]);
  });

  test('reports a deaf handler as given back after its grace', () => {
    engine.accept(batchOf({ handler: 'stubborn' }));
    engine.giveBackAll('the server was shut down');
    clock.advance(GRACE_MS + 100);
    expect(outcomes()).toEqual([
      { kind: 'RETURNED', error: 'the server was shut down; the handler did not stop' },
    ]);
  });
});

describe('drained', () => {
  test('resolves at once when nothing runs', async () => {
    await engine.drained();
  });

  test('resolves with the last run, not before', async () => {
    let drained = false;
    engine.accept(batchOf({ handler: 'stubborn' }, { handler: 'stubborn' }));
    void engine.drained().then(() => {
      drained = true;
    });
    answers[0]!.resolve(1);
    await settled();
    expect(drained).toBe(false);
    answers[1]!.resolve(2);
    await settled();
    expect(drained).toBe(true);
  });
});

describe('a lease', () => {
  test('is held until every report about it was answered', () => {
    const leaseId = 'lease-1' as LeaseId;
    engine.accept(batchOf({ handler: 'test' }, { handler: 'test' }));
    expect(engine.unreportedLeases()).toEqual([leaseId]);
    engine.reported({ leaseId, position: 1 });
    expect(engine.unreportedRuns()).toEqual(new Map([[leaseId, new Set([0])]]));
    // Told again, or of a run that this worker refused before it was started.
    engine.reported({ leaseId, position: 1 });
    engine.reported({ leaseId, position: 2 });
    expect(engine.unreportedLeases()).toEqual([leaseId]);
    engine.reported({ leaseId, position: 0 });
    expect(engine.unreportedLeases()).toEqual([]);
  });
});

test('the clock is left alone while nothing runs', async () => {
  engine.accept(batchOf({ handler: 'stubborn' }));
  expect(clock.untilNextTimer()).toBe(100);
  answers[0]!.resolve(1);
  await settled();
  clock.advance(100);
  expect(clock.untilNextTimer()).toBeUndefined();
});

describe('a worker that may have been given up for dead (hazard 14)', () => {
  const RETURNED = { kind: 'RETURNED', error: expect.stringContaining('had not been heard') };

  test('calls no handler any more: what it was handed is given back, and its slots are free', () => {
    trustedUntil = 100;
    clock.advance(100);
    engine.accept(batchOf({ handler: 'stubborn' }, { handler: 'test' }));
    expect(contexts).toEqual([]);
    expect(outcomes()).toEqual([RETURNED, RETURNED]);
    expect([freed, engine.runningCount]).toEqual([2, 0]);
  });

  test('stops within a batch: what has not begun when its time is over does not begin', () => {
    trustedUntil = 100;
    engine = engineWith({ ...HANDLERS, slow: () => clock.advance(100) });
    engine.accept(batchOf({ handler: 'slow' }, { handler: 'test' }));
    expect(outcomes()).toEqual([{ kind: 'SUCCESS' }, RETURNED]);
  });

  test('tells a handler that asks right before its deed, sooner than any timer could', async () => {
    trustedUntil = 50;
    engine.accept(batchOf({ handler: 'obedient' }));
    expect(contexts[0]!.isHeld()).toBe(true);
    clock.advance(50);
    expect(contexts[0]!.signal.aborted).toBe(false);
    expect(contexts[0]!.isHeld()).toBe(false);
    expect(contexts[0]!.signal.aborted).toBe(true);
    await settled();
    expect(outcomes()).toEqual([RETURNED]);
  });

  test('hazard 7: in doubt, starts nothing and says of no run that it is held, and stops none', async () => {
    engine.accept(batchOf({ handler: 'obedient' }));
    trustState = 'doubted';
    engine.accept(batchOf({ handler: 'test', runId: 'run-2' as RunId }));
    expect(outcomes()).toEqual([RETURNED]);
    expect(contexts).toHaveLength(1);
    expect(contexts[0]!.isHeld()).toBe(false);
    expect(contexts[0]!.signal.aborted).toBe(false);
    trustState = 'given';
    expect(contexts[0]!.isHeld()).toBe(true);
  });

  test('tells it the same of a run that was cancelled', () => {
    engine.accept(batchOf({ handler: 'stubborn' }));
    engine.cancel([RUN]);
    expect(contexts[0]!.isHeld()).toBe(false);
  });
});

test('a run that cannot be run ends as its batch says, and its handler is not called', async () => {
  const failure = { kind: 'FAILED', error: 'there is no secret x any more', retryable: false } as const;
  engine.accept(batchOf({ handler: 'stubborn', failure }, { handler: 'test' }));
  expect(contexts).toEqual([]);
  expect(ended.map(({ outcome }) => outcome.kind)).toEqual(['FAILED', 'SUCCESS']);
  expect(ended[0]!.outcome).toBe(failure);
  expect(freed).toBe(2);
});
