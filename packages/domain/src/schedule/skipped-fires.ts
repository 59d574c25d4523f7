/**
 * Fires that a person has taken out of a schedule, one by one: the schedule goes on after them. A skip belongs to one nominal
 * instant. It can be taken back until the instant is due, and is dropped with a schedule that no longer names the instant.
 */
import { Refusal } from '../errors/refusal.ts';
import { fireTime } from './fire-time.ts';
import { nextFire } from './next-fires.ts';
import { isRecurring, type RecurringSchedule, type Schedule } from './schedule.ts';

export interface SkippedFire {
  /** The nominal instant. */
  readonly atMs: number;
  /** The name of who skipped it. */
  readonly by: string;
  readonly skippedAtMs: number;
  /** The fire of the schedule after it, so that lists need not ask the schedule for each skip; null: none. Undefined: not kept. */
  readonly nextMs?: number | null | undefined;
}

/** Of one job at a time: who wants to skip more of them means a pause or another schedule. */
export const SKIPS_MAX = 100;
/** Of each job of a list. */
export const SKIPS_LISTED_MAX = 3;
const NAMED_MAX = 3;
const BY_LENGTH_MAX = 200;

/** What the ledger says of such an occurrence. */
export type SkippedBy = `skipped by ${string}`;

export function skippedBy({ by }: Pick<SkippedFire, 'by'>): SkippedBy {
  return `skipped by ${by}`;
}

export function isSkippedBy(reason: string | undefined): reason is SkippedBy {
  return reason?.startsWith('skipped by ') === true;
}

export function isOccurrence(schedule: Schedule, atMs: number): boolean {
  return nextFire(schedule, atMs - 1) === atMs;
}

/** The first fire at or after the instant that nobody has skipped. The schedule is asked only where a skip does not know what follows. */
export function firstUnskipped(
  schedule: Schedule,
  fromMs: number | undefined,
  skips: readonly SkippedFire[] = [],
): number | undefined {
  let atMs = fromMs;
  // In the order of the fires: what follows one lies further on.
  for (const skip of skips) {
    if (atMs === undefined || skip.atMs > atMs) break;
    if (skip.atMs === atMs) atMs = fireAfter(schedule, skip);
  }
  return atMs;
}

function fireAfter(schedule: Schedule, { atMs, nextMs }: SkippedFire): number | undefined {
  return nextMs === undefined ? nextFire(schedule, atMs) : (nextMs ?? undefined);
}

/** The first fire after the instant that nobody has skipped. */
export function nextUnskipped(
  schedule: Schedule,
  afterMs: number,
  skips: readonly SkippedFire[] = [],
): number | undefined {
  return firstUnskipped(schedule, nextFire(schedule, afterMs), skips);
}

/**
 * Those that the schedule still has from where it stands on. That instant counts whether or not the schedule names it, and though it
 * may have passed: it is judged when it fires, and a skip that is dropped before would let it run. Undefined: none.
 */
export function skipsAhead(
  schedule: Schedule,
  skips: readonly SkippedFire[] = [],
  plannedMs: number,
): readonly SkippedFire[] | undefined {
  if (!isRecurring(schedule)) return undefined;
  const kept = skips.filter(
    ({ atMs }) => atMs === plannedMs || (atMs > plannedMs && isOccurrence(schedule, atMs)),
  );
  return kept.length === 0 ? undefined : kept.map((skip) => withNext(schedule, skip));
}

function withNext(schedule: Schedule, skip: SkippedFire): SkippedFire {
  return { ...skip, nextMs: nextFire(schedule, skip.atMs) ?? null };
}

export interface SkipRequest {
  readonly jobId: string;
  readonly schedule: Schedule;
  readonly skips: readonly SkippedFire[] | undefined;
  readonly atMs: number;
  readonly nowMs: number;
  /** The nominal instant that the schedule stands at; undefined: it has ended. */
  readonly plannedMs: number | undefined;
}

/** The skips with one more; undefined when the fire is skipped already. */
export function addSkip(request: SkipRequest & { readonly by: string }): readonly SkippedFire[] | undefined {
  const { atMs, nowMs, by } = request;
  requireComing(request);
  // What has passed is in the ledger, and a skip is kept only until then.
  const kept = (request.skips ?? []).filter((skip) => isAhead(request, skip.atMs));
  if (kept.some((skip) => skip.atMs === atMs)) return undefined;
  if (kept.length >= SKIPS_MAX)
    throw new Refusal('skips_full', `${SKIPS_MAX} fires of the job ${request.jobId} are skipped already.`);
  const name = by.slice(0, BY_LENGTH_MAX).toWellFormed();
  const added = withNext(request.schedule, { atMs, by: name, skippedAtMs: nowMs });
  return [...kept, added].sort((a, b) => a.atMs - b.atMs);
}

/** The skips without this one; undefined when the fire is not skipped. */
export function removeSkip(request: SkipRequest): readonly SkippedFire[] | undefined {
  requireComing(request);
  const { skips = [], atMs } = request;
  if (!skips.some((skip) => skip.atMs === atMs)) return undefined;
  return skips.filter((skip) => skip.atMs !== atMs && isAhead(request, skip.atMs));
}

function isAhead({ plannedMs }: SkipRequest, atMs: number): boolean {
  return plannedMs !== undefined && atMs >= plannedMs;
}

/** Refuses an instant that is no fire of the job, or no longer. */
function requireComing(request: SkipRequest): void {
  const { jobId, schedule, atMs, nowMs, plannedMs } = request;
  const at = new Date(atMs).toISOString();
  if (!isRecurring(schedule)) {
    throw new Refusal(
      'job_not_recurring',
      `The job ${jobId} runs once: it has no fire after one that is skipped.`,
    );
  }
  if (atMs !== plannedMs && !isOccurrence(schedule, atMs)) {
    const message = `${at} is no coming fire of the job ${jobId}. ${nextOnes(request, schedule)}`;
    throw new Refusal('fire_not_found', message, { field: 'at' });
  }
  if (isAhead(request, atMs) && fireTime({ schedule, jobId, nominalMs: atMs }) > nowMs) return;
  const message = `The fire of ${at} of the job ${jobId} has passed. ${nextOnes(request, schedule)}`;
  throw new Refusal('fire_passed', message, { field: 'at' });
}

function nextOnes({ nowMs, plannedMs }: SkipRequest, schedule: RecurringSchedule): string {
  const next: string[] = [];
  let afterMs = plannedMs === undefined ? Number.NaN : Math.max(nowMs, plannedMs - 1);
  while (next.length < NAMED_MAX && !Number.isNaN(afterMs)) {
    afterMs = nextFire(schedule, afterMs) ?? Number.NaN;
    if (!Number.isNaN(afterMs)) next.push(new Date(afterMs).toISOString());
  }
  return next.length === 0 ? 'None lies ahead.' : `The next ones are ${next.join(', ')}.`;
}
