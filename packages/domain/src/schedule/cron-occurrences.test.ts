import fc from 'fast-check';
import { IANAZone } from 'luxon';
import { describe, expect, test } from 'vitest';
import { civilFromDays, DAY_MS, MAX_INSTANT_MS } from './civil-date.ts';
import { CronCalendar } from './cron-calendar.ts';
import { cronDaysOfMonth } from './cron-days.ts';
import { CronOccurrences } from './cron-occurrences.ts';
import type { CronRule } from './cron-rule.ts';
import { parseCron } from './parse-cron.ts';
import { type DaylightSavingPolicy, DEFAULT_DAYLIGHT_SAVING } from './schedule.ts';
import {
  anyInstant,
  anyPolicy,
  anyTransition,
  anyZone,
  at,
  iso,
  offsetsRead,
} from './schedule-arbitraries.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

function between(occurrences: CronOccurrences, fromMs: number, toMs: number): number[] {
  const found: number[] = [];
  let ms = occurrences.next(fromMs - 1);
  while (ms !== undefined && ms <= toMs) {
    found.push(ms);
    ms = occurrences.next(ms);
  }
  return found;
}

function backBetween(occurrences: CronOccurrences, fromMs: number, toMs: number): number[] {
  const found: number[] = [];
  let ms = occurrences.previous(toMs, fromMs);
  while (ms !== undefined) {
    found.unshift(ms);
    ms = occurrences.previous(ms - 1, fromMs);
  }
  return found;
}

/** The documented rule, spelled out minute by minute with the offsets of luxon: slow, and nothing like the code. */
function spelledOut(
  rule: CronRule,
  options: { zone: string; policy: DaylightSavingPolicy; fromMs: number; toMs: number },
): number[] {
  const { zone, policy, fromMs, toMs } = options;
  const luxon = IANAZone.create(zone);
  const calendar = new CronCalendar(rule);
  const admits = (localMs: number) => calendar.next(localMs) === localMs;
  const shown = new Map<number, number[]>();
  const afterGaps: { fromLocalMs: number; toLocalMs: number; instantMs: number }[] = [];
  let lastLocalMs: number | undefined;
  for (let ms = fromMs; ms <= toMs; ms += MINUTE_MS) {
    const localMs = ms + luxon.offset(ms) * MINUTE_MS;
    shown.set(localMs, [...(shown.get(localMs) ?? []), ms]);
    if (lastLocalMs !== undefined && localMs > lastLocalMs + MINUTE_MS) {
      afterGaps.push({ fromLocalMs: lastLocalMs + MINUTE_MS, toLocalMs: localMs, instantMs: ms });
    }
    lastLocalMs = localMs;
  }
  const fires = new Set<number>();
  for (const [localMs, instants] of shown) {
    if (!admits(localMs)) continue;
    const kept =
      rule.isRhythm || policy.overlap === 'both'
        ? instants
        : [instants.at(policy.overlap === 'first' ? 0 : -1)];
    for (const ms of kept) if (ms !== undefined) fires.add(ms);
  }
  for (const { fromLocalMs, toLocalMs, instantMs } of afterGaps) {
    if (rule.isRhythm || policy.gap === 'skip') continue;
    for (let localMs = fromLocalMs; localMs < toLocalMs; localMs += MINUTE_MS) {
      if (admits(localMs)) fires.add(instantMs);
    }
  }
  return [...fires].sort((a, b) => a - b);
}

const timesOfDay = fc.constantFrom(
  '30 2 * * *',
  '*/10 * * * *',
  '0 * * * *',
  '0 */2 * * *',
  '*/7 1-3 * * *',
  '0 0 * * *',
  '15,45 0,23 * * *',
  '0 2,3 * * *',
  '59 1 * * 0',
  '0 9 * * 5',
  '*/30 * * * 1-5',
  '0 3 L * *',
);

