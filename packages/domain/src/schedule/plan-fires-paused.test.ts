/** What falls into a pause by a person is skipped with a record of its own; that every instant gets a verdict is in plan-fires.test.ts. */
import { describe, expect, test } from 'vitest';
import { fireTime } from './fire-time.ts';
import { type FirePlan, planFires } from './plan-fires.ts';
import { DEFAULT_MISFIRE, type MisfirePolicy, type Schedule } from './schedule.ts';
import { at, cron, iso } from './schedule-arbitraries.ts';

const JOB_ID = '01890a5d-ac96-774b-bcce-b302099a8057';
const HOUR_MS = 3_600_000;
const none: MisfirePolicy = { ...DEFAULT_MISFIRE, kind: 'none' };
const last: MisfirePolicy = DEFAULT_MISFIRE;
const all: MisfirePolicy = { kind: 'all', maxRuns: 3, windowMs: 6 * HOUR_MS };

describe('a pause by a person', () => {
  const hourly = cron('0 * * * *');
  const often = cron('* * * * * *');

  function resumed(
    schedule: Schedule,
    misfire: MisfirePolicy,
    { cursor, resumedAt, now }: { cursor: string; resumedAt: string; now: string },
  ): FirePlan {
    const instants = { cursorMs: at(cursor), resumedAtMs: at(resumedAt), nowMs: at(now) };
    return planFires({ schedule, misfire, jobId: JOB_ID, ...instants });
  }

  test('of four seconds skips what a job of every second would have done, and says how many', () => {
    for (const policy of [none, last]) {
      const planned = resumed(often, policy, {
        cursor: '2026-01-01T10:00Z',
        resumedAt: '2026-01-01T10:00:03.500Z',
        now: '2026-01-01T10:00:03.600Z',
      });
      expect(planned).toEqual({
        run: [],
        skipped: [
          {
            reason: 'paused',
            fromMs: at('2026-01-01T10:00Z'),
            toMs: at('2026-01-01T10:00:03Z'),
            count: 4,
            exact: true,
          },
        ],
        nextMs: at('2026-01-01T10:00:04Z'),
      });
    }
  });

  test('skips the only occurrence that fell into it, though it is not a minute late', () => {
    const planned = resumed(hourly, last, {
      cursor: '2026-01-01T10:00Z',
      resumedAt: '2026-01-01T10:00:20Z',
      now: '2026-01-01T10:00:20Z',
    });
    expect(planned.run).toEqual([]);
    expect(planned.skipped).toMatchObject([{ reason: 'paused', count: 1 }]);
  });

  test('changes nothing for a job that asks to catch up', () => {
    const instants = { cursorMs: at('2026-01-01T10:00Z'), nowMs: at('2026-01-03T10:30Z') };
    const common = { schedule: hourly, misfire: all, jobId: JOB_ID, ...instants };
    expect(planFires({ ...common, resumedAtMs: instants.nowMs })).toEqual(planFires(common));
  });

  test('what was due at the very moment it ended does not belong to it', () => {
    const planned = resumed(often, last, {
      cursor: '2026-01-01T10:00Z',
      resumedAt: '2026-01-01T10:00:02Z',
      now: '2026-01-01T10:00:02Z',
    });
    expect(planned.run).toEqual([at('2026-01-01T10:00:02Z')]);
    expect(planned.skipped).toMatchObject([{ reason: 'paused', count: 2 }]);
  });

  test('followed by an outage gives two records: what it skipped, and what the outage did', () => {
    const planned = resumed(hourly, last, {
      cursor: '2026-01-01T10:00Z',
      resumedAt: '2026-01-01T12:30Z',
      now: '2026-01-01T20:30Z',
    });
    expect(iso(planned.run)).toEqual(['2026-01-01T20:00Z']);
    expect(planned.skipped).toEqual([
      {
        reason: 'paused',
        fromMs: at('2026-01-01T10:00Z'),
        toMs: at('2026-01-01T12:00Z'),
        count: 3,
        exact: true,
      },
      {
        reason: 'misfire',
        fromMs: at('2026-01-01T13:00Z'),
        toMs: at('2026-01-01T19:00Z'),
        count: 7,
        exact: true,
      },
    ]);
  });

  test('does not make what came after it late: a scheduler that is a little late skips nothing of that', () => {
    const planned = resumed(often, none, {
      cursor: '2026-01-01T09:00Z',
      resumedAt: '2026-01-01T10:00Z',
      now: '2026-01-01T10:00:03Z',
    });
    expect(planned.run).toHaveLength(4);
    expect(planned.skipped).toMatchObject([{ reason: 'paused', count: 3_600 }]);
  });

  test('in which the spread of an occurrence began and did not end lets that one run at its own instant', () => {
    const spread = cron('0 * * * *', 'UTC', { spreadMs: HOUR_MS });
    const cursorMs = at('2026-01-01T10:00Z');
    const fireAtMs = fireTime({ schedule: spread, jobId: JOB_ID, nominalMs: cursorMs });
    const common = { schedule: spread, misfire: last, jobId: JOB_ID, cursorMs, nowMs: fireAtMs };
    expect(planFires({ ...common, resumedAtMs: fireAtMs }).run).toEqual([cursorMs]);
    expect(planFires({ ...common, nowMs: fireAtMs + 1, resumedAtMs: fireAtMs + 1 }).run).toEqual([]);
  });

  test('in which the schedule ended leaves nothing to run', () => {
    const ending = cron('0 * * * *', 'UTC', { endMs: at('2026-01-01T11:30Z') });
    const planned = resumed(ending, last, {
      cursor: '2026-01-01T10:00Z',
      resumedAt: '2026-01-02T00:00Z',
      now: '2026-01-02T00:00Z',
    });
    expect(planned).toMatchObject({ run: [], skipped: [{ reason: 'paused', count: 2 }] });
    expect(planned.nextMs).toBeUndefined();
  });

  test('lets a one-off run however long it was', () => {
    const future: Schedule = { type: 'FUTURE', atMs: at('2026-01-01T10:00Z') };
    const planned = resumed(future, none, {
      cursor: '2026-01-01T10:00Z',
      resumedAt: '2026-02-01T10:00Z',
      now: '2026-02-01T10:00Z',
    });
    expect(planned).toEqual({ run: [future.atMs], skipped: [], nextMs: undefined });
  });

  test('that ended before the cursor, or later than now by a clock that was set, takes nothing from anybody else', () => {
    const instants = { cursor: '2026-01-01T10:00Z', now: '2026-01-01T10:00:00.250Z' };
    const before = resumed(hourly, last, { ...instants, resumedAt: '2026-01-01T09:59Z' });
    expect(before).toEqual({
      run: [at('2026-01-01T10:00Z')],
      skipped: [],
      nextMs: at('2026-01-01T11:00Z'),
    });
    const ahead = resumed(hourly, last, { ...instants, resumedAt: '2026-01-01T12:30Z' });
    expect(ahead.skipped).toMatchObject([{ reason: 'paused', count: 1 }]);
    expect(ahead.nextMs).toBe(at('2026-01-01T11:00Z'));
  });

  test('of a year of a cron that fires every second is counted without listing it', () => {
    const planned = resumed(cron('* * * * * *', 'Europe/Paris'), last, {
      cursor: '2026-01-01T00:00Z',
      resumedAt: '2027-01-01T00:00Z',
      now: '2027-01-01T00:00Z',
    });
    expect(iso(planned.run)).toEqual(['2027-01-01T00:00Z']);
    expect(planned.skipped).toMatchObject([{ reason: 'paused', count: 365 * 86_400, exact: true }]);
  });
});
