import { ManualClock } from '@carillon/foundation';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RetryBudget } from './retry-budget.ts';

const clock = new ManualClock(1_900_000_000_000);
const NOW_MS = clock.now();

test('within the budget every retry keeps its instant', () => {
  const budget = new RetryBudget({ perSecond: 3, clock });
  expect([1_500, 1_700, 1_999, 2_000].map((ms) => budget.plan('a', NOW_MS + ms) - NOW_MS)).toEqual([
    1_500, 1_700, 1_999, 2_000,
  ]);
});

test('a storm of one tenant is spread over the seconds that follow, and never tried earlier than wanted (hazard 17)', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 20 }),
      fc.array(fc.nat(30_000), { maxLength: 500 }),
      (perSecond, wants) => {
        const budget = new RetryBudget({ perSecond, clock });
        const bySecond = new Map<number, number>();
        for (const want of wants) {
          const at = budget.plan('a', NOW_MS + want) - NOW_MS;
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
  for (let i = 0; i < 100_000; i += 1) last = budget.plan('a', NOW_MS) - NOW_MS;
  expect(last).toBe(999_000);
});

test('a million retries of one tenant do not delay the retries of another (hazard 45)', () => {
  const budget = new RetryBudget({ perSecond: 1_000, clock });
  for (let i = 0; i < 1_000_000; i += 1) budget.plan('storm', NOW_MS + 1_000);
  const wants = Array.from({ length: 200 }, (_, i) => NOW_MS + 1_000 + i);
  expect(wants.map((want) => budget.plan('quiet', want))).toEqual(wants);
});

test('however many tenants storm, the seconds hold at most twice the budget, and nothing is dropped', () => {
  const wants = fc.array(fc.tuple(fc.nat(40), fc.nat(10_000)), { maxLength: 2_000 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), wants, (perSecond, all) => {
      const budget = new RetryBudget({ perSecond, clock });
      const bySecond = new Map<number, number>();
      for (const [tenant, want] of all) {
        const at = budget.plan(`tenant-${tenant}`, NOW_MS + want) - NOW_MS;
        expect(at).toBeGreaterThanOrEqual(want);
        const second = Math.floor(at / 1_000);
        bySecond.set(second, (bySecond.get(second) ?? 0) + 1);
      }
      for (const planned of bySecond.values()) expect(planned).toBeLessThanOrEqual(2 * perSecond);
    }),
  );
});

test('behind the storms of nine tenants a tenth still keeps the instant of its retry (hazard 45)', () => {
  const budget = new RetryBudget({ perSecond: 1_000, clock });
  for (let tenant = 0; tenant < 9; tenant += 1)
    for (let i = 0; i < 20_000; i += 1) budget.plan(`storm-${tenant}`, NOW_MS);
  expect(budget.plan('quiet', NOW_MS + 5) - NOW_MS).toBe(5);
});

test('two tenants that storm at the same time get the same', () => {
  const budget = new RetryBudget({ perSecond: 300, clock });
  const first = { a: 0, b: 0 };
  for (let i = 0; i < 10_000; i += 1)
    for (const tenant of ['a', 'b'] as const)
      if (budget.plan(tenant, NOW_MS) < NOW_MS + 1_000) first[tenant] += 1;
  expect(first).toEqual({ a: 200, b: 200 });
});

test('a tenant finds the first second that is free for it, whatever others had to skip', () => {
  const budget = new RetryBudget({ perSecond: 2, clock });
  const plan = (tenant: string, want = 0) => (budget.plan(tenant, NOW_MS + want) - NOW_MS) / 1_000;
  expect(['a', 'a', 'b', 'c'].map((tenant) => plan(tenant))).toEqual([0, 0, 0, 0]);
  // The first second is full for everybody, the next for one tenant only.
  expect([plan('a', 1_000), plan('a', 1_000), plan('a'), plan('d')]).toEqual([1, 1, 2, 1]);
});

test('what lies in the past is forgotten, tenants included', () => {
  const own = new ManualClock(NOW_MS);
  const budget = new RetryBudget({ perSecond: 10, clock: own });
  for (let i = 0; i < 1_000; i += 1) budget.plan(`tenant-${i}`, NOW_MS + 1_000);
  expect(budget.size).toBe(1_000);
  own.advance(1_000_000);
  budget.plan('late', own.now());
  expect(budget.size).toBe(1);
});
