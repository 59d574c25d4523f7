import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DEFAULT_RETRY, RETRIES_MAX, type RetryPolicy, retryDelayMs } from './retry-policy.ts';

const policies: fc.Arbitrary<RetryPolicy> = fc.record({
  strategy: fc.constantFrom('fixed', 'exponential'),
  maxRetries: fc.integer({ min: 0, max: RETRIES_MAX }),
  delayMs: fc.integer({ min: 0, max: 86_400_000 }),
  delayMsMax: fc.integer({ min: 0, max: 86_400_000 }),
  jitter: fc.boolean(),
  deadlineMs: fc.constant(undefined),
});
const failures = fc.integer({ min: 1, max: RETRIES_MAX });
const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe('the pause before a retry (hazard 17)', () => {
  test('is never negative, never past the cap, and a whole number of milliseconds', () => {
    fc.assert(
      fc.property(policies, failures, chance, (policy, failed, random) => {
        const delay = retryDelayMs(policy, failed, random);
        expect(delay).toBeGreaterThanOrEqual(0);
        expect(delay).toBeLessThanOrEqual(policy.delayMsMax);
        expect(Number.isInteger(delay)).toBe(true);
      }),
    );
  });

  test('with jitter lies between half and the whole of the pause without', () => {
    fc.assert(
      fc.property(policies, failures, chance, (policy, failed, random) => {
        const whole = retryDelayMs({ ...policy, jitter: false }, failed, random);
        const spread = retryDelayMs({ ...policy, jitter: true }, failed, random);
        expect(spread).toBeGreaterThanOrEqual(Math.floor(whole / 2));
        expect(spread).toBeLessThanOrEqual(whole);
      }),
    );
  });

  test('with jitter uses the whole range, so that a herd that failed together does not return together', () => {
    const policy = { ...DEFAULT_RETRY, delayMs: 1_000 };
    expect(retryDelayMs(policy, 1, 0)).toBe(500);
    expect(retryDelayMs(policy, 1, 0.5)).toBe(750);
    expect(retryDelayMs(policy, 1, 0.999_999)).toBe(1_000);
  });

  test('without jitter does not depend on chance', () => {
    fc.assert(
      fc.property(policies, failures, chance, chance, (policy, failed, one, other) => {
        const steady = { ...policy, jitter: false };
        expect(retryDelayMs(steady, failed, one)).toBe(retryDelayMs(steady, failed, other));
      }),
    );
  });

  test('never shrinks from one failure to the next', () => {
    fc.assert(
      fc.property(policies, failures, chance, (policy, failed, random) => {
        const later = retryDelayMs(policy, failed + 1, random);
        expect(later).toBeGreaterThanOrEqual(retryDelayMs(policy, failed, random));
      }),
    );
  });

  test('doubles when it is exponential, until the cap', () => {
    const policy: RetryPolicy = { ...DEFAULT_RETRY, jitter: false, delayMs: 1_000, delayMsMax: 10_000 };
    expect([1, 2, 3, 4, 5, 6].map((failed) => retryDelayMs(policy, failed, 0))).toEqual([
      1_000, 2_000, 4_000, 8_000, 10_000, 10_000,
    ]);
  });

  test('stays the same when it is fixed', () => {
    const policy: RetryPolicy = { ...DEFAULT_RETRY, strategy: 'fixed', jitter: false, delayMs: 700 };
    expect([1, 2, 50].map((failed) => retryDelayMs(policy, failed, 0))).toEqual([700, 700, 700]);
  });
});
