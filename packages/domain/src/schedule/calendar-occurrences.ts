/**
 * The instants of a calendar interval: every n days, weeks or months at the wall-clock time the anchor shows in its
 * zone, so that "every day" stays at nine when the offset changes. Each occurrence is computed from the anchor, never
 * from the one before: the 31st becomes the 28th in February and the 31st again in March.
 */
import { civilFromDays, DAY_MS, daysFromCivil, daysInMonth, MAX_INSTANT_MS } from './civil-date.ts';
import type { DaylightSavingPolicy, Interval, OccurrenceCount, Occurrences } from './schedule.ts';
import { resolveWallClock, toLocal } from './wall-clock.ts';

export type CalendarInterval = Extract<Interval, { kind: 'calendar' }>;

/** Beyond this, 27 years of daily occurrences, a count is an estimate. */
const COUNT_MAX = 10_000;

export interface CalendarRule {
  readonly interval: CalendarInterval;
  readonly anchorMs: number;
  readonly zone: string;
  readonly daylightSaving: DaylightSavingPolicy;
}

export class CalendarOccurrences implements Occurrences {
  readonly #rule: CalendarRule;
  readonly #anchorDays: number;
  readonly #anchorTimeMs: number;

  constructor(rule: CalendarRule) {
    this.#rule = rule;
    const anchorLocalMs = toLocal(rule.zone, rule.anchorMs);
    this.#anchorDays = Math.floor(anchorLocalMs / DAY_MS);
    this.#anchorTimeMs = anchorLocalMs - this.#anchorDays * DAY_MS;
  }

  next(afterMs: number): number | undefined {
    if (afterMs >= MAX_INSTANT_MS) return undefined;
    // Two steps back is always early enough: a jump of the clock is at most a day, and so is the shortest interval.
    for (let index = Math.max(0, this.#indexNear(afterMs) - 2); ; index += 1) {
      if (this.#localOf(index) > MAX_INSTANT_MS + DAY_MS) return undefined;
      const instantMs = this.#instantsOf(index).find((instant) => instant > afterMs);
      if (instantMs !== undefined) return instantMs <= MAX_INSTANT_MS ? instantMs : undefined;
    }
  }

  previous(atMs: number, floorMs: number): number | undefined {
    const lastMs = Math.min(atMs, MAX_INSTANT_MS);
    for (let index = this.#indexNear(lastMs) + 2; index >= 0; index -= 1) {
      if (this.#localOf(index) < floorMs - 2 * DAY_MS) return undefined;
      const instantMs = this.#instantsOf(index).findLast((instant) => instant <= lastMs);
      if (instantMs !== undefined) return instantMs >= floorMs ? instantMs : undefined;
    }
    return undefined;
  }

  count(fromMs: number, toMs: number): OccurrenceCount {
    const estimate =
      this.#indexNear(Math.min(toMs, MAX_INSTANT_MS)) - Math.max(0, this.#indexNear(fromMs)) + 1;
    if (estimate > COUNT_MAX) return { count: estimate, exact: false };
    let count = 0;
    let instantMs = this.next(fromMs - 1);
    while (instantMs !== undefined && instantMs <= toMs) {
      count += 1;
      instantMs = this.next(instantMs);
    }
    return { count, exact: true };
  }

  /** Occurrence 0 is the anchor itself, even where its local time exists twice. */
  #instantsOf(index: number): readonly number[] {
    const { zone, anchorMs, daylightSaving } = this.#rule;
    return index === 0 ? [anchorMs] : resolveWallClock(zone, this.#localOf(index), daylightSaving);
  }

  #localOf(index: number): number {
    const { unit, every } = this.#rule.interval;
    if (unit !== 'month') {
      return (this.#anchorDays + index * every * (unit === 'week' ? 7 : 1)) * DAY_MS + this.#anchorTimeMs;
    }
    const anchor = civilFromDays(this.#anchorDays);
    const months = anchor.year * 12 + anchor.month - 1 + index * every;
    const year = Math.floor(months / 12);
    const month = (months % 12) + 1;
    const day = Math.min(anchor.day, daysInMonth(year, month));
    return daysFromCivil(year, month, day) * DAY_MS + this.#anchorTimeMs;
  }

  /** The index of an occurrence around this instant, right to within one or two. */
  #indexNear(instantMs: number): number {
    const { unit, every } = this.#rule.interval;
    const days = Math.floor(instantMs / DAY_MS);
    if (unit !== 'month') return Math.floor((days - this.#anchorDays) / (every * (unit === 'week' ? 7 : 1)));
    const anchor = civilFromDays(this.#anchorDays);
    const date = civilFromDays(days);
    return Math.floor(((date.year - anchor.year) * 12 + date.month - anchor.month) / every);
  }
}
