/** What the engine ends without a call of its handler: what is more than its slots, and what was cancelled before it came. */
import type { RunId } from '@carillon/domain';
import { ManualClock } from '@carillon/foundation';
import { beforeEach, describe, expect, test } from 'vitest';
import { batchOf } from './claimed-run.fixture.ts';
import { type EndedRun, ExecutionEngine } from './execution-engine.ts';
import type { Handler } from './handler.ts';

const RUN = 'run-1' as RunId;
const SLOTS = 4;

let clock: ManualClock;
let engine: ExecutionEngine;
let ended: EndedRun[];
/** How often the handler was called that never returns. */
let calls: number;

beforeEach(() => {
  clock = new ManualClock();
  ended = [];
  calls = 0;
  engine = new ExecutionEngine({
    handlers: new Map<string, Handler>([
      [
        'stubborn',
        () => {
          calls += 1;
          return new Promise(() => undefined);
        },
      ],
      ['test', () => ({ done: true })],
    ]),
    slots: SLOTS,
    clock,
    trustState: () => 'given',
    onEnded: (run) => ended.push(run),
    onSlotFree: () => undefined,
    onRunning: () => undefined,
  });
});

const outcomes = () => ended.map(({ outcome }) => outcome);

test('gives back what is more than its slots, and counts handlers that have not returned', () => {
  engine.accept(batchOf(...Array.from({ length: SLOTS + 1 }, () => ({ handler: 'stubborn' }))));
  expect(calls).toBe(SLOTS);
  expect(outcomes()).toEqual([{ kind: 'RETURNED', error: 'every slot of the worker is in use' }]);
});

describe('a cancel that comes before its run (hazard 18)', () => {
  const CANCELLED = { kind: 'CANCELLED', error: 'cancelled before it started' };

  test('is remembered for a minute: the run is not started', () => {
    engine.cancel([RUN]);
    clock.advance(59_999);
    engine.accept(batchOf({ handler: 'stubborn', runId: RUN }));
    expect(outcomes()).toEqual([CANCELLED]);
    clock.advance(1);
    engine.accept(batchOf({ handler: 'stubborn', runId: RUN }));
    expect(calls).toBe(1);
  });

  test('is forgotten when ten thousand others came after it', () => {
    engine.cancel([RUN]);
    engine.cancel(Array.from({ length: 10_000 }, (_, i) => `other-${i}` as RunId));
    engine.accept(batchOf({ handler: 'test', runId: RUN }, { handler: 'test', runId: 'other-0' as RunId }));
    expect(outcomes()).toMatchObject([{ kind: 'SUCCESS' }, CANCELLED]);
  });
});
