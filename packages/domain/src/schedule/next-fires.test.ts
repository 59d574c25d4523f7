import { CronExpressionParser } from 'cron-parser';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Refusal } from '../errors/refusal.ts';
import { NEXT_FIRES_MAX, nextFire, nextFires, requireNextFire } from './next-fires.ts';
import type { DaylightSavingPolicy } from './schedule.ts';
import {
  ALL_ZONES,
  anyCron,
  anyInstant,
  anyPolicy,
  anyTransition,
  anyZone,
  at,
  cron,
  every,
  iso,
} from './schedule-arbitraries.ts';
import { toLocal } from './wall-clock.ts';
import { segmentAt } from './zone-segments.ts';

const DAY_MS = 86_400_000;

function fires(
  expression: string,
  zone: string,
  after: string,
  n: number,
  daylightSaving?: DaylightSavingPolicy,
): string[] {
  return iso(nextFires(cron(expression, zone, daylightSaving ? { daylightSaving } : {}), at(after), n));
}

const skip: DaylightSavingPolicy = { gap: 'skip', overlap: 'first' };
const second: DaylightSavingPolicy = { gap: 'run_after', overlap: 'second' };
const both: DaylightSavingPolicy = { gap: 'run_after', overlap: 'both' };

describe('hazard 1: daylight-saving gap', () => {
  test('hazard 1: a fixed time inside the gap runs once, right after it', () => {
    expect(fires('30 2 * * *', 'Europe/Paris', '2026-03-28T12:00Z', 2)).toEqual([
      '2026-03-29T01:00Z',
      '2026-03-30T00:30Z',
    ]);
    expect(fires('30 2 * * *', 'America/New_York', '2026-03-07T12:00Z', 2)).toEqual([
      '2026-03-08T07:00Z',
      '2026-03-09T06:30Z',
    ]);
  });

  test('hazard 1: several times inside the gap, and one right at its end, run once together', () => {
    expect(fires('*/20 2 * * *', 'Europe/Paris', '2026-03-28T12:00Z', 2)).toEqual([
      '2026-03-29T01:00Z',
      '2026-03-30T00:00Z',
    ]);
    expect(fires('0 2,3 * * *', 'Europe/Paris', '2026-03-28T12:00Z', 2)).toEqual([
      '2026-03-29T01:00Z',
      '2026-03-30T00:00Z',
    ]);
  });

  test('hazard 1: with skip, a fixed time inside the gap does not run that day', () => {
    expect(fires('30 2 * * *', 'Europe/Paris', '2026-03-28T12:00Z', 1, skip)).toEqual(['2026-03-30T00:30Z']);
    expect(fires('0 2,3 * * *', 'Europe/Paris', '2026-03-28T12:00Z', 1, skip)).toEqual(['2026-03-29T01:00Z']);
  });

  test('hazard 1: midnight inside a gap still is one run on that day', () => {
    // Beirut goes forward at midnight: the day begins at 01:00.
    expect(fires('0 0 * * *', 'Asia/Beirut', '2026-03-27T23:00Z', 2)).toEqual([
      '2026-03-28T22:00Z',
      '2026-03-29T21:00Z',
    ]);
  });

  test('hazard 1: half an hour lost in Lord Howe', () => {
    // 2026-10-04 02:00 +10:30 becomes 02:30 +11.
    expect(fires('15 2 * * *', 'Australia/Lord_Howe', '2026-10-03T00:00Z', 2)).toEqual([
      '2026-10-03T15:30Z',
      '2026-10-04T15:15Z',
    ]);
    expect(fires('45 2 * * *', 'Australia/Lord_Howe', '2026-10-03T00:00Z', 1)).toEqual(['2026-10-03T15:45Z']);
  });

  test('hazard 1: a whole day lost in Apia runs once when the next day begins', () => {
    const before = '2011-12-29T20:00Z';
    expect(fires('0 9 * * *', 'Pacific/Apia', before, 3)).toEqual([
      '2011-12-30T10:00Z',
      '2011-12-30T19:00Z',
      '2011-12-31T19:00Z',
    ]);
    expect(fires('0 9 * * *', 'Pacific/Apia', before, 2, skip)).toEqual([
      '2011-12-30T19:00Z',
      '2011-12-31T19:00Z',
    ]);
    expect(fires('0 0 * * *', 'Pacific/Apia', before, 2)).toEqual(['2011-12-30T10:00Z', '2011-12-31T10:00Z']);
  });

  test('hazard 1: Casablanca goes forward at the end of Ramadan', () => {
    // 2026-03-22 02:00 +00 becomes 03:00 +01.
    expect(fires('30 2 * * *', 'Africa/Casablanca', '2026-03-21T12:00Z', 2)).toEqual([
      '2026-03-22T02:00Z',
      '2026-03-23T01:30Z',
    ]);
  });
});

