/**
 * Which days of one month a cron rule admits, as a set of bits (bit 0 is the 1st).
 *
 * The one rule for both day fields: when day-of-month and day-of-week are both written (neither is `*` nor `?`), a day
 * that matches EITHER is admitted, as in Vixie cron: "0 9 13 * 5" fires on every 13th and on every Friday.
 */
import { daysFromCivil, daysInMonth, MIN_YEAR, weekdayOfDays } from './civil-date.ts';
import type { CronRule, MonthDayRule, WeekdayRule } from './cron-rule.ts';

const WEEKDAYS = [0, 1, 2, 3, 4, 5, 6];

interface Month {
  readonly length: number;
  /** Weekday of the 1st, 0 is Sunday. */
  readonly firstWeekday: number;
}

export function cronDaysOfMonth(rule: CronRule, year: number, month: number): number {
  if (!rule.months.includes(month)) return 0;
  return daysOf(rule, {
    length: daysInMonth(year, month),
    firstWeekday: weekdayOfDays(daysFromCivil(year, month, 1)),
  });
}

/**
 * Whether any year has a day for the rule. No calendar is walked for it: a month begins on one of seven weekdays, and
 * only February has two lengths, so there are 91 months to look at. All of them occur within any 28 years up to 2099.
 */
export function hasCronDays(rule: CronRule): boolean {
  return rule.months.some((month) => {
    const lengths = month === 2 ? [28, 29] : [daysInMonth(MIN_YEAR, month)];
    return lengths.some((length) =>
      WEEKDAYS.some((firstWeekday) => daysOf(rule, { length, firstWeekday }) !== 0),
    );
  });
}

function daysOf({ monthDays, weekdays }: CronRule, month: Month): number {
  if (monthDays.any && weekdays.any) return everyDay(month);
  if (monthDays.any) return daysByWeekday(weekdays, month);
  if (weekdays.any) return daysByDate(monthDays, month);
  return daysByDate(monthDays, month) | daysByWeekday(weekdays, month);
}

function everyDay(month: Month): number {
  return month.length === 31 ? 0x7fff_ffff : (1 << month.length) - 1;
}

function daysByDate(rule: MonthDayRule, month: Month): number {
  let bits = 0;
  for (const day of rule.days) bits |= dayBit(day, month);
  for (const day of rule.nearestWeekdayTo) {
    if (day <= month.length) bits |= dayBit(nearestWorkingDay(day, month), month);
  }
  for (const before of rule.daysBeforeLast) bits |= dayBit(month.length - before, month);
  if (rule.lastWeekday) bits |= dayBit(nearestWorkingDay(month.length, month), month);
  return bits;
}

function daysByWeekday(rule: WeekdayRule, month: Month): number {
  let bits = 0;
  for (const weekday of rule.days) {
    for (let day = firstDayOn(weekday, month); day <= month.length; day += 7) bits |= dayBit(day, month);
  }
  for (const { weekday, nth } of rule.nth) bits |= dayBit(firstDayOn(weekday, month) + 7 * (nth - 1), month);
  for (const weekday of rule.last) {
    const first = firstDayOn(weekday, month);
    bits |= dayBit(first + 7 * Math.floor((month.length - first) / 7), month);
  }
  return bits;
}

function firstDayOn(weekday: number, month: Month): number {
  return 1 + ((weekday - month.firstWeekday + 7) % 7);
}

/** Saturday moves back to Friday and Sunday on to Monday, unless that leaves the month. */
function nearestWorkingDay(day: number, month: Month): number {
  const weekday = (month.firstWeekday + day - 1) % 7;
  if (weekday === 6) return day > 1 ? day - 1 : day + 2;
  if (weekday === 0) return day < month.length ? day + 1 : day - 2;
  return day;
}

function dayBit(day: number, month: Month): number {
  return day >= 1 && day <= month.length ? 1 << (day - 1) : 0;
}
