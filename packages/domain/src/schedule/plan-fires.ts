/**
 * Decides what happens to the occurrences that are due: which run and which are skipped. Every nominal instant from the
 * cursor up to now gets exactly one verdict; the skipped ones are always the oldest, so they are one range. Costs about
 * the same after a second as after a year of outage: it looks at what runs, and counts the rest by arithmetic.
 */
import { nextFire } from './next-fires.ts';
import type { OccurrenceCount, Occurrences } from './occurrences.ts';
import { occurrencesOf } from './occurrences-of.ts';
import { isRecurring, MISFIRE_GRACE_MS, type MisfirePolicy, type Schedule } from './schedule.ts';

/** However many a policy allows, one pass never starts more. */
export const PLANNED_RUNS_MAX = 10_000;

export interface FirePlan {
  /** Nominal instants to start now, oldest first. */
  readonly run: number[];
  /** The nominal instants from the first to the last skipped one. */
  readonly skipped?: SkippedRange;
  /** The first nominal instant after now; undefined when the schedule has ended. */
  readonly nextMs: number | undefined;
}

export interface SkippedRange extends OccurrenceCount {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface PlanFiresOptions {
  readonly schedule: Schedule;
  readonly misfire: MisfirePolicy;
  /** The nominal instant that is due. */
  readonly cursorMs: number;
  readonly nowMs: number;
}

export function planFires(options: PlanFiresOptions): FirePlan {
  const { schedule, misfire, cursorMs, nowMs } = options;
  // Not due, or the clock went back: what lies before the cursor has its verdict already.
  if (cursorMs > nowMs) return { run: [], nextMs: cursorMs };
  // One-off jobs run however late they are.
  if (!isRecurring(schedule)) return { run: [cursorMs], nextMs: undefined };

  const due = dueOccurrences(occurrencesOf(schedule), cursorMs);
  const late = listBack(due, { atMs: nowMs, floorMs: nowMs - MISFIRE_GRACE_MS, countMax: PLANNED_RUNS_MAX });
  const overdueToMs = (late[0] ?? nowMs + 1) - 1;
  const overdue = listBack(due, {
    atMs: overdueToMs,
    floorMs: misfire.kind === 'all' ? nowMs - misfire.windowMs : cursorMs,
    countMax: overdueRunsMax(misfire, late.length),
  });
  const run = [...overdue, ...late];
  const skipped = skippedBefore(due, { cursorMs, endMs: run[0] ?? nowMs + 1 });
  return { run, ...(skipped === undefined ? {} : { skipped }), nextMs: nextFire(schedule, nowMs) };
}

/** How many of the occurrences older than the grace may still run. */
function overdueRunsMax(misfire: MisfirePolicy, lateRuns: number): number {
  if (misfire.kind === 'none') return 0;
  if (misfire.kind === 'last') return lateRuns === 0 ? 1 : 0;
  return Math.min(misfire.maxRuns, PLANNED_RUNS_MAX - lateRuns);
}

/**
 * The occurrences from the cursor on. The cursor itself always counts: it was written as due, and must get its verdict
 * even if the tz data has changed since and the rule no longer names it.
 */
function dueOccurrences(all: Occurrences, cursorMs: number): Pick<Occurrences, 'previous' | 'count'> {
  return {
    previous(atMs, floorMs) {
      const previousMs = all.previous(atMs, Math.max(floorMs, cursorMs));
      if (previousMs !== undefined) return previousMs;
      return cursorMs >= floorMs && cursorMs <= atMs ? cursorMs : undefined;
    },
    count(fromMs, toMs) {
      if (fromMs > cursorMs) return all.count(fromMs, toMs);
      const { count, exact } = all.count(cursorMs + 1, toMs);
      return { count: count + (toMs >= cursorMs ? 1 : 0), exact };
    },
  };
}

/** The most recent ones at or before atMs, oldest first. */
function listBack(
  due: Pick<Occurrences, 'previous'>,
  options: { atMs: number; floorMs: number; countMax: number },
): number[] {
  const found: number[] = [];
  let atMs = options.atMs;
  while (found.length < options.countMax) {
    const previousMs = due.previous(atMs, options.floorMs);
    if (previousMs === undefined) break;
    found.push(previousMs);
    atMs = previousMs - 1;
  }
  return found.reverse();
}

function skippedBefore(
  due: Pick<Occurrences, 'previous' | 'count'>,
  options: { cursorMs: number; endMs: number },
): SkippedRange | undefined {
  const toMs = due.previous(options.endMs - 1, options.cursorMs);
  if (toMs === undefined) return undefined;
  return { fromMs: options.cursorMs, toMs, ...due.count(options.cursorMs, toMs) };
}
