/**
 * The times of day a cron rule admits, as questions about seconds since midnight: the next one, the previous one, how
 * many lie before. Each answer is a few table lookups, whatever the rule.
 */
import type { CronRule } from './cron-rule.ts';

/** No such value. */
const NONE = -1;

/** For one field: the admitted value at or after (or before) each number, and how many admitted values lie below it. */
interface FieldTable {
  readonly atOrAfter: Int8Array;
  readonly atOrBefore: Int8Array;
  readonly countBelow: Int8Array;
  readonly first: number;
  readonly last: number;
  readonly count: number;
}

export class TimesOfDay {
  readonly #hours: FieldTable;
  readonly #minutes: FieldTable;
  readonly #seconds: FieldTable;
  readonly perDay: number;

  constructor(rule: CronRule) {
    this.#hours = tableOf(rule.hours, 24);
    this.#minutes = tableOf(rule.minutes, 60);
    this.#seconds = tableOf(rule.seconds, 60);
    this.perDay = rule.hours.length * rule.minutes.length * rule.seconds.length;
  }

  get firstSecond(): number {
    return this.#hours.first * 3_600 + this.#minutes.first * 60 + this.#seconds.first;
  }

  get lastSecond(): number {
    return this.#hours.last * 3_600 + this.#minutes.last * 60 + this.#seconds.last;
  }

  /** The admitted second of the day at or after this one, or -1. */
  atOrAfter(secondOfDay: number): number {
    const hour = Math.floor(secondOfDay / 3_600);
    const minute = Math.floor((secondOfDay % 3_600) / 60);
    if (this.#hours.atOrAfter[hour] === hour) {
      if (this.#minutes.atOrAfter[minute] === minute) {
        const second = this.#seconds.atOrAfter[secondOfDay % 60] ?? NONE;
        if (second !== NONE) return hour * 3_600 + minute * 60 + second;
      }
      const nextMinute = this.#minutes.atOrAfter[minute + 1] ?? NONE;
      if (nextMinute !== NONE) return hour * 3_600 + nextMinute * 60 + this.#seconds.first;
    }
    const nextHour = this.#hours.atOrAfter[hour + 1] ?? NONE;
    return nextHour === NONE ? NONE : nextHour * 3_600 + this.#minutes.first * 60 + this.#seconds.first;
  }

  /** The admitted second of the day at or before this one, or -1. */
  atOrBefore(secondOfDay: number): number {
    const hour = Math.floor(secondOfDay / 3_600);
    const minute = Math.floor((secondOfDay % 3_600) / 60);
    if (this.#hours.atOrBefore[hour] === hour) {
      if (this.#minutes.atOrBefore[minute] === minute) {
        const second = this.#seconds.atOrBefore[secondOfDay % 60] ?? NONE;
        if (second !== NONE) return hour * 3_600 + minute * 60 + second;
      }
      const previousMinute = minute === 0 ? NONE : (this.#minutes.atOrBefore[minute - 1] ?? NONE);
      if (previousMinute !== NONE) return hour * 3_600 + previousMinute * 60 + this.#seconds.last;
    }
    const previousHour = hour === 0 ? NONE : (this.#hours.atOrBefore[hour - 1] ?? NONE);
    return previousHour === NONE ? NONE : previousHour * 3_600 + this.#minutes.last * 60 + this.#seconds.last;
  }

  /** How many admitted seconds of the day lie before this one. */
  countBefore(secondOfDay: number): number {
    const hour = Math.floor(secondOfDay / 3_600);
    const minute = Math.floor((secondOfDay % 3_600) / 60);
    let count = (this.#hours.countBelow[hour] ?? 0) * this.#minutes.count * this.#seconds.count;
    if (this.#hours.atOrAfter[hour] !== hour) return count;
    count += (this.#minutes.countBelow[minute] ?? 0) * this.#seconds.count;
    if (this.#minutes.atOrAfter[minute] !== minute) return count;
    return count + (this.#seconds.countBelow[secondOfDay % 60] ?? 0);
  }
}

function tableOf(values: readonly number[], size: number): FieldTable {
  const atOrAfter = new Int8Array(size).fill(NONE);
  const atOrBefore = new Int8Array(size).fill(NONE);
  const countBelow = new Int8Array(size);
  for (let number = 0; number < size; number += 1) {
    atOrAfter[number] = values.find((value) => value >= number) ?? NONE;
    atOrBefore[number] = values.findLast((value) => value <= number) ?? NONE;
    countBelow[number] = values.filter((value) => value < number).length;
  }
  return {
    atOrAfter,
    atOrBefore,
    countBelow,
    first: values[0] ?? 0,
    last: values.at(-1) ?? 0,
    count: values.length,
  };
}
