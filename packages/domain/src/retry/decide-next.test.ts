import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EPOCHS_PER_GENERATION_BITS } from '../run/first-epoch.ts';
import type { RunOutcome } from '../run/run.ts';
import { isFinal } from '../run/run.ts';
import {
  type AttemptSoFar,
  CRASHES_MAX,
  CRASHES_MAX_IN_COMPANY,
  decideNext,
  RETURN_PAUSE_MS_MAX,
} from './decide-next.ts';
import { DEFAULT_RETRY, type RetryPolicy } from './retry-policy.ts';

const NOW_MS = Date.UTC(2030, 0, 1);
const FIRST: AttemptSoFar = { attempt: 1, crashes: 0, nominalAtMs: NOW_MS };
const FAILED: RunOutcome = { kind: 'FAILED', error: 'no', retryable: true };

const policies: fc.Arbitrary<RetryPolicy> = fc.record({
  strategy: fc.constantFrom('none', 'fixed', 'exponential'),
  maxRetries: fc.integer({ min: 0, max: 10 }),
  delayMs: fc.integer({ min: 0, max: 60_000 }),
  delayMsMax: fc.integer({ min: 0, max: 300_000 }),
  jitter: fc.boolean(),
  deadlineMs: fc.option(fc.integer({ min: 0, max: 3_600_000 }), { nil: undefined }),
});
const error = fc.constant('no');
const failures: fc.Arbitrary<RunOutcome> = fc.oneof(
  fc.record({ kind: fc.constant('FAILED' as const), error, retryable: fc.constant(true) }),
  fc.record({
    kind: fc.constant('FAILED' as const),
    error,
    retryable: fc.boolean(),
    // Whatever a server or a handler may say.
    retryAfterMs: fc.oneof(fc.integer({ min: 0, max: 86_400_000 }), fc.double()),
  }),
  fc.record({ kind: fc.constant('TIMED_OUT' as const), error }),
);
const interruptions: fc.Arbitrary<RunOutcome> = fc.oneof(
  fc.record({ kind: fc.constant('RETURNED' as const), error }),
  fc.record({ kind: fc.constant('LOST' as const), error }),
);
const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

function decide(
  outcome: RunOutcome,
  over: { soFar?: Partial<AttemptSoFar>; policy?: Partial<RetryPolicy> } = {},
) {
  return decideNext(outcome, {
    soFar: { ...FIRST, ...over.soFar },
    policy: { ...DEFAULT_RETRY, ...over.policy },
    nowMs: NOW_MS,
    random: 0,
  });
}

describe('what ends a run', () => {
  test('success finishes it', () => {
    expect(decide({ kind: 'SUCCESS' })).toEqual({
      status: 'SUCCESS',
      error: undefined,
      next: { kind: 'finish' },
    });
  });

  test('a cancel finishes it and is never tried again (hazard 18)', () => {
    fc.assert(
      fc.property(policies, (policy) => {
        expect(decide({ kind: 'CANCELLED' }, { policy }).next).toEqual({ kind: 'finish' });
      }),
    );
  });

  test('a failure that no retry can mend is dead at once', () => {
    const next = decide({ kind: 'FAILED', error: '404', retryable: false }).next;
    expect(next).toEqual({ kind: 'dead', reason: 'not_retryable' });
  });

  test('a job without retries is dead after its first failure', () => {
    expect(decide(FAILED, { policy: { strategy: 'none' } }).next).toEqual({
      kind: 'dead',
      reason: 'retries_exhausted',
    });
    expect(decide(FAILED, { policy: { maxRetries: 0 } }).next).toEqual({
      kind: 'dead',
      reason: 'retries_exhausted',
    });
  });

  test('every attempt is recorded in a final state with the error of its outcome', () => {
    fc.assert(
      fc.property(fc.oneof(failures, interruptions), policies, (outcome, policy) => {
        const step = decide(outcome, { policy });
        expect(isFinal(step.status)).toBe(true);
        expect(step.error).toBe('no');
        const isInterruption = outcome.kind === 'RETURNED' || outcome.kind === 'LOST';
        expect(step.status).toBe(isInterruption && step.next.kind !== 'again' ? 'FAILED' : outcome.kind);
      }),
    );
  });
});