describe('hazard 2: daylight-saving overlap', () => {
  test('hazard 2: a fixed time that exists twice runs in the first half, the second, or both', () => {
    const zone = 'Europe/Paris';
    const after = '2026-10-24T12:00Z';
    expect(fires('30 2 * * *', zone, after, 2)).toEqual(['2026-10-25T00:30Z', '2026-10-26T01:30Z']);
    expect(fires('30 2 * * *', zone, after, 2, second)).toEqual(['2026-10-25T01:30Z', '2026-10-26T01:30Z']);
    expect(fires('30 2 * * *', zone, after, 3, both)).toEqual([
      '2026-10-25T00:30Z',
      '2026-10-25T01:30Z',
      '2026-10-26T01:30Z',
    ]);
  });

  test('hazard 2: asked in the middle of the overlap, the first half does not run again', () => {
    expect(fires('30 2 * * *', 'Europe/Paris', '2026-10-25T01:00Z', 1)).toEqual(['2026-10-26T01:30Z']);
    expect(fires('30 2 * * *', 'Europe/Paris', '2026-10-25T00:30Z', 1)).toEqual(['2026-10-26T01:30Z']);
  });

  test('hazard 2: rhythms keep their rhythm through overlap and gap, whatever the policy', () => {
    for (const policy of [skip, second, both]) {
      for (const after of ['2026-10-24T22:00Z', '2026-03-28T22:00Z']) {
        const afterMs = at(after);
        for (const [expression, stepMs] of [
          ['*/10 * * * *', 600_000],
          ['0 * * * *', 3_600_000],
          ['30 * * * *', 3_600_000],
        ] as const) {
          const found = nextFires(cron(expression, 'Europe/Paris', { daylightSaving: policy }), afterMs, 40);
          const firstMs = found[0] ?? 0;
          expect(found).toEqual(found.map((_, index) => firstMs + index * stepMs));
        }
      }
    }
  });

  test('hazard 2: every two hours is a set of fixed times: each one once on the days of change', () => {
    expect(fires('0 */2 * * *', 'Europe/Paris', '2026-10-24T21:00Z', 4)).toEqual([
      '2026-10-24T22:00Z', // 00:00
      '2026-10-25T00:00Z', // 02:00, the first
      '2026-10-25T03:00Z', // 04:00
      '2026-10-25T05:00Z',
    ]);
    expect(fires('0 */2 * * *', 'Europe/Paris', '2026-03-28T22:00Z', 3)).toEqual([
      '2026-03-28T23:00Z', // 00:00
      '2026-03-29T01:00Z', // 02:00 does not exist: 03:00
      '2026-03-29T02:00Z', // 04:00
    ]);
  });

  test('hazard 2: Dublin, whose winter time is the exception by law, behaves like London', () => {
    for (const policy of [skip, second, both]) {
      for (const after of ['2026-03-28T12:00Z', '2026-10-24T12:00Z']) {
        expect(fires('30 1 * * *', 'Europe/Dublin', after, 4, policy)).toEqual(
          fires('30 1 * * *', 'Europe/London', after, 4, policy),
        );
      }
    }
  });
});

