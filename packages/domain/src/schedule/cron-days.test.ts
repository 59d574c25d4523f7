import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Refusal } from '../errors/refusal.ts';
import { cronDaysOfMonth, hasCronDays } from './cron-days.ts';
import type { CronRule } from './cron-rule.ts';
import { parseCron } from './parse-cron.ts';
import { anyCron, countingRule } from './schedule-arbitraries.ts';

function daysOf(rule: CronRule, year: number, month: number): number[] {
  const bits = cronDaysOfMonth(rule, year, month);
  return Array.from({ length: 31 }, (_, index) => index + 1).filter((day) => (bits >>> (day - 1)) & 1);
}

const days = (expression: string, year: number, month: number) => daysOf(parseCron(expression), year, month);

/** The rule in the words of the documentation, asked about one date at a time. */
function spelledOut(rule: CronRule, date: Date): boolean {
  const day = date.getUTCDate();
  const weekday = date.getUTCDay();
  const length = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  const isWorking = (other: number) => ![0, 6].includes((((weekday + other - day) % 7) + 7) % 7);
  const nearest = (target: number) => {
    const distance = (other: number) => Math.abs(other - target);
    const working = Array.from({ length }, (_, index) => index + 1).filter(isWorking);
    return working.sort((a, b) => distance(a) - distance(b))[0];
  };
  const byDate =
    rule.monthDays.days.includes(day) ||
    rule.monthDays.nearestWeekdayTo.some((target) => target <= length && nearest(target) === day) ||
    rule.monthDays.daysBeforeLast.includes(length - day) ||
    (rule.monthDays.lastWeekday && nearest(length) === day);
  const byWeekday =
    rule.weekdays.days.includes(weekday) ||
    rule.weekdays.nth.some((item) => item.weekday === weekday && item.nth === Math.ceil(day / 7)) ||
    rule.weekdays.last.some((last) => last === weekday && day + 7 > length);
  if (!rule.months.includes(date.getUTCMonth() + 1)) return false;
  if (rule.monthDays.any) return rule.weekdays.any || byWeekday;
  return rule.weekdays.any ? byDate : byDate || byWeekday;
}

describe('the days of a cron rule', () => {
  test('hazards 5 and 6: are those of the rule asked date by date', () => {
    fc.assert(
      fc.property(
        anyCron,
        fc.integer({ min: 1970, max: 2100 }),
        fc.integer({ min: 1, max: 12 }),
        (expression, year, month) => {
          let rule: CronRule;
          try {
            rule = parseCron(expression);
          } catch (error) {
            expect(error).toBeInstanceOf(Refusal);
            return;
          }
          const length = new Date(Date.UTC(year, month, 0)).getUTCDate();
          const dates = Array.from({ length }, (_, index) => new Date(Date.UTC(year, month - 1, index + 1)));
          const expected = dates.filter((date) => spelledOut(rule, date)).map((date) => date.getUTCDate());
          expect(daysOf(rule, year, month)).toEqual(expected);
        },
      ),
      { numRuns: 500 },
    );
  });

  test('hazard 6: the nearest working day never leaves the month', () => {
    expect(days('0 0 1W * *', 2026, 8)).toEqual([3]); // the 1st is a Saturday
    expect(days('0 0 31W * *', 2026, 5)).toEqual([29]); // the 31st is a Sunday
    expect(days('0 0 31W * *', 2026, 6)).toEqual([]); // June has no 31st
    expect(days('0 0 LW * *', 2026, 2)).toEqual([27]);
    expect(days('0 0 L-3 * *', 2026, 2)).toEqual([25]);
  });

  test('hazard 6: counted and last weekdays', () => {
    expect(days('0 0 * * 1#1,1#5', 2026, 3)).toEqual([2, 30]);
    expect(days('0 0 * * 1#5', 2026, 2)).toEqual([]);
    expect(days('0 0 * * 5L', 2026, 1)).toEqual([30]);
    expect(days('0 0 * * SUN#L', 2026, 5)).toEqual([31]);
  });
});

/** Rules of dates only, many of them without any: the 30th of February, a fifth Monday of a February without a 29th. */
const anyDates: fc.Arbitrary<CronRule> = fc
  .record({
    months: fc.uniqueArray(fc.constantFrom(1, 2, 2, 2, 4, 6, 12), { minLength: 1, maxLength: 2 }),
    days: fc.uniqueArray(fc.constantFrom(1, 28, 29, 30, 31), { maxLength: 2 }),
    nearestWeekdayTo: fc.uniqueArray(fc.constantFrom(1, 29, 30, 31), { maxLength: 1 }),
    daysBeforeLast: fc.uniqueArray(fc.integer({ min: 27, max: 30 }), { maxLength: 1 }),
    nth: fc.array(fc.record({ weekday: fc.integer({ min: 0, max: 6 }), nth: fc.constant(5) }), {
      maxLength: 1,
    }),
  })
  .map(({ months, days, nearestWeekdayTo, daysBeforeLast, nth }) => ({
    ...parseCron('0 0 * * *'),
    months,
    monthDays: { any: false, days, nearestWeekdayTo, daysBeforeLast, lastWeekday: false },
    weekdays: { any: nth.length === 0, days: [], nth, last: [] },
  }));

describe('whether a cron rule has any days', () => {
  test('is what a walk through all months from 1970 to 2100 finds', () => {
    const years = Array.from({ length: 131 }, (_, index) => 1970 + index);
    const walk = (rule: CronRule) =>
      years.some((year) => rule.months.some((month) => cronDaysOfMonth(rule, year, month) !== 0));
    fc.assert(
      fc.property(anyDates, (rule) => hasCronDays(rule) === walk(rule)),
      { numRuns: 500 },
    );
  });

  test('is known after 91 months at most', () => {
    const none = { any: false, days: [], nearestWeekdayTo: [], daysBeforeLast: [], lastWeekday: false };
    const { rule, monthsLookedAt } = countingRule({ ...parseCron('0 0 1 * *'), monthDays: none });
    expect(hasCronDays(rule)).toBe(false);
    expect(monthsLookedAt()).toBe(91);
  });
});