describe('a retry', () => {
  test('never happens more than maxRetries times, whatever goes wrong (hazard 17)', () => {
    fc.assert(
      fc.property(
        policies,
        fc.array(fc.tuple(fc.oneof(failures, interruptions), chance)),
        (policy, story) => {
          let soFar = FIRST;
          let nowMs = NOW_MS;
          for (const [outcome, random] of story) {
            const { next } = decideNext(outcome, { soFar, policy, nowMs, random });
            if (next.kind !== 'again') return;
            expect(next.attempt).toBeLessThanOrEqual(policy.maxRetries + 1);
            expect(next.attempt).toBeGreaterThanOrEqual(soFar.attempt);
            expect(next.atMs).toBeGreaterThanOrEqual(nowMs);
            nowMs = next.atMs;
            soFar = { ...soFar, attempt: next.attempt, crashes: next.crashes };
          }
        },
      ),
    );
  });

  test('after a failure is never planned past the deadline (hazard 17)', () => {
    fc.assert(
      fc.property(failures, policies, fc.nat(3_600_000), chance, (outcome, policy, lateMs, random) => {
        const nowMs = NOW_MS + lateMs;
        const { next } = decideNext(outcome, { soFar: FIRST, policy, nowMs, random });
        if (next.kind === 'again' && policy.deadlineMs !== undefined)
          expect(next.atMs).toBeLessThanOrEqual(FIRST.nominalAtMs + policy.deadlineMs);
      }),
    );
  });

  test('that would miss the deadline is dead now, with that reason', () => {
    const policy = { jitter: false, delayMs: 1_000, deadlineMs: 999 };
    expect(decide(FAILED, { policy }).next).toEqual({ kind: 'dead', reason: 'deadline_passed' });
    expect(decide(FAILED, { policy: { ...policy, deadlineMs: 1_000 } }).next).toMatchObject({
      kind: 'again',
    });
  });

  test('waits at least as long as the other side asked for', () => {
    fc.assert(
      fc.property(fc.nat(86_400_000), policies, chance, (retryAfterMs, policy, random) => {
        const outcome: RunOutcome = { kind: 'FAILED', error: '429', retryable: true, retryAfterMs };
        const { next } = decideNext(outcome, { soFar: FIRST, policy, nowMs: NOW_MS, random });
        if (next.kind === 'again') expect(next.atMs).toBeGreaterThanOrEqual(NOW_MS + retryAfterMs);
      }),
    );
  });

  test('after a timeout is like one after a failure', () => {
    const next = decide({ kind: 'TIMED_OUT', error: 'slow' }, { policy: { jitter: false } }).next;
    expect(next).toEqual({ kind: 'again', atMs: NOW_MS + DEFAULT_RETRY.delayMs, attempt: 2, crashes: 0 });
  });

  test('keeps count of crashes over failures', () => {
    expect(decide(FAILED, { soFar: { crashes: 3 } }).next).toMatchObject({ attempt: 2, crashes: 3 });
  });
});

