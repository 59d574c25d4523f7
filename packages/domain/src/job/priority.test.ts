import fc from 'fast-check';
import { expect, test } from 'vitest';
import { headStartMs, PRIORITIES, urgencyKey } from './priority.ts';

const runs = fc.record({
  priority: fc.constantFrom(...PRIORITIES),
  fireAtMs: fc.integer({ min: 0, max: 4e12 }),
});

test('of two runs due together the higher priority is more urgent', () => {
  const keys = PRIORITIES.map((priority) => urgencyKey({ priority, fireAtMs: 1_000 }));
  expect(keys).toEqual(keys.toSorted((a, b) => b - a));
  expect(new Set(keys).size).toBe(PRIORITIES.length);
});

test('of two runs of one priority the one due earlier is more urgent', () => {
  fc.assert(
    fc.property(runs, fc.integer({ min: 1, max: 1e9 }), (run, laterMs) => {
      expect(urgencyKey(run)).toBeLessThan(urgencyKey({ ...run, fireAtMs: run.fireAtMs + laterMs }));
    }),
  );
});

test('a low run is never overtaken by what became due more than the head start after it: it cannot starve (hazard 32)', () => {
  fc.assert(
    fc.property(runs, runs, (waiting, newcomer) => {
      const aheadMs = headStartMs(newcomer.priority) - headStartMs(waiting.priority);
      const overtakes = urgencyKey(newcomer) < urgencyKey(waiting);
      expect(overtakes).toBe(newcomer.fireAtMs - waiting.fireAtMs < aheadMs);
    }),
  );
});

test('the order is the same at every instant: a run never has to be ranked again', () => {
  const worth = (run: { priority: (typeof PRIORITIES)[number]; fireAtMs: number }, nowMs: number) =>
    nowMs - run.fireAtMs + headStartMs(run.priority);
  fc.assert(
    fc.property(runs, runs, fc.integer({ min: 0, max: 4e12 }), (a, b, nowMs) => {
      expect(worth(a, nowMs) > worth(b, nowMs)).toBe(urgencyKey(a) < urgencyKey(b));
    }),
  );
});
