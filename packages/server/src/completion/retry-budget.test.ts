import { ManualClock } from '@carillon/foundation';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RetryBudget } from './retry-budget.ts';

const clock = new ManualClock(1_900_000_000_000);
const NOW_MS = clock.now();

test('within the budget every retry keeps its instant', () => {
  const budget = new RetryBudget({ perSecond: 3, clock });
  expect([1_500, 1_700, 1_999, 2_000].map((ms) => budget.plan(NOW_MS + ms) - NOW_MS)).toEqual([
    1_500, 1_700, 1_999, 2_000,
  ]);
});

test('a storm is spread over the seconds that follow, and never tried earlier than wanted (hazard 17)', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 20 }),
      fc.array(fc.nat(30_000), { maxLength: 500 }),
      (perSecond, wants) => {
        const budget = new RetryBudget({ perSecond, clock });
        const bySecond = new Map<number, number>();
        for (const want of wants) {
          const at = budget.plan(NOW_MS + want) - NOW_MS;
          expect(at).toBeGreaterThanOrEqual(want);
          const second = Math.floor(at / 1_000);
          bySecond.set(second, (bySecond.get(second) ?? 0) + 1);
        }
        for (const planned of bySecond.values()) expect(planned).toBeLessThanOrEqual(perSecond);
      },
    ),
  );
});

test('a hundred thousand retries wanted at one instant are planned in one go, each in the first second that is free', () => {
  const budget = new RetryBudget({ perSecond: 100, clock });
  let last = 0;
  for (let i = 0; i < 100_000; i += 1) last = budget.plan(NOW_MS) - NOW_MS;
  expect(last).toBe(999_000);
});