describe('an interruption nobody is to blame for', () => {
  test('of a run that was given back runs again at once and counts as no attempt (hazard 22)', () => {
    fc.assert(
      fc.property(policies, fc.integer({ min: 1, max: 11 }), fc.nat(4), (policy, attempt, crashes) => {
        const { next } = decide({ kind: 'RETURNED', error: 'no' }, { policy, soFar: { attempt, crashes } });
        expect(next).toEqual({ kind: 'again', atMs: NOW_MS, attempt, crashes });
      }),
    );
  });

  test.each([
    ['the first', 0],
    ['a later', 3 * 2 ** EPOCHS_PER_GENERATION_BITS - 1],
  ])(
    'of a run that is given back again and again in %s generation comes later each time, up to a bound (hazards 22, 43)',
    (_, before) => {
      const pauses = Array.from({ length: 20 }, (_, returns) => {
        const soFar = { attempt: 3, crashes: 2, epoch: before + 5 + returns };
        const { next } = decide({ kind: 'RETURNED', error: 'no' }, { soFar });
        expect(next).toMatchObject({ kind: 'again', attempt: 3, crashes: 2 });
        return next.kind === 'again' ? next.atMs - NOW_MS : undefined;
      });
      expect(pauses.slice(0, 4)).toEqual([0, 500, 1_000, 2_000]);
      expect(pauses.at(-1)).toBe(RETURN_PAUSE_MS_MAX / 2);
    },
  );

  test('of a run that was given back often is not put off past its deadline', () => {
    const returned = (deadlineMs: number) =>
      decide({ kind: 'RETURNED', error: 'no' }, { soFar: { epoch: 9 }, policy: { deadlineMs } }).next;
    expect(returned(1_000)).toEqual({ kind: 'again', atMs: NOW_MS, attempt: 1, crashes: 0 });
  });

  test('of a run whose worker was lost counts as a crash and not as an attempt (hazard 20)', () => {
    const next = decide({ kind: 'LOST', error: 'no' }, { policy: { maxRetries: 0 } }).next;
    expect(next).toEqual({ kind: 'again', atMs: NOW_MS, attempt: 1, crashes: 1 });
  });

  test('ends when the run has taken too many workers with it, however many retries are left (hazard 20)', () => {
    let crashes = 0;
    for (let lost = 1; lost < CRASHES_MAX; lost += 1) {
      const { next } = decide({ kind: 'LOST', error: 'no' }, { soFar: { crashes } });
      expect(next).toMatchObject({ kind: 'again', crashes: lost });
      crashes = lost;
    }
    const last = decide({ kind: 'LOST', error: 'no' }, { soFar: { crashes }, policy: { maxRetries: 100 } });
    expect(last.next).toEqual({ kind: 'dead', reason: 'crashed_workers' });
  });

  test('does not end a run while another on board has lost as many workers, up to a bound (hazard 20)', () => {
    const lost = (crashes: number, othersCrashes: number) =>
      decide({ kind: 'LOST', error: 'no', othersCrashes }, { soFar: { crashes } }).next.kind;
    expect(lost(CRASHES_MAX - 1, CRASHES_MAX - 2)).toBe('dead');
    expect(lost(CRASHES_MAX - 1, CRASHES_MAX - 1)).toBe('again');
    expect(lost(CRASHES_MAX - 1, CRASHES_MAX + 3)).toBe('again');
    expect(lost(CRASHES_MAX_IN_COMPANY - 1, CRASHES_MAX_IN_COMPANY)).toBe('dead');
  });

  test('never kills a suspect by the pause it is given: what cannot wait comes back at once', () => {
    const soFar = { ...FIRST, crashes: 2, nominalAtMs: NOW_MS - 57_000 };
    const policy = { ...DEFAULT_RETRY, deadlineMs: 60_000 };
    const { next } = decideNext(
      { kind: 'LOST', error: 'no' },
      { soFar, policy, nowMs: NOW_MS, random: 0.99 },
    );
    expect(next).toMatchObject({ kind: 'again', atMs: NOW_MS });
  });

  test('brings suspects back after pauses of their own, and the first time at once', () => {
    fc.assert(
      fc.property(fc.nat(CRASHES_MAX - 2), chance, (crashes, random) => {
        const soFar = { ...FIRST, crashes };
        const outcome = { kind: 'LOST', error: 'no' } as const;
        const { next } = decideNext(outcome, { soFar, policy: DEFAULT_RETRY, nowMs: NOW_MS, random });
        if (next.kind !== 'again') return expect.fail(next.kind);
        expect(Number.isSafeInteger(next.atMs)).toBe(true);
        expect(next.atMs - NOW_MS).toBeLessThanOrEqual(crashes === 0 ? 0 : 10_000 * random);
      }),
    );
  });

  test('a killer is found out before a companion that is long under way, however they meet (hazard 20)', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: 20, maxLength: 20 }), (isAboard) => {
        let [killer, companion] = [0, 0];
        for (const together of isAboard) {
          const others = { killer: together ? { othersCrashes: companion } : {}, companion: killer };
          const ended = decide(
            { kind: 'LOST', error: 'no', ...others.killer },
            { soFar: { crashes: killer } },
          );
          const other = together
            ? decide(
                { kind: 'LOST', error: 'no', othersCrashes: others.companion },
                { soFar: { crashes: companion } },
              )
            : undefined;
          if (other?.next.kind === 'dead') expect(companion + 1).toBe(CRASHES_MAX_IN_COMPANY);
          if (ended.next.kind === 'dead') return;
          killer += 1;
          companion += together ? 1 : 0;
        }
        expect.fail('nobody was found out');
      }),
    );
  });
});

test('a pause that was asked for is whole milliseconds, whatever was asked', () => {
  fc.assert(
    fc.property(fc.double(), (retryAfterMs) => {
      const outcome: RunOutcome = { kind: 'FAILED', error: 'busy', retryable: true, retryAfterMs };
      const { next } = decideNext(outcome, { soFar: FIRST, policy: DEFAULT_RETRY, nowMs: NOW_MS, random: 0 });
      if (next.kind !== 'again') return expect.fail(next.kind);
      expect(Number.isSafeInteger(next.atMs)).toBe(true);
      expect(next.atMs - NOW_MS).toBeLessThanOrEqual(86_400_000);
    }),
  );
});
