import fc from 'fast-check';
import { DateTime } from 'luxon';
import { describe, expect, test } from 'vitest';
import { CalendarOccurrences } from './calendar-occurrences.ts';
import { nextFire, nextFires } from './next-fires.ts';
import type { Interval } from './schedule.ts';
import { DEFAULT_DAYLIGHT_SAVING } from './schedule.ts';
import { anyInstant, anyPolicy, anyZone, at, every, iso } from './schedule-arbitraries.ts';

const daily: Interval = { kind: 'calendar', unit: 'day', every: 1 };
const weekly: Interval = { kind: 'calendar', unit: 'week', every: 1 };
const monthly: Interval = { kind: 'calendar', unit: 'month', every: 1 };
const DAY_MS = 86_400_000;

describe('calendar intervals', () => {
  test('hazard 4: every day keeps the wall-clock time when the offset changes', () => {
    const schedule = every(daily, '2026-03-27T08:00Z', 'Europe/Paris'); // 09:00 there
    expect(iso(nextFires(schedule, at('2026-03-27T12:00Z'), 3))).toEqual([
      '2026-03-28T08:00Z',
      '2026-03-29T07:00Z',
      '2026-03-30T07:00Z',
    ]);
    const autumn = at('2026-10-24T12:00Z');
    expect(iso(nextFires(schedule, autumn, 2))).toEqual(['2026-10-25T08:00Z', '2026-10-26T08:00Z']);
  });

  test('hazard 4: an exact 24 hours does not, because it was asked to count hours', () => {
    const schedule = every({ kind: 'exact', everyMs: DAY_MS }, '2026-03-27T08:00Z', 'Europe/Paris');
    expect(iso(nextFires(schedule, at('2026-03-27T12:00Z'), 2))).toEqual([
      '2026-03-28T08:00Z',
      '2026-03-29T08:00Z',
    ]);
  });

  test('hazard 4: a daily time inside a gap or an overlap follows the policy, and the day after is on time again', () => {
    const schedule = every(daily, '2026-03-27T01:30Z', 'Europe/Paris'); // 02:30 there
    expect(iso(nextFires(schedule, at('2026-03-28T12:00Z'), 2))).toEqual([
      '2026-03-29T01:00Z',
      '2026-03-30T00:30Z',
    ]);
    const both = { ...schedule, daylightSaving: { gap: 'skip', overlap: 'both' } } as const;
    expect(iso(nextFires(both, at('2026-03-28T12:00Z'), 1))).toEqual(['2026-03-30T00:30Z']);
    expect(iso(nextFires(both, at('2026-10-24T12:00Z'), 3))).toEqual([
      '2026-10-25T00:30Z',
      '2026-10-25T01:30Z',
      '2026-10-26T01:30Z',
    ]);
  });

  test('hazard 4: an anchor in the second half of an overlap is where the rhythm begins', () => {
    const schedule = every(daily, '2026-10-25T01:30Z', 'Europe/Paris');
    expect(iso(nextFires(schedule, 0, 2))).toEqual(['2026-10-25T01:30Z', '2026-10-26T01:30Z']);
  });

  test('hazard 6: the 31st is the last day of shorter months, without drifting', () => {
    const schedule = every(monthly, '2026-01-31T09:00Z');
    expect(iso(nextFires(schedule, 0, 5))).toEqual([
      '2026-01-31T09:00Z',
      '2026-02-28T09:00Z',
      '2026-03-31T09:00Z',
      '2026-04-30T09:00Z',
      '2026-05-31T09:00Z',
    ]);
    expect(nextFire(schedule, at('2028-02-01T00:00Z'))).toBe(at('2028-02-29T09:00Z'));
    const yearly = every({ kind: 'calendar', unit: 'month', every: 12 }, '2024-02-29T00:00Z');
    expect(iso(nextFires(yearly, at('2024-03-01T00:00Z'), 4)).at(-1)).toBe('2028-02-29T00:00Z');
  });

  test('every week stays on its weekday, across the lost day of Apia too', () => {
    const schedule = every(weekly, '2011-12-16T19:00Z', 'Pacific/Apia'); // Friday 09:00
    expect(iso(nextFires(schedule, at('2011-12-17T00:00Z'), 3))).toEqual([
      '2011-12-23T19:00Z',
      '2011-12-30T10:00Z',
      '2012-01-05T19:00Z',
    ]);
    const midnight = every(daily, '2011-12-20T10:00Z', 'Pacific/Apia');
    expect(iso(nextFires(midnight, at('2011-12-29T10:00Z'), 2))).toEqual([
      '2011-12-30T10:00Z',
      '2011-12-31T10:00Z',
    ]);
  });

  test('agree with the calendar arithmetic of luxon, away from gaps and overlaps', () => {
    const units = { day: 'days', week: 'weeks', month: 'months' } as const;
    fc.assert(
      fc.property(
        anyZone,
        anyInstant,
        fc.constantFrom('day' as const, 'week' as const, 'month' as const),
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 20 }),
        (zone, anchorMs, unit, step, index) => {
          const theirs = DateTime.fromMillis(anchorMs, { zone }).plus({ [units[unit]]: step * index });
          fc.pre(
            theirs.year < 2100 && Number.isInteger(theirs.offset) && theirs.getPossibleOffsets().length === 1,
          );
          fc.pre(
            theirs.toFormat('HH:mm:ss') === DateTime.fromMillis(anchorMs, { zone }).toFormat('HH:mm:ss'),
          );
          const rule = {
            interval: { kind: 'calendar', unit, every: step },
            anchorMs,
            zone,
            daylightSaving: DEFAULT_DAYLIGHT_SAVING,
          } as const;
          const occurrences = new CalendarOccurrences(rule);
          const nominalMs = theirs.toMillis();
          expect(occurrences.next(nominalMs - 1)).toBe(nominalMs);
          expect(occurrences.previous(nominalMs, 0)).toBe(nominalMs);
        },
      ),
      { numRuns: 200 },
    );
  });

  test('look back and count exactly what they find forwards', () => {
    fc.assert(
      fc.property(
        anyZone,
        anyInstant,
        anyPolicy,
        fc.constantFrom(daily, weekly, monthly),
        (zone, anchorMs, daylightSaving, interval) => {
          if (interval.kind !== 'calendar') return;
          const occurrences = new CalendarOccurrences({ interval, anchorMs, zone, daylightSaving });
          const toMs = anchorMs + 380 * DAY_MS;
          const found: number[] = [];
          for (
            let ms = occurrences.next(anchorMs - 1);
            ms !== undefined && ms <= toMs;
            ms = occurrences.next(ms)
          )
            found.push(ms);
          const back: number[] = [];
          for (
            let ms = occurrences.previous(toMs, anchorMs);
            ms !== undefined;
            ms = occurrences.previous(ms - 1, anchorMs)
          )
            back.unshift(ms);
          expect(back).toEqual(found);
          expect(occurrences.count(anchorMs, toMs)).toEqual({ count: found.length, exact: true });
        },
      ),
      { numRuns: 40 },
    );
  });

  test('end at 2100, and estimate counts beyond 10,000', () => {
    const occurrences = new CalendarOccurrences({
      interval: { kind: 'calendar', unit: 'day', every: 1 },
      anchorMs: 0,
      zone: 'UTC',
      daylightSaving: DEFAULT_DAYLIGHT_SAVING,
    });
    expect(occurrences.next(at('2100-12-31T00:00Z'))).toBeUndefined();
    expect(occurrences.count(0, at('2100-01-01T00:00Z'))).toEqual({ count: 47_483, exact: false });
    expect(occurrences.previous(-1, -1e12)).toBeUndefined();
  });
});
