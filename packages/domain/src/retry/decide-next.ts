/**
 * What follows an attempt: the run is finished, tried again at an instant, or dead (kept as a dead letter). One pure
 * function for completion and recovery, so that a report and a lost worker are judged by the same rules.
 */
import { timesHandedOut } from '../run/first-epoch.ts';
import type { FinalRunStatus, RunOutcome } from '../run/run.ts';
import { type RetryPolicy, retryDelayMs } from './retry-policy.ts';

/** A run that took this many workers down with it is a poison pill: dead-lettered, however many retries it has (hazard 20). */
export const CRASHES_MAX = 5;
/**
 * Every run on a lost worker may be the cause. While another run has lost as many workers, this one is tried up to this number: two
 * causes that always run together must end too.
 */
export const CRASHES_MAX_IN_COMPANY = 2 * CRASHES_MAX;
/** They start again one by one, so that the next crash narrows down the cause. */
const SUSPECT_PAUSE_MS_MAX = 10_000;
export const RETURN_PAUSE_MS_MAX = 60_000;

export interface AttemptSoFar {
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** Workers lost while this run was theirs; counted apart from failures. */
  readonly crashes: number;
  /** When the occurrence was due. */
  readonly nominalAtMs: number;
  /** How often it was handed out, this time among them. Left out: as often as its attempts and crashes say. */
  readonly epoch?: number;
}

export interface NextStep {
  /** How this attempt is recorded. */
  readonly status: FinalRunStatus;
  readonly error: string | undefined;
  readonly next:
    | { readonly kind: 'finish' }
    /** LEASE-8: after an interruption the attempt stays as it was (hazard 22). */
    | { readonly kind: 'again'; readonly atMs: number; readonly attempt: number; readonly crashes: number }
    | { readonly kind: 'dead'; readonly reason: DeadReason };
}

export const DEAD_REASONS = [
  'retries_exhausted',
  'not_retryable',
  'deadline_passed',
  'crashed_workers',
  'never_started',
  'retries_stopped',
] as const;
export type DeadReason = (typeof DEAD_REASONS)[number];

export interface DecideContext {
  readonly soFar: AttemptSoFar;
  readonly policy: RetryPolicy;
  readonly nowMs: number;
  /** In [0, 1). */
  readonly random: number;
}

export function decideNext(outcome: RunOutcome, context: DecideContext): NextStep {
  const { soFar, nowMs } = context;
  switch (outcome.kind) {
    case 'SUCCESS':
      return { status: 'SUCCESS', error: undefined, next: { kind: 'finish' } };
    case 'CANCELLED':
      return { status: 'CANCELLED', error: outcome.error, next: { kind: 'finish' } };
    case 'RETURNED': {
      const atMs = withinDeadline(nowMs + returnPauseMs(context), context);
      return interrupted(outcome, again({ atMs, attempt: soFar.attempt, crashes: soFar.crashes }, context));
    }
    case 'LOST': {
      const crashes = soFar.crashes + 1;
      const isFirstSuspect = soFar.crashes > (outcome.othersCrashes ?? -1);
      const isPoison = crashes >= (isFirstSuspect ? CRASHES_MAX : CRASHES_MAX_IN_COMPANY);
      const atMs = withinDeadline(nowMs + suspectPauseMs(crashes, context.random), context);
      return interrupted(
        outcome,
        isPoison
          ? { kind: 'dead', reason: 'crashed_workers' }
          : again({ atMs, attempt: soFar.attempt, crashes }, context),
      );
    }
    case 'FAILED':
    case 'TIMED_OUT':
      return { status: outcome.kind, error: outcome.error, next: afterFailure(outcome, context) };
  }
}

/** The attempt is shown as what it was, unless the run ends with it: then the run has failed. */
function interrupted(
  { kind, error }: Extract<RunOutcome, { kind: 'RETURNED' | 'LOST' }>,
  next: NextStep['next'],
): NextStep {
  return { status: next.kind === 'again' ? kind : 'FAILED', error, next };
}

function afterFailure(
  outcome: Extract<RunOutcome, { kind: 'FAILED' | 'TIMED_OUT' }>,
  context: DecideContext,
): NextStep['next'] {
  const { soFar, policy, nowMs, random } = context;
  if (outcome.kind === 'FAILED' && !outcome.retryable) return { kind: 'dead', reason: 'not_retryable' };
  if (policy.strategy === 'none' || soFar.attempt > policy.maxRetries) {
    return { kind: 'dead', reason: 'retries_exhausted' };
  }
  const asked = outcome.kind === 'FAILED' ? pauseMsOf(outcome.retryAfterMs) : 0;
  const atMs = nowMs + Math.max(retryDelayMs(policy, soFar.attempt, random), asked);
  return again({ atMs, attempt: soFar.attempt + 1, crashes: soFar.crashes }, context);
}

/** None after the first: servers die for many reasons, and hardly ever for a run. */
function suspectPauseMs(crashes: number, random: number): number {
  return crashes === 1 ? 0 : Math.floor(random * Math.min(1_000 * 2 ** (crashes - 1), SUSPECT_PAUSE_MS_MAX));
}

/**
 * None the first time, so that a drain costs no time. A return costs no retry, so whoever gives a run back again and again would be
 * handed it as often as the database allows.
 */
function returnPauseMs({ soFar, random }: DecideContext): number {
  const { attempt, crashes, epoch = attempt + crashes } = soFar;
  const returns = Math.max(0, timesHandedOut(epoch) - attempt - crashes);
  if (returns === 0) return 0;
  const pauseMs = Math.min(1_000 * 2 ** (returns - 1), RETURN_PAUSE_MS_MAX);
  return Math.floor((pauseMs * (1 + random)) / 2);
}

/** A pause of our own making kills nobody: what could not wait that long comes back at once. */
function withinDeadline(atMs: number, { soFar, policy, nowMs }: DecideContext): number {
  return atMs > soFar.nominalAtMs + (policy.deadlineMs ?? Number.POSITIVE_INFINITY) ? nowMs : atMs;
}

/** Whatever the reason to try again, nothing is planned past the deadline. */
function again(
  plan: { atMs: number; attempt: number; crashes: number },
  { soFar, policy }: DecideContext,
): NextStep['next'] {
  const { deadlineMs } = policy;
  if (deadlineMs !== undefined && plan.atMs > soFar.nominalAtMs + deadlineMs)
    return { kind: 'dead', reason: 'deadline_passed' };
  return { kind: 'again', ...plan };
}

const ASKED_PAUSE_MS_MAX = 24 * 3_600_000;

/** What the other side asked for may be any number; instants are whole milliseconds. */
function pauseMsOf(askedMs: number | undefined): number {
  if (askedMs === undefined || Number.isNaN(askedMs) || askedMs <= 0) return 0;
  return Math.ceil(Math.min(askedMs, ASKED_PAUSE_MS_MAX));
}
