import { ManualClock } from '@carillon/foundation';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { tenantOf } from '../storage/lane.ts';
import { RetryBudget } from './retry-budget.ts';

const clock = new ManualClock(1_900_000_000_000);
const NOW_MS = clock.now();

const of = (namespace: string, userId?: string) => tenantOf({ namespace, userId });

test('within the budget every retry keeps its instant', () => {
  const budget = new RetryBudget({ perSecond: 3, clock });
  expect([1_500, 1_700, 1_999, 2_000].map((ms) => budget.plan(of('a'), NOW_MS + ms) - NOW_MS)).toEqual([
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
          const at = budget.plan(of('a'), NOW_MS + want) - NOW_MS;
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
  for (let i = 0; i < 100_000; i += 1) last = budget.plan(of('a'), NOW_MS) - NOW_MS;
  expect(last).toBe(999_000);
});

test('a million retries of one tenant do not delay the retries of another (hazard 45)', () => {
  const budget = new RetryBudget({ perSecond: 1_000, clock });
  for (let i = 0; i < 1_000_000; i += 1) budget.plan(of('storm'), NOW_MS + 1_000);
  const wants = Array.from({ length: 200 }, (_, i) => NOW_MS + 1_000 + i);
  expect(wants.map((want) => budget.plan(of('quiet'), want))).toEqual(wants);
});

test('however many storm, a second holds at most twice the budget of a namespace, four times over all, and nothing is dropped', () => {
  const wants = fc.array(fc.tuple(fc.nat(5), fc.nat(20), fc.nat(10_000)), { maxLength: 2_000 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), wants, (perSecond, all) => {
      const budget = new RetryBudget({ perSecond, clock });
      const planned = new Map<string, number>();
      for (const [namespace, user, want] of all) {
        const at = budget.plan(of(`n${namespace}`, `u${user}`), NOW_MS + want) - NOW_MS;
        expect(at).toBeGreaterThanOrEqual(want);
        const second = Math.floor(at / 1_000);
        for (const key of [`${second}`, `${second}/${namespace}`, `${second}/${namespace}/${user}`])
          planned.set(key, (planned.get(key) ?? 0) + 1);
      }
      for (const [key, count] of planned)
        expect(count).toBeLessThanOrEqual([4, 2, 1][key.split('/').length - 1]! * perSecond);
    }),
  );
});

test('a storm of as many users as runs does not delay the retry of another namespace (hazard 45)', () => {
  const budget = new RetryBudget({ perSecond: 10, clock });
  for (let i = 0; i < 1_500; i += 1) budget.plan(of('storm', `u${i}`), NOW_MS + 1_000);
  expect(budget.plan(of('quiet'), NOW_MS + 1_000) - NOW_MS).toBe(1_000);
});

test('the storm of one user does not delay the retries of another in its namespace (hazard 45)', () => {
  const budget = new RetryBudget({ perSecond: 10, clock });
  for (let i = 0; i < 1_500; i += 1) budget.plan(of('a', 'storm'), NOW_MS);
  expect(budget.plan(of('a', 'quiet'), NOW_MS + 5) - NOW_MS).toBe(5);
});

test('any number of users with one retry each, at any instants, are remembered in bounded memory', () => {
  const budget = new RetryBudget({ perSecond: 1_000, clock });
  const namespace = of('many');
  for (let i = 0; i < 300_000; i += 1) budget.plan(namespace + i, NOW_MS + ((i * 7_919) % 1_200_000));
  expect(budget.size).toBeLessThan(180_000);
  for (let i = 0; i < 10_000; i += 1) budget.plan(namespace, NOW_MS);
  expect(budget.plan(of('quiet'), NOW_MS + 5) - NOW_MS).toBe(5);
});

test('a second that is full for a namespace remembers none of its users', () => {
  const budget = new RetryBudget({ perSecond: 100, clock });
  for (let i = 0; i < 100_000; i += 1) budget.plan(of('storm', `u${i}`), NOW_MS);
  // Two hundred in each second: 500 seconds, one share each.
  expect(budget.size).toBeLessThan(1_000);
});

test('behind the storms of nine tenants a tenth still keeps the instant of its retry (hazard 45)', () => {
  const budget = new RetryBudget({ perSecond: 1_000, clock });
  for (let tenant = 0; tenant < 9; tenant += 1)
    for (let i = 0; i < 20_000; i += 1) budget.plan(of(`storm-${tenant}`), NOW_MS);
  expect(budget.plan(of('quiet'), NOW_MS + 5) - NOW_MS).toBe(5);
});

test.each(['namespaces', 'users'])('two %s that storm at the same time get the same', (kind) => {
  const budget = new RetryBudget({ perSecond: 300, clock });
  const first = { a: 0, b: 0 };
  for (let i = 0; i < 10_000; i += 1)
    for (const tenant of ['a', 'b'] as const)
      if (budget.plan(kind === 'users' ? of('n', tenant) : of(tenant), NOW_MS) < NOW_MS + 1_000)
        first[tenant] += 1;
  expect(first.a).toBe(first.b);
  expect(first.a).toBeGreaterThanOrEqual(200);
});

test('a tenant finds the first second that is free for it, whatever others had to skip', () => {
  const budget = new RetryBudget({ perSecond: 2, clock });
  const plan = (tenant: string, want = 0) => {
    const [namespace, userId] = tenant.split('/') as [string, string | undefined];
    return (budget.plan(of(namespace, userId), NOW_MS + want) - NOW_MS) / 1_000;
  };
  expect(['a/u', 'a/u', 'a/u', 'a/v', 'a/v', 'a/w', 'a/x'].map((tenant) => plan(tenant))).toEqual([
    0, 0, 1, 0, 1, 0, 1,
  ]);
  // The first second is full for the namespace, the next for one of its users only.
  expect([plan('a/u'), plan('a/u'), plan('b/u'), plan('a/w')]).toEqual([2, 2, 0, 1]);
});

test('what lies in the past is forgotten, tenants included', () => {
  const own = new ManualClock(NOW_MS);
  const budget = new RetryBudget({ perSecond: 10, clock: own });
  for (let i = 0; i < 1_000; i += 1) budget.plan(of(`tenant-${i}`), NOW_MS + 1_000 * i);
  expect(budget.size).toBe(2_000);
  own.advance(1_000_000);
  budget.plan(of('late'), own.now());
  expect(budget.size).toBe(2);
});
