/**
 * Decides what happens to the occurrences that are due: which run and which are skipped. Every nominal instant from the
 * cursor up to the latest that is due gets exactly one verdict. What a person has skipped is skipped in any case; it is judged as
 * if the schedule did not have it. Of the others the skipped ones are always the oldest: first those that fell into a pause by a
 * person, then those that an outage delayed for too long. Costs about the same after a second as after a year of either: it looks
 * at what runs, and counts the rest by arithmetic.
 */
import type { SkipReason } from '../run/run.ts';
import { fireTime } from './fire-time.ts';
import { nextFire } from './next-fires.ts';
import { occurrencesOf } from './occurrences-of.ts';
import type { OccurrenceCount, Occurrences } from './schedule.ts';
import {
  isRecurring,
  MISFIRE_GRACE_MS,
  type MisfirePolicy,
  type RecurringSchedule,
  type Schedule,
  STANDSTILL_MS_MAX,
} from './schedule.ts';
import { isOccurrence, type SkippedBy, type SkippedFire, skippedBy } from './skipped-fires.ts';

/** However many a policy allows, one pass never starts more. */
export const PLANNED_RUNS_MAX = 10_000;

export interface FirePlan {
  /** Nominal instants to start now, oldest first. */
  readonly run: number[];
  /** Oldest first: one for each fire that a person skipped, and of what lies between those at most one for each reason. */
  readonly skipped: readonly SkippedRange[];
  /** The first nominal instant that is not due yet; undefined when the schedule has ended. */
  readonly nextMs: number | undefined;
}

/** The nominal instants from the first to the last skipped one, with no other verdict between them. */
export interface SkippedRange extends OccurrenceCount {
  readonly reason: Extract<SkipReason, 'paused' | 'misfire'> | SkippedBy;
  readonly fromMs: number;
  readonly toMs: number;
}

export interface PlanFiresOptions {
  readonly schedule: Schedule;
  readonly misfire: MisfirePolicy;
  /** Whose share of the spread delays every occurrence: that long after its instant it still is on time. */
  readonly jobId: string;
  /** The nominal instant that is due. */
  readonly cursorMs: number;
  readonly nowMs: number;
  /**
   * When a person resumed the job, if the cursor has waited since before that. What falls into a pause was not wanted, however
   * short the pause was: only a job that asks to catch up gets it.
   */
  readonly resumedAtMs?: number | undefined;
  /** What a person has skipped, the earliest first. */
  readonly skips?: readonly SkippedFire[] | undefined;
}

export function planFires(options: PlanFiresOptions): FirePlan {
  const { skips = [], cursorMs, nowMs, schedule } = options;
  const due = skips.filter(
    ({ atMs }) => atMs >= cursorMs && atMs <= nowMs && (atMs === cursorMs || isOccurrence(schedule, atMs)),
  );
  const plan = planOthers({ ...options, skips: due });
  const judged = due.filter(({ atMs }) => plan.nextMs === undefined || atMs < plan.nextMs);
  if (judged.length === 0) return plan;
  const byPeople = judged.map((skip) => ({
    ...{ reason: skippedBy(skip), fromMs: skip.atMs, toMs: skip.atMs, count: 1, exact: true },
  }));
  return { ...plan, skipped: [...plan.skipped, ...byPeople].sort((a, b) => a.fromMs - b.fromMs) };
}

/** All but what a person has skipped. */
function planOthers(options: PlanFiresOptions): FirePlan {
  const { schedule, misfire, jobId, cursorMs, nowMs, resumedAtMs } = options;
  const latenessMs = (nominalMs: number) => nowMs - fireTime({ schedule, jobId, nominalMs });
  // Not due, or the clock went back: what lies before the cursor has its verdict already.
  if (latenessMs(cursorMs) < 0) return { run: [], skipped: [], nextMs: cursorMs };
  // One-off jobs run however late they are.
  if (!isRecurring(schedule)) return { run: [cursorMs], skipped: [], nextMs: undefined };

  if (resumedAtMs !== undefined && misfire.kind !== 'all')
    return planAfterPause({ ...options, schedule }, resumedAtMs);
  const due = dueOccurrences(occurrencesOf(schedule), cursorMs);
  const latestMs = latestDue(due, { cursorMs, nowMs, latenessMs });
  const wanted = unskipped(due, options.skips);
  const wantedMs = wanted.previous(latestMs, cursorMs);
  const run =
    wantedMs === undefined ? [] : chooseRuns(wanted, { misfire, cursorMs, latestMs: wantedMs, latenessMs });
  const toMs = (run[0] ?? latestMs + 1) - 1;
  const skipped = skippedRanges(due, { reason: 'misfire', cursorMs, toMs, skips: options.skips });
  return { run, skipped, nextMs: nextFire(schedule, latestMs) };
}

