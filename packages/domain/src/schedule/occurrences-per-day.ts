/** How often a schedule fires on each day of its zone: for a calendar, and without listing a fire every second. */
import { DAY_MS } from './civil-date.ts';
import { occurrencesOf } from './occurrences-of.ts';
import { isRecurring, type Schedule } from './schedule.ts';
import { instantsShowing, toLocal } from './wall-clock.ts';

export interface DayCount {
  /** Such as 2030-01-31, in the zone. */
  readonly date: string;
  readonly count: number;
}

/** Every day that the window touches, in order; of the first and the last only what lies within the window. Its bounds are included. */
export function occurrencesPerDay(
  schedule: Schedule,
  { fromMs, untilMs, zone }: { fromMs: number; untilMs: number; zone: string },
): DayCount[] {
  const days: DayCount[] = [];
  const last = Math.floor(toLocal(zone, untilMs) / DAY_MS);
  for (let day = Math.floor(toLocal(zone, fromMs) / DAY_MS); day <= last; day += 1) {
    const startMs = Math.max(fromMs, startOfDay(zone, day));
    const endMs = Math.min(untilMs, startOfDay(zone, day + 1) - 1);
    const date = new Date(day * DAY_MS).toISOString().slice(0, 10);
    days.push({ date, count: countWithin(schedule, startMs, endMs) });
  }
  return days;
}

function countWithin(schedule: Schedule, fromMs: number, toMs: number): number {
  if (fromMs > toMs) return 0;
  if (isRecurring(schedule)) return occurrencesOf(schedule).count(fromMs, toMs).count;
  return schedule.type === 'FUTURE' && schedule.atMs >= fromMs && schedule.atMs <= toMs ? 1 : 0;
}

/** A day whose midnight is skipped begins after the gap. */
function startOfDay(zone: string, day: number): number {
  const { instants, afterGapMs } = instantsShowing(zone, day * DAY_MS);
  return instants[0] ?? afterGapMs ?? day * DAY_MS;
}
