/**
 * The nominal instants of a schedule after a given one: the one function that the engine, the API and the preview ask.
 * Strictly increasing in UTC, within start and end, empty once the schedule has ended. Throws rather than ever return
 * an instant that does not advance: a scheduler that trusts it would fire forever.
 */
import { Refusal } from '../errors/refusal.ts';
import { occurrencesOf } from './occurrences-of.ts';
import { isRecurring, type RecurringSchedule, type Schedule } from './schedule.ts';

/** More than any preview shows or any pass plans; a bound for callers that pass a number through. */
export const NEXT_FIRES_MAX = 10_000;

/** Up to n instants after afterMs. An IMMEDIATE schedule has none: the engine fires it when the job is created. */
export function nextFires(schedule: Schedule, afterMs: number, n: number): number[] {
  const fires: number[] = [];
  let lastMs = afterMs;
  for (let left = Math.min(n, NEXT_FIRES_MAX); left > 0; left -= 1) {
    const nextMs = nextFire(schedule, lastMs);
    if (nextMs === undefined) break;
    fires.push(nextMs);
    lastMs = nextMs;
  }
  return fires;
}

export function nextFire(schedule: Schedule, afterMs: number): number | undefined {
  if (isRecurring(schedule)) return nextOccurrence(schedule, afterMs);
  return schedule.type === 'FUTURE' && schedule.atMs > afterMs ? schedule.atMs : undefined;
}

function nextOccurrence(schedule: RecurringSchedule, afterMs: number): number | undefined {
  if (Number.isNaN(afterMs)) throw new Error('nextFire needs an instant, and was given NaN');
  const nextMs = occurrencesOf(schedule).next(afterMs);
  // Written so that NaN fails too.
  if (nextMs !== undefined && !(nextMs > afterMs)) {
    throw new Error(`The fire after ${afterMs} does not advance: ${nextMs} for ${JSON.stringify(schedule)}`);
  }
  return nextMs;
}

/** Refuses to save a schedule that has nothing ahead: an end before its start, or only times that daylight saving skips. */
export function requireNextFire(
  schedule: Schedule,
  afterMs: number,
  options: { field?: string } = {},
): number {
  const nextMs = nextFire(schedule, afterMs);
  if (nextMs !== undefined) return nextMs;
  const after = new Date(afterMs).toISOString();
  throw new Refusal('schedule_never_fires', `The schedule has no occurrence after ${after}.`, options);
}
