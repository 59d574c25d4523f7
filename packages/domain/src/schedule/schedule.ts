/**
 * What a schedule is. Instants are UTC milliseconds; a recurring schedule keeps its wall-clock rule and zone, so that
 * "every day at nine" stays at nine when the offset changes.
 */

import { defaultsOf, integer, keptAs, seconds, type ValuesOf, word } from '../job/field-kinds.ts';

/** Rhythms (e.g. every 10 minutes) keep their rhythm, whatever clocks do. */
export const DAYLIGHT_SAVING_FIELDS = {
  gap: word(['run_after', 'skip'], {
    fallback: 'run_after',
    about: 'A local time that does not exist: run once right after the gap, or not at all.',
  }),
  overlap: word(['first', 'second', 'both'], {
    fallback: 'first',
    about: 'A local time that exists twice: which of the two counts.',
  }),
};
export type DaylightSavingPolicy = ValuesOf<typeof DAYLIGHT_SAVING_FIELDS>;

export const DEFAULT_DAYLIGHT_SAVING: DaylightSavingPolicy = defaultsOf(DAYLIGHT_SAVING_FIELDS);

/** An exact interval counts milliseconds; a calendar interval keeps the wall-clock time of its anchor in its zone. */
export type Interval =
  | { readonly kind: 'exact'; readonly everyMs: number }
  | { readonly kind: 'calendar'; readonly unit: 'day' | 'week' | 'month'; readonly every: number };

interface Recurring {
  /** IANA zone name, e.g. Europe/Paris. */
  readonly zone: string;
  readonly daylightSaving: DaylightSavingPolicy;
  /** First and last instant at which an occurrence may lie (both inclusive). */
  readonly startMs?: number;
  readonly endMs?: number;
  /** Occurrences are delayed by a fixed amount per job below this bound, and never past the next occurrence. 0 = none. */
  readonly spreadMs: number;
}

export interface ImmediateSchedule {
  readonly type: 'IMMEDIATE';
}

export interface FutureSchedule {
  readonly type: 'FUTURE';
  readonly atMs: number;
}

export interface CronSchedule extends Recurring {
  readonly type: 'CRON';
  /** 5 or 6 fields (seconds first when 6), names, L, W, #, or @hourly, @daily … */
  readonly expression: string;
}

export interface IntervalSchedule extends Recurring {
  readonly type: 'INTERVAL';
  readonly interval: Interval;
  /** The rhythm is counted from here: occurrences are anchor, anchor + interval, … */
  readonly anchorMs: number;
}

export type RecurringSchedule = CronSchedule | IntervalSchedule;
export type Schedule = ImmediateSchedule | FutureSchedule | RecurringSchedule;
export type ScheduleType = Schedule['type'];

export function isRecurring(schedule: Schedule): schedule is RecurringSchedule {
  return schedule.type === 'CRON' || schedule.type === 'INTERVAL';
}

/** What happens to occurrences that nobody could start in time (an outage, a pause). */
export const MISFIRE_FIELDS = {
  policy: keptAs(
    'kind',
    word(['none', 'last', 'all'], {
      fallback: 'last',
      about:
        'none: they are skipped, but for the most recent one when that is hardly late; last: only the most recent one runs; all: up to max_runs of them within window_seconds run.',
    }),
  ),
  max_runs: integer({ min: 1, max: 1_000, fallback: 100, about: 'How many run at most.' }),
  window_seconds: seconds({
    min: 0,
    max: 31 * 86_400,
    fallback: 24 * 3_600_000,
    about: 'How far back they may lie.',
  }),
};
export type MisfirePolicy = ValuesOf<typeof MISFIRE_FIELDS>;

export const DEFAULT_MISFIRE: MisfirePolicy = defaultsOf(MISFIRE_FIELDS);

/**
 * A schedule that stood still for no longer than this has missed nothing: a busy machine, a lost hint (a second) or a server
 * that is restarted must not cost a job of every second its occurrences. Longer ones are outages and pauses.
 */
export const STANDSTILL_MS_MAX = 5_000;

/** After a longer standstill the most recent occurrence still runs when it is no older than this, whatever the policy says. */
export const MISFIRE_GRACE_MS = 60_000;

/**
 * What every recurring rule can answer about its nominal instants. Instants are UTC milliseconds, strictly increasing,
 * each one once. One implementation per kind of rule; occurrencesOf picks the one for a schedule.
 */
export interface Occurrences {
  /** The first instant after this one. */
  next(afterMs: number): number | undefined;
  /** The last instant at or before atMs, as long as it is not before floorMs. */
  previous(atMs: number, floorMs: number): number | undefined;
  /** How many lie in the range, both ends included. */
  count(fromMs: number, toMs: number): OccurrenceCount;
}

export interface OccurrenceCount {
  readonly count: number;
  /** False when the range was too long to look at every occurrence, and the number is an estimate. */
  readonly exact: boolean;
}