describe('cron in a zone', () => {
  test('hazards 1 and 2: follows its rule minute by minute around offset changes of all zones, 1970 to 2100', () => {
    fc.assert(
      fc.property(anyTransition, timesOfDay, anyPolicy, ({ zone, changeMs }, expression, policy) => {
        const fromMs = Math.max(0, changeMs - 30 * HOUR_MS);
        const toMs = changeMs + 30 * HOUR_MS;
        // Monrovia was 44.5 minutes behind until 1972: the steps of this oracle are whole minutes.
        fc.pre(Number.isInteger(IANAZone.create(zone).offset(fromMs)) && changeMs % MINUTE_MS === 0);
        const rule = parseCron(expression);
        const occurrences = new CronOccurrences(new CronCalendar(rule), zone, policy);
        const expected = spelledOut(rule, { zone, policy, fromMs, toMs });
        expect(iso(between(occurrences, fromMs, toMs))).toEqual(iso(expected));
        expect(iso(backBetween(occurrences, fromMs, toMs))).toEqual(iso(expected));
        expect(occurrences.count(fromMs, toMs)).toEqual({ count: expected.length, exact: true });
      }),
      { numRuns: 80 },
    );
  });

  test('looks back and counts over years exactly what it finds forwards', () => {
    fc.assert(
      fc.property(anyZone, anyInstant, timesOfDay, anyPolicy, (zone, fromMs, expression, policy) => {
        const occurrences = new CronOccurrences(new CronCalendar(parseCron(expression)), zone, policy);
        const toMs = fromMs + 400 * 24 * HOUR_MS;
        fc.pre(occurrences.count(fromMs, toMs).count < 2_000);
        const found = between(occurrences, fromMs, toMs);
        expect(backBetween(occurrences, fromMs, toMs)).toEqual(found);
        expect(occurrences.count(fromMs, toMs).count).toBe(found.length);
      }),
      { numRuns: 40 },
    );
  });

  test('the first and last hours of the known time are found in zones that are in another year there', () => {
    const west = new CronOccurrences(
      new CronCalendar(parseCron('15 23 * * *')),
      'America/New_York',
      DEFAULT_DAYLIGHT_SAVING,
    );
    const first = at('1970-01-01T04:15Z');
    expect(west.next(0)).toBe(first);
    expect(west.previous(first, 0)).toBe(first);
    const east = new CronOccurrences(
      new CronCalendar(parseCron('15 0 1 1 *')),
      'Asia/Tokyo',
      DEFAULT_DAYLIGHT_SAVING,
    );
    const last = at('2100-12-31T15:15Z');
    expect(east.next(last - 1)).toBe(last);
    expect(east.next(last)).toBeUndefined();
    expect(east.previous(Number.POSITIVE_INFINITY, 0)).toBe(last);
  });

  test('hazard 1: asked right before the gap ends, the run after it is still ahead; asked then, it is past', () => {
    const occurrences = new CronOccurrences(
      new CronCalendar(parseCron('30 2 * * *')),
      'Europe/Paris',
      DEFAULT_DAYLIGHT_SAVING,
    );
    const afterGap = at('2026-03-29T01:00Z');
    expect(occurrences.next(afterGap - 1)).toBe(afterGap);
    expect(occurrences.next(afterGap)).toBe(at('2026-03-30T00:30Z'));
    expect(occurrences.previous(afterGap, 0)).toBe(afterGap);
    expect(occurrences.previous(afterGap - 1, 0)).toBe(at('2026-03-28T01:30Z'));
  });

  test('a rare date is found across decades, in either direction', () => {
    const occurrences = new CronOccurrences(
      new CronCalendar(parseCron('30 2 29 2 *')),
      'Europe/Paris',
      DEFAULT_DAYLIGHT_SAVING,
    );
    expect(occurrences.next(at('2025-01-01T00:00Z'))).toBe(at('2028-02-29T01:30Z'));
    expect(occurrences.previous(at('2027-12-31T00:00Z'), 0)).toBe(at('2024-02-29T01:30Z'));
    expect(occurrences.previous(at('2027-12-31T00:00Z'), at('2025-01-01T00:00Z'))).toBeUndefined();
    expect(occurrences.next(at('2096-03-01T00:00Z'))).toBeUndefined();
    expect(occurrences.count(0, at('2100-12-31T00:00Z')).count).toBe(32);
  });

  test('a yearly time inside an overlap fires in both halves when asked, though the next lies a year ahead', () => {
    const occurrences = new CronOccurrences(new CronCalendar(parseCron('30 2 25 10 *')), 'Europe/Paris', {
      gap: 'skip',
      overlap: 'both',
    });
    const first = at('2026-10-25T00:30Z');
    expect(occurrences.next(first - 1)).toBe(first);
    expect(occurrences.next(first)).toBe(at('2026-10-25T01:30Z'));
    expect(occurrences.previous(at('2026-10-25T01:29Z'), 0)).toBe(first);
  });

  test('an expression that only names skipped times ends instead of hanging', () => {
    const rule = parseCron('30 2 * 3 0L');
    const skipping = new CronOccurrences(new CronCalendar(rule), 'Europe/Paris', {
      gap: 'skip',
      overlap: 'first',
    });
    expect(skipping.next(at('2026-01-01T00:00Z'))).toBeUndefined();
    const running = new CronOccurrences(new CronCalendar(rule), 'Europe/Paris', DEFAULT_DAYLIGHT_SAVING);
    expect(running.next(at('2026-01-01T00:00Z'))).toBe(at('2026-03-29T01:00Z'));
  });
});

/** One time of day, on dates that few years have; some lie where clocks change, or on the day that Apia left out. */
const rareTimes = fc.constantFrom(
  '30 2 29 2 *',
  '30 2 * 2 5#5',
  '15 0 31 3 *',
  '30 2 * 3 0L',
  '30 1 * 10 0L',
  '30 2 * 3 0#2',
  '30 1 * 11 0#1',
  '15 0 * 9 0#1',
  '0 0 30 12 *',
  '45 23 1 1 *',
);

