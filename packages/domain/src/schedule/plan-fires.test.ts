import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nextFire, nextFires } from './next-fires.ts';
import { type FirePlan, PLANNED_RUNS_MAX, planFires } from './plan-fires.ts';
import { DEFAULT_MISFIRE, MISFIRE_GRACE_MS, type MisfirePolicy, type Schedule } from './schedule.ts';
import { anyPolicy, anyTransition, at, cron, every, iso } from './schedule-arbitraries.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const none: MisfirePolicy = { ...DEFAULT_MISFIRE, kind: 'none' };
const last: MisfirePolicy = DEFAULT_MISFIRE;
const all: MisfirePolicy = { kind: 'all', maxRuns: 3, windowMs: 6 * HOUR_MS };

function plan(schedule: Schedule, misfire: MisfirePolicy, cursor: string, now: string): FirePlan {
  return planFires({ schedule, misfire, cursorMs: at(cursor), nowMs: at(now) });
}

describe('planFires', () => {
  const hourly = cron('0 * * * *');

  test('what is due on time runs, and nothing is skipped', () => {
    for (const policy of [none, last, all]) {
      const planned = plan(hourly, policy, '2026-01-01T10:00Z', '2026-01-01T10:00:00.250Z');
      expect(planned).toEqual({ run: [at('2026-01-01T10:00Z')], nextMs: at('2026-01-01T11:00Z') });
    }
  });

  test('a minute late still is on time, whatever the policy; a moment more is not', () => {
    const minutely = cron('* * * * *');
    const planned = plan(minutely, none, '2026-01-01T09:58Z', '2026-01-01T10:00Z');
    expect(iso(planned.run)).toEqual(['2026-01-01T09:59Z', '2026-01-01T10:00Z']);
    expect(planned.skipped).toMatchObject({
      fromMs: at('2026-01-01T09:58Z'),
      toMs: at('2026-01-01T09:58Z'),
      count: 1,
    });
    expect(plan(hourly, none, '2026-01-01T10:00Z', '2026-01-01T10:01:00.001Z').run).toEqual([]);
  });

  test('hazard 8: after an outage, none skips all that are overdue', () => {
    const planned = plan(hourly, none, '2026-01-01T10:00Z', '2026-01-03T10:30Z');
    expect(planned).toEqual({
      run: [],
      skipped: { fromMs: at('2026-01-01T10:00Z'), toMs: at('2026-01-03T10:00Z'), count: 49, exact: true },
      nextMs: at('2026-01-03T11:00Z'),
    });
  });

  test('hazard 8: after an outage, last runs the most recent one once', () => {
    const planned = plan(hourly, last, '2026-01-01T10:00Z', '2026-01-03T10:30Z');
    expect(iso(planned.run)).toEqual(['2026-01-03T10:00Z']);
    expect(planned.skipped).toEqual({
      fromMs: at('2026-01-01T10:00Z'),
      toMs: at('2026-01-03T09:00Z'),
      count: 48,
      exact: true,
    });
  });

  test('hazard 8: last adds nothing when one runs within the grace anyway', () => {
    const planned = plan(hourly, last, '2026-01-01T10:00Z', '2026-01-01T12:00:30Z');
    expect(iso(planned.run)).toEqual(['2026-01-01T12:00Z']);
    expect(planned.skipped).toMatchObject({ toMs: at('2026-01-01T11:00Z'), count: 2 });
  });

  test('hazard 8: all runs the most recent ones, up to its number and within its window', () => {
    const planned = plan(hourly, all, '2026-01-01T10:00Z', '2026-01-03T10:30Z');
    expect(iso(planned.run)).toEqual(['2026-01-03T08:00Z', '2026-01-03T09:00Z', '2026-01-03T10:00Z']);
    expect(planned.skipped).toMatchObject({ toMs: at('2026-01-03T07:00Z'), count: 46 });
    const short = planFires({
      schedule: hourly,
      misfire: { ...all, windowMs: HOUR_MS },
      cursorMs: at('2026-01-01T10:00Z'),
      nowMs: at('2026-01-03T10:30Z'),
    });
    expect(iso(short.run)).toEqual(['2026-01-03T10:00Z']);
  });

  test('hazard 8: an outage shorter than the number of all skips nothing', () => {
    const planned = plan(hourly, all, '2026-01-01T10:00Z', '2026-01-01T11:30Z');
    expect(iso(planned.run)).toEqual(['2026-01-01T10:00Z', '2026-01-01T11:00Z']);
    expect(planned.skipped).toBeUndefined();
  });

  test('hazard 8: a year of outage of a cron that fires every second is planned without listing it, counted exactly', () => {
    const misfire: MisfirePolicy = { kind: 'all', maxRuns: 1e9, windowMs: 400 * DAY_MS };
    const cursorMs = at('2026-01-01T00:00Z');
    const nowMs = at('2027-01-01T00:00Z');
    for (const schedule of [
      cron('* * * * * *', 'Europe/Paris'),
      every({ kind: 'exact', everyMs: 1_000 }, '2026-01-01T00:00Z'),
    ]) {
      const planned = planFires({ schedule, misfire, cursorMs, nowMs });
      expect(planned.run).toHaveLength(PLANNED_RUNS_MAX);
      expect(planned.run.at(-1)).toBe(nowMs);
      expect(planned.skipped).toMatchObject({ count: 365 * 86_400 + 1 - PLANNED_RUNS_MAX, exact: true });
      expect(planned.nextMs).toBe(nowMs + 1_000);
    }
  });

  test('hazard 8: a future job runs however late it is, an immediate one too', () => {
    const future: Schedule = { type: 'FUTURE', atMs: at('2026-01-01T10:00Z') };
    for (const policy of [none, last, all]) {
      const planned = plan(future, policy, '2026-01-01T10:00Z', '2026-09-01T10:00Z');
      expect(planned).toEqual({ run: [future.atMs], nextMs: undefined });
      expect(plan({ type: 'IMMEDIATE' }, policy, '2026-01-01T10:00Z', '2026-01-02T10:00Z').run).toHaveLength(
        1,
      );
    }
  });

  test('hazard 7: when the clock went back behind the cursor, nothing runs again', () => {
    const planned = plan(hourly, last, '2026-01-01T10:00Z', '2026-01-01T08:30Z');
    expect(planned).toEqual({ run: [], nextMs: at('2026-01-01T10:00Z') });
  });

  test('the end of the schedule ends the plan', () => {
    const ending = cron('0 * * * *', 'UTC', { endMs: at('2026-01-01T11:30Z') });
    const planned = plan(ending, none, '2026-01-01T10:00Z', '2026-01-02T00:00Z');
    expect(planned.skipped).toMatchObject({ toMs: at('2026-01-01T11:00Z'), count: 2 });
    expect(planned.nextMs).toBeUndefined();
  });

  test('a cursor the rule no longer names (the tz data changed) still gets its verdict', () => {
    const planned = plan(hourly, last, '2026-01-01T10:20Z', '2026-01-01T10:20:01Z');
    expect(iso(planned.run)).toEqual(['2026-01-01T10:20Z']);
    const skipped = plan(hourly, none, '2026-01-01T10:20Z', '2026-01-01T12:30Z').skipped;
    expect(skipped).toEqual({
      fromMs: at('2026-01-01T10:20Z'),
      toMs: at('2026-01-01T12:00Z'),
      count: 3,
      exact: true,
    });
  });

  test('hazard 8: every due instant gets exactly one verdict, in all zones and policies', () => {
    const anyMisfire: fc.Arbitrary<MisfirePolicy> = fc.record({
      kind: fc.constantFrom('none' as const, 'last' as const, 'all' as const),
      maxRuns: fc.integer({ min: 1, max: 20 }),
      windowMs: fc.integer({ min: MISFIRE_GRACE_MS, max: 3 * DAY_MS }),
    });
    const expressions = fc.constantFrom(
      '*/10 * * * *',
      '30 2 * * *',
      '0 */3 * * *',
      '*/20 * * * * *',
      '0 9 * * 1-5',
    );
    fc.assert(
      fc.property(
        anyTransition,
        expressions,
        anyPolicy,
        anyMisfire,
        fc.integer({ min: 0, max: 50 * HOUR_MS }),
        (where, expression, daylightSaving, misfire, outageMs) => {
          const schedule = cron(expression, where.zone, { daylightSaving });
          const cursorMs = nextFire(schedule, where.changeMs - DAY_MS);
          if (cursorMs === undefined) return;
          const nowMs = cursorMs + outageMs;
          const due = [cursorMs, ...nextFires(schedule, cursorMs, 10_000).filter((ms) => ms <= nowMs)];
          const { run, skipped, nextMs } = planFires({ schedule, misfire, cursorMs, nowMs });
          const skippedCount = skipped?.count ?? 0;
          expect(run).toEqual(due.slice(skippedCount));
          expect(skipped?.fromMs).toBe(skippedCount === 0 ? undefined : due[0]);
          expect(skipped?.toMs).toBe(skippedCount === 0 ? undefined : due[skippedCount - 1]);
          expect(nextMs).toBe(nextFire(schedule, nowMs));
          const inTime = due.filter((ms) => nowMs - ms <= MISFIRE_GRACE_MS).length;
          const overdueRuns = run.length - inTime;
          expect(overdueRuns).toBeGreaterThanOrEqual(0);
          if (misfire.kind === 'none') expect(overdueRuns).toBe(0);
          if (misfire.kind === 'last') expect(overdueRuns).toBe(inTime === 0 ? 1 : 0);
          if (misfire.kind === 'all') {
            const inWindow = due.filter((ms) => nowMs - ms <= misfire.windowMs).length - inTime;
            expect(overdueRuns).toBe(Math.min(misfire.maxRuns, inWindow));
          }
        },
      ),
      { numRuns: 80 },
    );
  });
});