/** What would have fired before the job was resumed is skipped; the rest is judged as if the cursor had never stood before it. */
function planAfterPause(
  options: PlanFiresOptions & { readonly schedule: RecurringSchedule },
  resumedAtMs: number,
): FirePlan {
  const { schedule, jobId, cursorMs, nowMs } = options;
  // A clock may have been set since: nothing is judged before it is due.
  const untilMs = Math.min(resumedAtMs - 1, nowMs);
  const latenessMs = (nominalMs: number) => untilMs - fireTime({ schedule, jobId, nominalMs });
  const later = { ...options, resumedAtMs: undefined };
  if (latenessMs(cursorMs) < 0) return planOthers(later);
  const due = dueOccurrences(occurrencesOf(schedule), cursorMs);
  const toMs = latestDue(due, { cursorMs, nowMs: untilMs, latenessMs });
  const paused = skippedRanges(due, { reason: 'paused', cursorMs, toMs, skips: options.skips });
  const nextMs = nextFire(schedule, toMs);
  if (nextMs === undefined) return { run: [], skipped: paused, nextMs };
  const rest = planOthers({ ...later, cursorMs: nextMs });
  return { ...rest, skipped: [...paused, ...rest.skipped] };
}

/** The spread never reaches the next instant: at most the newest one still waits for its share to pass. */
function latestDue(
  due: Pick<Occurrences, 'previous'>,
  options: { cursorMs: number; nowMs: number; latenessMs: (nominalMs: number) => number },
): number {
  const { cursorMs, nowMs, latenessMs } = options;
  const newestMs = due.previous(nowMs, cursorMs) ?? cursorMs;
  if (newestMs === cursorMs || latenessMs(newestMs) >= 0) return newestMs;
  return due.previous(newestMs - 1, cursorMs) ?? cursorMs;
}

function chooseRuns(
  due: Pick<Occurrences, 'previous'>,
  options: {
    misfire: MisfirePolicy;
    cursorMs: number;
    latestMs: number;
    latenessMs: (nominalMs: number) => number;
  },
): number[] {
  const { misfire, cursorMs, latestMs, latenessMs } = options;
  if (misfire.kind === 'all') return chooseAll(due, { misfire, latestMs, latenessMs: latenessMs(latestMs) });
  // Judged by the oldest, not one by one: else what a long standstill left would still be caught up in part.
  if (latenessMs(cursorMs) <= STANDSTILL_MS_MAX) {
    return listBack(due, { atMs: latestMs, floorMs: cursorMs, countMax: PLANNED_RUNS_MAX });
  }
  return misfire.kind === 'last' || latenessMs(latestMs) <= MISFIRE_GRACE_MS ? [latestMs] : [];
}

/** Those within the grace do not count against the number the policy allows. */
function chooseAll(
  due: Pick<Occurrences, 'previous'>,
  options: { misfire: MisfirePolicy; latestMs: number; latenessMs: number },
): number[] {
  const { misfire, latestMs, latenessMs } = options;
  const onTimeMs = latestMs + latenessMs;
  const late = listBack(due, {
    atMs: latestMs,
    floorMs: onTimeMs - MISFIRE_GRACE_MS,
    countMax: PLANNED_RUNS_MAX,
  });
  const overdue = listBack(due, {
    atMs: (late[0] ?? latestMs + 1) - 1,
    floorMs: onTimeMs - misfire.windowMs,
    countMax: Math.min(misfire.maxRuns, PLANNED_RUNS_MAX - late.length),
  });
  return [...overdue, ...late];
}

interface DueOccurrences extends Pick<Occurrences, 'previous' | 'count'> {
  /** At or after the instant. */
  first(fromMs: number): number | undefined;
}

/**
 * The occurrences from the cursor on. The cursor itself always counts: it was written as due, and must get its verdict
 * even if the tz data has changed since and the rule no longer names it.
 */
function dueOccurrences(all: Occurrences, cursorMs: number): DueOccurrences {
  return {
    first: (fromMs) => (fromMs <= cursorMs ? cursorMs : all.next(fromMs - 1)),
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

/** Those that nobody has skipped. */
function unskipped(due: DueOccurrences, skips: readonly SkippedFire[] = []): Pick<Occurrences, 'previous'> {
  if (skips.length === 0) return due;
  const skipped = new Set(skips.map(({ atMs }) => atMs));
  return {
    previous(atMs, floorMs) {
      let foundMs = due.previous(atMs, floorMs);
      while (foundMs !== undefined && skipped.has(foundMs)) foundMs = due.previous(foundMs - 1, floorMs);
      return foundMs;
    },
  };
}

/** From the cursor to the instant, in parts between what a person has skipped. */
function skippedRanges(
  due: DueOccurrences,
  options: {
    reason: SkippedRange['reason'];
    cursorMs: number;
    toMs: number;
    skips: readonly SkippedFire[] | undefined;
  },
): SkippedRange[] {
  const { reason, cursorMs, toMs, skips = [] } = options;
  const cuts = skips.map(({ atMs }) => atMs).filter((atMs) => atMs >= cursorMs && atMs <= toMs);
  return [...cuts, toMs + 1].flatMap((endMs, i) => {
    const startMs = i === 0 ? cursorMs : cuts[i - 1]! + 1;
    const lastMs = endMs > startMs ? due.previous(endMs - 1, startMs) : undefined;
    const firstMs = lastMs === undefined ? undefined : due.first(startMs);
    if (firstMs === undefined || lastMs === undefined) return [];
    return [{ reason, fromMs: firstMs, toMs: lastMs, ...due.count(firstMs, lastMs) }];
  });
}
