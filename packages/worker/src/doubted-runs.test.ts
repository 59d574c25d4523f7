/** What becomes of a run whose handler asks isHeld() while the trust is doubted, and obeys. */
import { RUN_ERRORS } from '@carillon/domain';
import { ManualClock } from '@carillon/foundation';
import { beforeEach, describe, expect, test } from 'vitest';
import { batchOf } from './claimed-run.fixture.ts';
import { type EndedRun, ExecutionEngine } from './execution-engine.ts';
import { type Handler, HandlerError, type RunContext } from './handler.ts';
import { WorkerTrust } from './worker-trust.ts';

let clock: ManualClock;
let trust: WorkerTrust;
let ended: EndedRun[];
let engine: ExecutionEngine;
let goOn: PromiseWithResolvers<void>;

const HANDLERS: Record<string, Handler> = {
  /** docs/checkpoints.md and docs/workers.md, word for word. */
  documented: async (run: RunContext) => {
    await goOn.promise;
    if (!run.isHeld()) throw new Error('the run has to stop');
  },
  leaves: async (run: RunContext) => {
    await goOn.promise;
    if (!run.isHeld()) return;
    throw new Error('unreachable here');
  },
  /** As http and script do at the last moment. */
  builtIn: async (run: RunContext) => {
    await goOn.promise;
    if (!run.isHeld()) throw new HandlerError(RUN_ERRORS.takenBack());
  },
};

beforeEach(() => {
  clock = new ManualClock();
  ended = [];
  goOn = Promise.withResolvers();
  trust = new WorkerTrust(clock, { onDoubted: () => undefined });
  const answered = () =>
    trust.renew({ sentAt: clock.monotonic(), aheadMs: trust.aheadMs(), trustMs: 12_000 });
  answered();
  engine = new ExecutionEngine({
    handlers: new Map(Object.entries(HANDLERS)),
    ...{ slots: 10, clock, trust, trustState: () => trust.state },
    onEnded: (run) => ended.push(run),
    onSlotFree: () => undefined,
    onRunning: () => undefined,
  });
});

describe('a wall clock that is set forward by 3 s costs no run (docs/workers.md)', () => {
  test.each(Object.keys(HANDLERS))('of the handler that asks isHeld(): %s', async (handler) => {
    engine.accept(batchOf({ handler }));
    clock.step(3_000);
    goOn.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    // "when it says no, the run is given back" (handler.ts)
    expect(ended.map(({ outcome }) => outcome.kind)).toEqual(['RETURNED']);
  });
});

test('a doubt does not end a trust that lasts for 48 minutes (worker.silent_seconds 3600) within 5 s', () => {
  trust.renew({ sentAt: clock.monotonic(), aheadMs: trust.aheadMs(), trustMs: 2_880_000 });
  // Suspended for 3 s at most: storage cannot have given the worker up before 48 min - 3 s.
  clock.step(3_000);
  expect(trust.state).toBe('doubted');
  // The server is away for six seconds.
  clock.advance(6_000);
  expect(trust.state).toBe('doubted');
});