describe('hazard 3: next() advances', () => {
  test('hazard 3: fires are strictly increasing around offset changes of all zones, 1970 to 2100', () => {
    fc.assert(
      fc.property(
        anyTransition,
        anyCron,
        anyPolicy,
        fc.integer({ min: -2, max: 2 }),
        ({ zone, changeMs }, expression, daylightSaving, days) => {
          const afterMs = changeMs + days * DAY_MS;
          let lastMs = afterMs;
          try {
            for (const ms of nextFires(cron(expression, zone, { daylightSaving }), afterMs, 30)) {
              expect(ms).toBeGreaterThan(lastMs);
              lastMs = ms;
            }
          } catch (error) {
            if (!(error instanceof Refusal && error.code === 'cron_never_fires')) throw error;
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  test('hazard 3: calendar and exact intervals are strictly increasing too', () => {
    const anyInterval = fc.oneof(
      fc.record({
        kind: fc.constant('exact' as const),
        everyMs: fc.integer({ min: 1_000, max: 90_000_000 }),
      }),
      fc.record({
        kind: fc.constant('calendar' as const),
        unit: fc.constantFrom('day' as const, 'week' as const, 'month' as const),
        every: fc.integer({ min: 1, max: 14 }),
      }),
    );
    fc.assert(
      fc.property(
        anyTransition,
        anyInterval,
        anyPolicy,
        fc.integer({ min: 0, max: 200 }),
        ({ zone, changeMs }, interval, daylightSaving, hours) => {
          const anchorMs = Math.max(0, changeMs - hours * 1_800_000);
          const schedule = { ...every(interval, '2000-01-01T00:00Z', zone), anchorMs, daylightSaving };
          const found = nextFires(schedule, anchorMs - 1, 12);
          expect(found[0]).toBe(anchorMs);
          for (const [index, ms] of found.entries())
            if (index > 0) expect(ms).toBeGreaterThan(found[index - 1] ?? 0);
        },
      ),
      { numRuns: 200 },
    );
  });

  test('hazard 3: away from offset changes, cron-parser gives the same fires in all zones', () => {
    fc.assert(
      fc.property(
        anyZone,
        anyInstant,
        fc.constantFrom('*/10 * * * *', '0 9 * * 1-5', '30 2 * * *', '15 0,12 1,15 * *', '59 23 L * *'),
        (zone, afterMs, expression) => {
          // cron-parser 5 works in whole minutes of offset.
          fc.pre(afterMs > at('1973-01-01T00:00Z'));
          const segment = segmentAt(zone, afterMs);
          fc.pre(afterMs > segment.fromMs + 2 * DAY_MS);
          const theirs = CronExpressionParser.parse(expression, { currentDate: new Date(afterMs), tz: zone });
          for (const ms of nextFires(cron(expression, zone), afterMs, 3)) {
            if (ms > segment.toMs - 2 * DAY_MS) break;
            expect(theirs.next().getTime()).toBe(ms);
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  test('hazard 3: in every zone, a year of daily fires has one per local day', () => {
    for (const zone of ALL_ZONES.filter((_, index) => index % 8 === 3)) {
      const found = nextFires(cron('30 2 * * *', zone), at('2026-01-01T15:00Z'), 365);
      expect(found).toHaveLength(365);
      const localDays = found.map((ms) => Math.floor(toLocal(zone, ms) / DAY_MS));
      expect(localDays).toEqual(localDays.map((_, index) => (localDays[0] ?? 0) + index));
    }
  });

  test('hazard 3: an instant that is no number is a bug, not an endless loop', () => {
    expect(() => nextFire(cron('* * * * *'), Number.NaN)).toThrow('NaN');
    expect(nextFire(cron('* * * * *'), Number.POSITIVE_INFINITY)).toBeUndefined();
    expect(nextFire(cron('* * * * *'), Number.NEGATIVE_INFINITY)).toBe(0);
  });
});

describe('nextFires', () => {
  test('an immediate schedule has none, a future one its instant', () => {
    expect(nextFires({ type: 'IMMEDIATE' }, 0, 5)).toEqual([]);
    expect(nextFires({ type: 'FUTURE', atMs: 1_000 }, 999, 5)).toEqual([1_000]);
    expect(nextFires({ type: 'FUTURE', atMs: 1_000 }, 1_000, 5)).toEqual([]);
  });

  test('start and end are both inclusive, and nothing follows the end', () => {
    const bounds = { startMs: at('2026-01-01T10:00Z'), endMs: at('2026-01-01T12:00Z') };
    const expected = ['2026-01-01T10:00Z', '2026-01-01T11:00Z', '2026-01-01T12:00Z'];
    expect(iso(nextFires(cron('0 * * * *', 'UTC', bounds), 0, 9))).toEqual(expected);
    const hourly = every({ kind: 'exact', everyMs: 3_600_000 }, '2025-06-01T00:00Z', 'UTC', bounds);
    expect(iso(nextFires(hourly, 0, 9))).toEqual(expected);
  });

  test('never returns more than its bound', () => {
    expect(nextFires(cron('* * * * * *'), 0, 1e9)).toHaveLength(NEXT_FIRES_MAX);
    expect(nextFires(cron('* * * * *'), 0, 0)).toEqual([]);
  });

  test('an instant between two milliseconds or seconds leads to the next whole second', () => {
    expect(nextFire(cron('* * * * * *'), 1_000.5)).toBe(2_000);
    expect(nextFire(cron('* * * * * *'), 1_001)).toBe(2_000);
    expect(nextFire(cron('* * * * * *'), 1_999)).toBe(2_000);
  });

  test('a schedule with nothing ahead is refused when saved', () => {
    const ended = cron('0 * * * *', 'UTC', { endMs: 1_000 });
    expect(() => requireNextFire(ended, 5_000, { field: 'end_at' })).toThrow(Refusal);
    expect(() =>
      requireNextFire(cron('30 2 * 3 0L', 'Europe/Paris', { daylightSaving: skip }), at('2026-01-01T00:00Z')),
    ).toThrow('no occurrence');
    expect(requireNextFire(cron('0 * * * *'), 0)).toBe(3_600_000);
  });
});
