import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fireTime } from './fire-time.ts';
import { nextFire, nextFires } from './next-fires.ts';
import { type FirePlan, PLANNED_RUNS_MAX, planFires } from './plan-fires.ts';
import {
  DEFAULT_MISFIRE,
  MISFIRE_GRACE_MS,
  type MisfirePolicy,
  type Schedule,
  STANDSTILL_MS_MAX,
} from './schedule.ts';
import { anyPolicy, anyTransition, at, cron, every, iso } from './schedule-arbitraries.ts';

const JOB_ID = '01890a5d-ac96-774b-bcce-b302099a8057';
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const none: MisfirePolicy = { ...DEFAULT_MISFIRE, kind: 'none' };
const last: MisfirePolicy = DEFAULT_MISFIRE;
const all: MisfirePolicy = { kind: 'all', maxRuns: 3, windowMs: 6 * HOUR_MS };

function plan(schedule: Schedule, misfire: MisfirePolicy, cursor: string, now: string): FirePlan {
  return planFires({ schedule, misfire, jobId: JOB_ID, cursorMs: at(cursor), nowMs: at(now) });
}

describe('planFires', () => {
  const hourly = cron('0 * * * *');

  test('what is due on time runs, and nothing is skipped', () => {
    for (const policy of [none, last, all]) {
      const planned = plan(hourly, policy, '2026-01-01T10:00Z', '2026-01-01T10:00:00.250Z');
      expect(planned).toEqual({
        run: [at('2026-01-01T10:00Z')],
        skipped: [],
        nextMs: at('2026-01-01T11:00Z'),
      });
    }
  });

  test('a single occurrence runs up to a minute late, whatever the policy; with none a moment more is too late', () => {
    for (const policy of [none, last, all]) {
      const planned = plan(hourly, policy, '2026-01-01T10:00Z', '2026-01-01T10:01Z');
      expect(planned.run).toEqual([at('2026-01-01T10:00Z')]);
    }
    expect(plan(hourly, none, '2026-01-01T10:00Z', '2026-01-01T10:01:00.001Z').run).toEqual([]);
  });

  test('hazard 19: after a pause of a minute a job of every two seconds runs once, unless it wants all', () => {
    const often = every({ kind: 'exact', everyMs: 2_000 }, '2026-01-01T10:00Z');
    for (const policy of [none, last]) {
      const planned = plan(often, policy, '2026-01-01T10:00Z', '2026-01-01T10:00:59Z');
      expect(planned.run).toEqual([at('2026-01-01T10:00:58Z')]);
      expect(planned.skipped).toEqual([
        {
          reason: 'misfire',
          fromMs: at('2026-01-01T10:00Z'),
          toMs: at('2026-01-01T10:00:56Z'),
          count: 29,
          exact: true,
        },
      ]);
    }
    expect(plan(often, all, '2026-01-01T10:00Z', '2026-01-01T10:00:59Z').run).toHaveLength(30);
  });

  test('a scheduler that is a little late skips nothing of a job of every second', () => {
    const often = cron('* * * * * *');
    const cursorMs = at('2026-01-01T10:00Z');
    for (const misfire of [none, last, all]) {
      for (const lateMs of [0, 999, 1_000, 2_500, STANDSTILL_MS_MAX]) {
        const nowMs = cursorMs + lateMs;
        const planned = planFires({ schedule: often, misfire, jobId: JOB_ID, cursorMs, nowMs });
        expect(planned.run).toHaveLength(1 + Math.floor(lateMs / 1_000));
        expect(planned.skipped).toEqual([]);
      }
    }
  });

  test('what the spread delays is not late: it runs at its own instant, and not before', () => {
    const spread = cron('0 * * * *', 'UTC', { spreadMs: HOUR_MS });
    const cursorMs = at('2026-01-01T10:00Z');
    const fireAtMs = fireTime({ schedule: spread, jobId: JOB_ID, nominalMs: cursorMs });
    expect(fireAtMs - cursorMs).toBeGreaterThan(MISFIRE_GRACE_MS);
    for (const misfire of [none, last, { ...all, windowMs: 0 }]) {
      const planAt = (nowMs: number) =>
        planFires({ schedule: spread, misfire, jobId: JOB_ID, cursorMs, nowMs });
      expect(planAt(fireAtMs - 1)).toEqual({ run: [], skipped: [], nextMs: cursorMs });
      expect(planAt(fireAtMs)).toEqual({ run: [cursorMs], skipped: [], nextMs: cursorMs + HOUR_MS });
      // The newest waits for its share of the spread; the ones before it are judged without it.
      expect(planAt(fireAtMs + 2 * HOUR_MS - 1).nextMs).toBe(cursorMs + 2 * HOUR_MS);
    }
  });

  test('hazard 8: after an outage, none skips all that are overdue', () => {
    const planned = plan(hourly, none, '2026-01-01T10:00Z', '2026-01-03T10:30Z');
    expect(planned).toEqual({
      run: [],
      skipped: [
        {
          reason: 'misfire',
          fromMs: at('2026-01-01T10:00Z'),
          toMs: at('2026-01-03T10:00Z'),
          count: 49,
          exact: true,
        },
      ],
      nextMs: at('2026-01-03T11:00Z'),
    });
  });

  test('hazard 8: after an outage, last runs the most recent one once', () => {
    const planned = plan(hourly, last, '2026-01-01T10:00Z', '2026-01-03T10:30Z');
    expect(iso(planned.run)).toEqual(['2026-01-03T10:00Z']);
    expect(planned.skipped).toEqual([
      {
        reason: 'misfire',
        fromMs: at('2026-01-01T10:00Z'),
        toMs: at('2026-01-03T09:00Z'),
        count: 48,
        exact: true,
      },
    ]);
  });

  test('hazard 8: last runs one, however little late that one is', () => {
    const planned = plan(hourly, last, '2026-01-01T10:00Z', '2026-01-01T12:00:30Z');
    expect(iso(planned.run)).toEqual(['2026-01-01T12:00Z']);
    expect(planned.skipped).toMatchObject([{ toMs: at('2026-01-01T11:00Z'), count: 2 }]);
  });

  test('hazard 8: all runs the most recent ones, up to its number and within its window', () => {
    const planned = plan(hourly, all, '2026-01-01T10:00Z', '2026-01-03T10:30Z');
    expect(iso(planned.run)).toEqual(['2026-01-03T08:00Z', '2026-01-03T09:00Z', '2026-01-03T10:00Z']);
    expect(planned.skipped).toMatchObject([{ toMs: at('2026-01-03T07:00Z'), count: 46 }]);
    const short = planFires({
      schedule: hourly,
      misfire: { ...all, windowMs: HOUR_MS },
      jobId: JOB_ID,
      cursorMs: at('2026-01-01T10:00Z'),
      nowMs: at('2026-01-03T10:30Z'),
    });
    expect(iso(short.run)).toEqual(['2026-01-03T10:00Z']);
  });

  test('hazard 8: an outage shorter than the number of all skips nothing', () => {
    const planned = plan(hourly, all, '2026-01-01T10:00Z', '2026-01-01T11:30Z');
    expect(iso(planned.run)).toEqual(['2026-01-01T10:00Z', '2026-01-01T11:00Z']);
    expect(planned.skipped).toEqual([]);
  });

  test('hazard 8: a year of outage of a cron that fires every second is planned without listing it, counted exactly', () => {
    const misfire: MisfirePolicy = { kind: 'all', maxRuns: 1e9, windowMs: 400 * DAY_MS };
    const cursorMs = at('2026-01-01T00:00Z');
    const nowMs = at('2027-01-01T00:00Z');
    for (const schedule of [
      cron('* * * * * *', 'Europe/Paris'),
      every({ kind: 'exact', everyMs: 1_000 }, '2026-01-01T00:00Z'),
    ]) {
      const planned = planFires({ schedule, misfire, jobId: JOB_ID, cursorMs, nowMs });
      expect(planned.run).toHaveLength(PLANNED_RUNS_MAX);
      expect(planned.run.at(-1)).toBe(nowMs);
      expect(planned.skipped).toMatchObject([{ count: 365 * 86_400 + 1 - PLANNED_RUNS_MAX, exact: true }]);
      expect(planned.nextMs).toBe(nowMs + 1_000);
    }
  });

  test('hazard 8: a future job runs however late it is, an immediate one too', () => {
    const future: Schedule = { type: 'FUTURE', atMs: at('2026-01-01T10:00Z') };
    for (const policy of [none, last, all]) {
      const planned = plan(future, policy, '2026-01-01T10:00Z', '2026-09-01T10:00Z');
      expect(planned).toEqual({ run: [future.atMs], skipped: [], nextMs: undefined });
      expect(plan({ type: 'IMMEDIATE' }, policy, '2026-01-01T10:00Z', '2026-01-02T10:00Z').run).toHaveLength(
        1,
      );
    }
  });

  test('hazard 7: when the clock went back behind the cursor, nothing runs again', () => {
    const planned = plan(hourly, last, '2026-01-01T10:00Z', '2026-01-01T08:30Z');
    expect(planned).toEqual({ run: [], skipped: [], nextMs: at('2026-01-01T10:00Z') });
  });

  test('the end of the schedule ends the plan', () => {
    const ending = cron('0 * * * *', 'UTC', { endMs: at('2026-01-01T11:30Z') });
    const planned = plan(ending, none, '2026-01-01T10:00Z', '2026-01-02T00:00Z');
    expect(planned.skipped).toMatchObject([{ toMs: at('2026-01-01T11:00Z'), count: 2 }]);
    expect(planned.nextMs).toBeUndefined();
  });

  test('a cursor the rule no longer names (the tz data changed) still gets its verdict', () => {
    const planned = plan(hourly, last, '2026-01-01T10:20Z', '2026-01-01T10:20:01Z');
    expect(iso(planned.run)).toEqual(['2026-01-01T10:20Z']);
    const skipped = plan(hourly, none, '2026-01-01T10:20Z', '2026-01-01T12:30Z').skipped;
    expect(skipped).toEqual([
      {
        reason: 'misfire',
        fromMs: at('2026-01-01T10:20Z'),
        toMs: at('2026-01-01T12:00Z'),
        count: 3,
        exact: true,
      },
    ]);
  });

  test('hazard 8: every due instant gets exactly one verdict, in all zones and policies', () => {
    const anyMisfire: fc.Arbitrary<MisfirePolicy> = fc.record({
      kind: fc.constantFrom('none' as const, 'last' as const, 'all' as const),
      maxRuns: fc.integer({ min: 1, max: 20 }),
      windowMs: fc.integer({ min: MISFIRE_GRACE_MS, max: 3 * DAY_MS }),
    });
    const SHORTEST_MS = 20_000;
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
        fc.constantFrom(0, 0, 15_000, 10 * 60_000, 5 * HOUR_MS),
        fc.oneof(
          fc.integer({ min: 0, max: 2 * STANDSTILL_MS_MAX }),
          fc.integer({ min: 0, max: 3 * MISFIRE_GRACE_MS }),
          fc.integer({ min: 0, max: 50 * HOUR_MS }),
        ),
        // Where between the cursor and now the job was resumed; undefined: it was not paused.
        fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined }),
        (where, expression, daylightSaving, misfire, spreadMs, outageMs, resumedAt) => {
          const schedule = cron(expression, where.zone, { daylightSaving, spreadMs });
          const cursorMs = nextFire(schedule, where.changeMs - DAY_MS);
          if (cursorMs === undefined) return;
          const fireAt = (nominalMs: number) => fireTime({ schedule, jobId: JOB_ID, nominalMs });
          const nowMs = fireAt(cursorMs) + outageMs;
          const countMax = 1 + Math.floor((nowMs - cursorMs) / SHORTEST_MS);
          const due = [cursorMs, ...nextFires(schedule, cursorMs, countMax)].filter(
            (ms) => fireAt(ms) <= nowMs,
          );
          const resumedAtMs =
            resumedAt === undefined ? undefined : cursorMs + Math.round(resumedAt * (nowMs - cursorMs));
          const { run, skipped, nextMs } = planFires({
            ...{ schedule, misfire, jobId: JOB_ID, cursorMs, nowMs, resumedAtMs },
          });
          expect(nextMs).toBe(nextFire(schedule, due.at(-1)!));
          let judged = 0;
          for (const { fromMs, toMs, count, exact } of skipped) {
            expect(exact).toBe(true);
            expect(count).toBeGreaterThan(0);
            expect([fromMs, toMs]).toEqual([due[judged], due[judged + count - 1]]);
            judged += count;
          }
          expect(run).toEqual(due.slice(judged));

          const isInPause = (ms: number) =>
            misfire.kind !== 'all' && resumedAtMs !== undefined && fireAt(ms) < resumedAtMs;
          const pausedCount = due.filter(isInPause).length;
          const reasons = skipped.map(({ reason, count }) => [reason, count]);
          const misfiredCount = judged - pausedCount;
          expect(reasons).toEqual([
            ...(pausedCount > 0 ? [['paused', pausedCount]] : []),
            ...(misfiredCount > 0 ? [['misfire', misfiredCount]] : []),
          ]);
          const left = due.slice(pausedCount);
          if (left.length === 0) return;
          const latest = left.at(-1)!;
          const inTime = nowMs - fireAt(latest) <= MISFIRE_GRACE_MS;
          if (misfire.kind !== 'all') {
            const stoodStill = nowMs - fireAt(left[0]!) > STANDSTILL_MS_MAX;
            const runs = misfire.kind === 'last' || inTime ? 1 : 0;
            expect(run).toHaveLength(stoodStill ? runs : left.length);
            return;
          }
          const horizonMs = nowMs - (fireAt(latest) - latest);
          const within = (ms: number) => due.filter((nominalMs) => horizonMs - nominalMs <= ms).length;
          const late = within(MISFIRE_GRACE_MS);
          expect(run).toHaveLength(late + Math.min(misfire.maxRuns, within(misfire.windowMs) - late));
        },
      ),
      { numRuns: 300 },
    );
  });
});
