import { CronExpressionParser } from 'cron-parser';
import { Cron } from 'croner';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Refusal } from '../errors/refusal.ts';
import { MAX_INSTANT_MS } from './civil-date.ts';
import { CronCalendar } from './cron-calendar.ts';
import type { CronRule } from './cron-rule.ts';
import { parseCron } from './parse-cron.ts';
import { anyCron, anyInstant, at, countingRule } from './schedule-arbitraries.ts';

function ruleOf(expression: string): CronRule {
  try {
    return parseCron(expression);
  } catch (error) {
    if (error instanceof Refusal && error.code === 'cron_never_fires') fc.pre(false);
    throw error;
  }
}

function nextTimes(calendar: CronCalendar, afterMs: number, n: number): number[] {
  const found: number[] = [];
  for (
    let ms = calendar.next(afterMs + 1);
    found.length < n && ms <= MAX_INSTANT_MS;
    ms = calendar.next(ms + 1)
  ) {
    found.push(ms);
  }
  return found;
}

/** croner 11.0 misses 1 March from within February when it looks for a 29th, 30th or 31st, or for weekdays as well (see below). */
function missesFirstOfMarch({ monthDays, weekdays }: CronRule): boolean {
  if (monthDays.any) return false;
  const { days, nearestWeekdayTo } = monthDays;
  return days.some((day) => day > 28) || (!weekdays.any && [...days, ...nearestWeekdayTo].includes(1));
}

describe('the cron calendar', () => {
  test('agrees with croner in UTC', () => {
    fc.assert(
      fc.property(anyCron, anyInstant, (expression, afterMs) => {
        const rule = ruleOf(expression);
        fc.pre(!missesFirstOfMarch(rule));
        const calendar = new CronCalendar(rule);
        const theirs = new Cron(expression, { timezone: 'UTC' }).nextRuns(4, new Date(afterMs));
        expect(nextTimes(calendar, afterMs, 4)).toEqual(
          theirs.map((date) => date.getTime()).filter((ms) => ms <= MAX_INSTANT_MS),
        );
      }),
      { numRuns: 200 },
    );
  });

  test('hazard 6: "the 1st and the 31st" asked in February includes 1 March', () => {
    for (const days of ['1,31', '1,30', '*/10']) {
      const calendar = new CronCalendar(parseCron(`0 0 ${days} * *`));
      expect(calendar.next(at('2035-02-25T12:00Z'))).toBe(at('2035-03-01T00:00Z'));
    }
  });

  test('hazard 6: "the 1st and Sundays" asked in February includes 1 March', () => {
    const calendar = new CronCalendar(parseCron('0 0 */11 * 0'));
    expect(calendar.next(at('1975-02-24T00:00Z'))).toBe(at('1975-03-01T00:00Z'));
  });

  test('agrees with cron-parser in UTC, where that knows the syntax', () => {
    fc.assert(
      fc.property(anyCron, anyInstant, (expression, afterMs) => {
        // cron-parser has no W, refuses FRI-SUN, and combines two day fields by another rule (hazard 5).
        const [, , monthDay, , weekday] = expression.split(' ');
        fc.pre(!/W|FRI-SUN/.test(expression) && (monthDay === '*' || weekday === '*'));
        const calendar = new CronCalendar(ruleOf(expression));
        const theirs = CronExpressionParser.parse(expression, { currentDate: new Date(afterMs), tz: 'UTC' });
        const limitMs = at('2099-01-01T00:00Z');
        for (const ms of nextTimes(calendar, afterMs, 3)) {
          if (ms < limitMs) expect(theirs.next().getTime()).toBe(ms);
        }
      }),
      { numRuns: 150 },
    );
  });

  test('finds backwards and counts exactly what it finds forwards', () => {
    fc.assert(
      fc.property(anyCron, anyInstant, fc.integer({ min: 0, max: 59 }), (expression, afterMs, skew) => {
        const calendar = new CronCalendar(ruleOf(expression));
        const times = nextTimes(calendar, afterMs, 60);
        const fromMs = afterMs + 1;
        for (const [index, ms] of times.entries()) {
          expect(calendar.previous(ms)).toBe(ms);
          expect(calendar.count(fromMs, ms)).toBe(index);
          expect(calendar.count(fromMs, ms + 1)).toBe(index + 1);
          const previousMs = times[index - 1];
          if (previousMs !== undefined) expect(calendar.previous(ms - 1 - skew)).toBe(previousMs);
        }
      }),
      { numRuns: 100 },
    );
  });

  test('counts a year of seconds by arithmetic', () => {
    const calendar = new CronCalendar(parseCron('* * * * * *'));
    expect(calendar.count(at('2028-01-01T00:00Z'), at('2029-01-01T00:00Z'))).toBe(366 * 86_400);
    expect(calendar.count(at('2028-01-01T00:00Z'), at('2028-01-01T00:00Z'))).toBe(0);
  });

  test('ends at the last year instead of searching on', () => {
    const calendar = new CronCalendar(parseCron('0 0 29 2 *'));
    expect(calendar.next(at('2096-03-01T00:00Z'))).toBe(Number.POSITIVE_INFINITY);
    expect(calendar.previous(at('1972-01-01T00:00Z'))).toBe(Number.NEGATIVE_INFINITY);
  });

  test('looks at 29 years at most, and only at the months of the rule', () => {
    const anyRare = fc.constantFrom(
      '0 0 * 2 5#5',
      '0 0 29 2 *',
      '0 0 * 2 1#5',
      '0 0 31 12 *',
      '0 0 L-30 * *',
    );
    fc.assert(
      fc.property(anyRare, anyInstant, (expression, instantMs) => {
        const { rule, monthsLookedAt } = countingRule(parseCron(expression));
        const { length: monthsPerYear } = rule.months;
        new CronCalendar(rule).next(instantMs);
        expect(monthsLookedAt()).toBeLessThanOrEqual(29 * monthsPerYear + 1);
        const before = monthsLookedAt();
        new CronCalendar(rule).previous(instantMs);
        expect(monthsLookedAt() - before).toBeLessThanOrEqual(29 * monthsPerYear + 1);
      }),
      { numRuns: 300 },
    );
  });
});