/** Date by date through all known time, with the offsets of luxon hour by hour around each. */
function dateByDate(rule: CronRule, zone: string, policy: DaylightSavingPolicy): number[] {
  const luxon = IANAZone.create(zone);
  const local = (ms: number) => ms + luxon.offset(ms) * MINUTE_MS;
  const hours = Array.from({ length: 57 }, (_, index) => (index - 28) * HOUR_MS);
  const fires = new Set<number>();
  for (let day = -1; day <= at('2101-01-01T00:00Z') / DAY_MS; day += 1) {
    const { year, month, day: dayOfMonth } = civilFromDays(day);
    if (((cronDaysOfMonth(rule, year, month) >>> (dayOfMonth - 1)) & 1) === 0) continue;
    const localMs = day * DAY_MS + rule.hours[0]! * HOUR_MS + rule.minutes[0]! * MINUTE_MS;
    const offsets = new Set(hours.map((hour) => luxon.offset(localMs + hour) * MINUTE_MS));
    const instants = [...offsets].map((offset) => localMs - offset).filter((ms) => local(ms) === localMs);
    instants.sort((a, b) => a - b);
    if (instants.length === 0 && policy.gap === 'run_after') {
      let [before, after] = [localMs - 28 * HOUR_MS, localMs + 28 * HOUR_MS];
      while (after - before > 1_000) {
        const middle = Math.floor((before + after) / 2_000) * 1_000;
        if (local(middle) > localMs) after = middle;
        else before = middle;
      }
      instants.push(after);
    }
    const kept =
      policy.overlap === 'both' ? instants : instants.slice(...(policy.overlap === 'first' ? [0, 1] : [-1]));
    for (const ms of kept) if (ms >= 0 && ms <= MAX_INSTANT_MS) fires.add(ms);
  }
  return [...fires].sort((a, b) => a - b);
}

describe('rare cron times', () => {
  test('hazard 2: an overlap right after the edge of what is looked up at once counts once', () => {
    const rule = parseCron('30 1 * 10 0L');
    const fires = (overlap: 'first' | 'second') => {
      const occurrences = new CronOccurrences(new CronCalendar(rule), 'Antarctica/Troll', {
        gap: 'run_after',
        overlap,
      });
      const after = Date.parse('2018-10-01T00:00Z');
      const first = occurrences.next(after)!;
      return [first, occurrences.next(first)!].map((ms) => new Date(ms).toISOString().slice(0, 16));
    };
    expect(fires('second')).toEqual(['2018-10-28T01:30', '2019-10-27T01:30']);
    expect(fires('first')).toEqual(['2018-10-27T23:30', '2019-10-26T23:30']);
  });

  test('are those of the calendar date by date, from 1970 to 2100 and back, in all zones', () => {
    fc.assert(
      fc.property(rareTimes, anyZone, anyPolicy, (expression, zone, policy) => {
        const rule = parseCron(expression);
        const occurrences = new CronOccurrences(new CronCalendar(rule), zone, policy);
        const expected = dateByDate(rule, zone, policy);
        expect(iso(between(occurrences, 0, MAX_INSTANT_MS))).toEqual(iso(expected));
        expect(iso(backBetween(occurrences, 0, MAX_INSTANT_MS))).toEqual(iso(expected));
      }),
      { numRuns: 60 },
    );
  });

  test('are found by asking for the offsets of four buckets at most', () => {
    // 10 questions for a bucket, and 20 for each of the two changes that it may hold.
    const readsMax = 4 * (10 + 2 * 20);
    fc.assert(
      fc.property(rareTimes, anyZone, anyInstant, (expression, zone, instantMs) => {
        const occurrences = new CronOccurrences(
          new CronCalendar(parseCron(expression)),
          zone,
          DEFAULT_DAYLIGHT_SAVING,
        );
        const forwards = () => void occurrences.next(instantMs);
        const backwards = () => void occurrences.previous(instantMs, 0);
        expect(offsetsRead(forwards)).toBeLessThanOrEqual(readsMax);
        expect(offsetsRead(backwards)).toBeLessThanOrEqual(readsMax);
      }),
      { numRuns: 200 },
    );
  });

  test('that are all skipped cost as much for each year, and nothing when asked again', () => {
    const occurrences = new CronOccurrences(new CronCalendar(parseCron('30 2 * 3 0L')), 'Europe/Vaduz', {
      gap: 'skip',
      overlap: 'first',
    });
    const search = () => expect(occurrences.next(at('2026-11-15T00:00Z'))).toBeUndefined();
    expect(offsetsRead(search)).toBeLessThanOrEqual(75 * (2 * 10 + 20));
    expect(offsetsRead(search)).toBe(0);
  });
});
