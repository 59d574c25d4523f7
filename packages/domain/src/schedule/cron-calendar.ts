/**
 * Walks a cron rule over a wall calendar that has neither zone nor daylight saving: the next local time it admits, the
 * previous one, and how many lie in a range. Local times are UTC-like milliseconds. Never hangs: it looks no further
 * than the years 1970 to 2100 in any zone. One step is one month, and a search takes at most 29 years of them: the
 * calendar repeats itself every 28 until 2099, and what was not found by then does not come before 2101.
 */
import { civilFromDays, daysFromCivil, MAX_YEAR, MIN_YEAR } from './civil-date.ts';
import { cronDaysOfMonth } from './cron-days.ts';
import type { CronRule } from './cron-rule.ts';
import { TimesOfDay } from './times-of-day.ts';

const DAY_SECONDS = 86_400;
/** One month more at either end: where UTC is still in 2100, a zone ahead of it is in 2101 already. */
const FIRST_MONTH = MIN_YEAR * 12 - 1;
const LAST_MONTH = (MAX_YEAR + 1) * 12;
/** Months remembered per rule: what nearby questions need, without keeping 130 years for every expression. */
const MONTHS_REMEMBERED = 36;

export class CronCalendar {
  readonly rule: CronRule;
  readonly #times: TimesOfDay;
  readonly #daysByMonth = new Map<number, number>();

  constructor(rule: CronRule) {
    this.rule = rule;
    this.#times = new TimesOfDay(rule);
  }

  /** The first admitted local time at or after this one; Infinity when there is none. */
  next(localMs: number): number {
    const second = Math.ceil(localMs / 1_000);
    const today = Math.floor(second / DAY_SECONDS);
    const { year, month, day } = civilFromDays(today);
    let bits = this.#days(year, month);
    if ((bits >>> (day - 1)) & 1) {
      const secondOfDay = this.#times.atOrAfter(second - today * DAY_SECONDS);
      if (secondOfDay >= 0) return (today * DAY_SECONDS + secondOfDay) * 1_000;
    }
    bits = (bits >>> day) << day;
    let months = year * 12 + month - 1;
    while (bits === 0) {
      months += 1;
      if (months > LAST_MONTH) return Number.POSITIVE_INFINITY;
      bits = this.#days(Math.floor(months / 12), (months % 12) + 1);
    }
    const firstDay = 32 - Math.clz32(bits & -bits);
    const days = daysFromCivil(Math.floor(months / 12), (months % 12) + 1, firstDay);
    return (days * DAY_SECONDS + this.#times.firstSecond) * 1_000;
  }

  /** The last admitted local time at or before this one; -Infinity when there is none. */
  previous(localMs: number): number {
    const second = Math.floor(localMs / 1_000);
    const today = Math.floor(second / DAY_SECONDS);
    const { year, month, day } = civilFromDays(today);
    let bits = this.#days(year, month);
    if ((bits >>> (day - 1)) & 1) {
      const secondOfDay = this.#times.atOrBefore(second - today * DAY_SECONDS);
      if (secondOfDay >= 0) return (today * DAY_SECONDS + secondOfDay) * 1_000;
    }
    bits &= (1 << (day - 1)) - 1;
    let months = year * 12 + month - 1;
    while (bits === 0) {
      months -= 1;
      if (months < FIRST_MONTH) return Number.NEGATIVE_INFINITY;
      bits = this.#days(Math.floor(months / 12), (months % 12) + 1);
    }
    const lastDay = 32 - Math.clz32(bits);
    const days = daysFromCivil(Math.floor(months / 12), (months % 12) + 1, lastDay);
    return (days * DAY_SECONDS + this.#times.lastSecond) * 1_000;
  }

  /** How many admitted local times lie in the range, its end excluded. By arithmetic: a year costs 12 steps. */
  count(fromLocalMs: number, toLocalMs: number): number {
    const from = Math.ceil(fromLocalMs / 1_000);
    const to = Math.ceil(toLocalMs / 1_000);
    if (to <= from) return 0;
    const fromDay = Math.floor(from / DAY_SECONDS);
    const toDay = Math.floor(to / DAY_SECONDS);
    const beforeFrom = this.#admitsDay(fromDay) ? this.#times.countBefore(from - fromDay * DAY_SECONDS) : 0;
    const beforeTo = this.#admitsDay(toDay) ? this.#times.countBefore(to - toDay * DAY_SECONDS) : 0;
    return this.#countDays(fromDay, toDay) * this.#times.perDay + beforeTo - beforeFrom;
  }

  /** Admitted days from fromDay up to, not including, toDay. */
  #countDays(fromDay: number, toDay: number): number {
    const first = civilFromDays(fromDay);
    const end = civilFromDays(toDay);
    const endMonths = end.year * 12 + end.month - 1;
    let count = 0;
    for (let months = first.year * 12 + first.month - 1; months < endMonths; months += 1) {
      count += bitCount(this.#days(Math.floor(months / 12), (months % 12) + 1));
    }
    const beforeFirst = bitCount(this.#days(first.year, first.month) & ((1 << (first.day - 1)) - 1));
    const beforeEnd = bitCount(this.#days(end.year, end.month) & ((1 << (end.day - 1)) - 1));
    return count - beforeFirst + beforeEnd;
  }

  #admitsDay(dayNumber: number): boolean {
    const { year, month, day } = civilFromDays(dayNumber);
    return ((this.#days(year, month) >>> (day - 1)) & 1) === 1;
  }

  #days(year: number, month: number): number {
    if (!this.rule.months.includes(month)) return 0;
    const key = year * 12 + month;
    const known = this.#daysByMonth.get(key);
    if (known !== undefined) return known;
    if (this.#daysByMonth.size >= MONTHS_REMEMBERED) this.#daysByMonth.clear();
    const bits = cronDaysOfMonth(this.rule, year, month);
    this.#daysByMonth.set(key, bits);
    return bits;
  }
}

function bitCount(bits: number): number {
  let count = 0;
  for (let rest = bits; rest !== 0; rest &= rest - 1) count += 1;
  return count;
}
