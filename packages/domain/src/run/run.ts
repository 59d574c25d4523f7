/** A run: pending (in `due`), then leased by a worker, and how its attempts end. The states are listed in ARCHITECTURE.md. */
import type { JobId, LeaseId, RunId, WorkerId } from '../ids.ts';
import type { Priority } from '../job/job.ts';
import type { DeadReason } from '../retry/decide-next.ts';
import type { Schedule } from '../schedule/schedule.ts';
import type { WaitsFor } from './waits-for.ts';

/** Who asked for it: the schedule, a person (run now), or a redriven dead letter. */
export type RunTrigger = 'schedule' | 'manual' | 'redrive';

/** planned: it is admitted at its instant. waiting: its job is at its limit. open: it may be claimed from its instant on. */
export type PendingState = 'planned' | 'waiting' | 'open';

/** A run that waits, as people and tests look at it. */
export interface PendingRun {
  readonly jobId: JobId;
  readonly runId: RunId;
  readonly shard: number;
  readonly priority: Priority;
  /** Not before this instant. */
  readonly fireAtMs: number;
  /** The occurrence it stands for; never changes over retries. */
  readonly nominalAtMs: number;
  readonly trigger: RunTrigger;
  readonly attempt: number;
  readonly handler: string;
  /** Given up if it has not started by then. */
  readonly expiresAtMs: number | undefined;
  readonly state: PendingState;
  /** Its job is paused. */
  readonly held: boolean;
}

/** A run handed to a worker: what the handler needs, and the lease and epoch every report about it must carry. */
export interface ClaimedRun {
  readonly leaseId: LeaseId;
  /** Its position in the lease, from 0, and how many there are. */
  readonly position: number;
  readonly leaseSize: number;
  readonly jobId: JobId;
  readonly runId: RunId;
  /** Grows each time the run is handed out; a report with an older one is refused. */
  readonly epoch: number;
  readonly attempt: number;
  readonly nominalAtMs: number;
  /**
   * When it should have started: an occurrence at its instant, a retry or what a person asked for when it was queued. One that waited
   * for a slot of its job: when it got the slot. One that was handed out before, or repeats
   * another: when it was queued.
   */
  readonly dueAtMs: number;
  readonly claimedAtMs: number;
  readonly handler: string;
  readonly payload: string;
  readonly timeoutMs: number;
  /** It holds a slot of its job, which becomes free when it ends. */
  readonly limited: boolean;
  /** A number for the namespace of its job, by which the slots are counted that each namespace holds. Left out: it counts for none. */
  readonly namespaceKey?: number | undefined;
  /** Of a request that may have to be signed, or a payload that may name secrets; undefined otherwise, which spares claims a read of the job. */
  readonly namespace?: string | undefined;
  /** JSON text that an earlier attempt of this run saved last; undefined when none did. */
  readonly checkpoint?: string | undefined;
  /** Secret values that the payload holds: they are masked wherever the run's output, result and error are kept. */
  readonly secrets?: readonly string[] | undefined;
  /** Headers that sign its request, where the keys are not known to its worker: they hold for this body, for some minutes. */
  readonly signature?: Readonly<Record<string, string>> | undefined;
  /** It cannot be run, and ends like this: its handler is not called. It is handed over because every run of a lease is. */
  readonly failure?: RunOutcome | undefined;
}

export interface ClaimedBatch {
  readonly leaseId: LeaseId;
  readonly workerId: WorkerId;
  readonly claimedAtMs: number;
  readonly runs: readonly ClaimedRun[];
}

const VERSION_AT = 14;

/**
 * The id of the run of an occurrence: derived from job and nominal instant, so that the same occurrence always has the same
 * idempotency key, whoever fires it and after whatever restore. It begins with the instant, as ids of UUID version 7 do, so ids
 * made one after the other lie beside each other in an index; the rest is what makes the job's own id unique. The first run of a
 * one-off has the id of the job itself.
 */
export function occurrenceRunId(jobId: JobId, nominalMs: number): RunId {
  const instant = Math.max(0, nominalMs).toString(16).padStart(12, '0');
  // Version 8 of RFC 9562: made by a rule of one's own.
  return `${instant.slice(0, 8)}-${instant.slice(8, 12)}-8${jobId.slice(VERSION_AT + 1)}` as RunId;
}

/** The states of a run (one occurrence, attempt by attempt) and the one table of moves between them. */
export const RUN_STATUSES = [
  'QUEUED',
  'CLAIMED',
  'RUNNING',
  'CANCELLING',
  'SUCCESS',
  'FAILED',
  'CANCELLED',
  'TIMED_OUT',
  'SKIPPED',
  'RETURNED',
  'LOST',
] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

/**
 * Back to QUEUED: a retry. RETURNED: its worker gave it back; LOST: its worker fell silent, and the run was taken back. Either costs no
 * attempt, and the run goes on: one that does not is FAILED. CANCELLING: it is under a lease, and was asked to
 * stop; whatever it ends with then, it is CANCELLED.
 */
const MOVES: Record<RunStatus, readonly RunStatus[]> = {
  QUEUED: ['CLAIMED', 'CANCELLED', 'SKIPPED', 'FAILED'],
  CLAIMED: [
    'RUNNING',
    'CANCELLING',
    'SUCCESS',
    'FAILED',
    'CANCELLED',
    'TIMED_OUT',
    'RETURNED',
    'LOST',
    'QUEUED',
  ],
  RUNNING: ['CANCELLING', 'SUCCESS', 'FAILED', 'CANCELLED', 'TIMED_OUT', 'RETURNED', 'LOST', 'QUEUED'],
  CANCELLING: ['CANCELLED'],
  SUCCESS: [],
  FAILED: ['QUEUED'],
  CANCELLED: [],
  TIMED_OUT: ['QUEUED'],
  SKIPPED: [],
  RETURNED: ['QUEUED'],
  LOST: ['QUEUED'],
};

export function canMoveRun(from: RunStatus, to: RunStatus): boolean {
  return MOVES[from].includes(to);
}

/** What an attempt ends with. */
export type FinalRunStatus = Exclude<RunStatus, 'QUEUED' | 'CLAIMED' | 'RUNNING' | 'CANCELLING'>;

export function isFinal(status: RunStatus): status is FinalRunStatus {
  return MOVES[status].every((next) => next === 'QUEUED');
}

/** It may be tried again. */
export function isFailure(status: string): boolean {
  return status === 'FAILED' || status === 'TIMED_OUT';
}

/** Under a lease: a worker has it. */
export function isLeased(status: RunStatus): boolean {
  return status === 'CLAIMED' || status === 'RUNNING' || status === 'CANCELLING';
}

/** Why an occurrence has no execution. */
export const SKIP_REASONS = ['misfire', 'overlap', 'queue_full', 'replaced', 'paused'] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];

/**
 * How an attempt ended, as a value: a user job's failure is never a throw inside the engine. LOST and RETURNED are the
 * engine's own: the worker fell silent, or gave the run back unrun or unfinished (shutdown, message lost). A result is JSON
 * text: it is kept as it came, and only those who show it read it.
 */
export type RunOutcome =
  | { readonly kind: 'SUCCESS'; readonly result?: string }
  | {
      readonly kind: 'FAILED';
      readonly error: string;
      /** false: trying again cannot help (a 4xx answer, an undecodable payload). */
      readonly retryable: boolean;
      /** The other side asked for a pause (Retry-After). */
      readonly retryAfterMs?: number;
      readonly result?: string;
    }
  | { readonly kind: 'TIMED_OUT'; readonly error: string }
  | { readonly kind: 'CANCELLED'; readonly error?: string }
  | {
      readonly kind: 'LOST';
      readonly error: string;
      /** The most workers that any other run on board had lost before; left out when it was alone. */
      readonly othersCrashes?: number;
    }
  | { readonly kind: 'RETURNED'; readonly error: string };

export const ERROR_LENGTH_MAX = 4_000;
export const RESULT_BYTES_MAX = 64 * 1024;
export const CHECKPOINT_BYTES_MAX = 256 * 1024;
export const PROGRESS_MESSAGE_LENGTH_MAX = 200;

/** How far a run is, as it said last. */
export interface RunProgress {
  /** From 0 to 100. */
  readonly percent: number;
  readonly message?: string | undefined;
}

/** What is known of a checkpoint, but for its value. */
export interface CheckpointFacts {
  readonly savedAtMs: number;
  /** Of its value as JSON text. */
  readonly bytes: number;
  /** Of the attempt that saved it. */
  readonly epoch: number;
}

/** What an attempt took of the machine, as far as its handler knows. */
export interface RunUsage {
  /** The most at a time. */
  readonly peakMemoryBytes?: number | undefined;
  /** Of all its processes. */
  readonly cpuSeconds?: number | undefined;
}

/** What is known of a run: one attempt of one occurrence. */
export interface RunFacts {
  readonly runId: RunId;
  readonly jobId: JobId;
  readonly status: RunStatus;
  readonly attempt: number;
  readonly epoch: number;
  readonly trigger: RunTrigger;
  /** It stands for a run that had ended: a person redrove that, or ran it again. */
  readonly isRepeat: boolean;
  readonly scheduledAtMs: number;
  readonly createdAtMs: number;
  readonly startedAtMs: number | undefined;
  readonly endedAtMs: number | undefined;
  readonly modifiedAtMs: number;
  readonly executorId: string | undefined;
  readonly error: string | undefined;
  /** Why it was skipped. */
  readonly reason: string | undefined;
  /** Of one that waits. */
  readonly waitsFor: WaitsFor | undefined;
  /** JSON text. */
  readonly result: string | undefined;
  readonly logUrl: string | undefined;
  readonly jobVersion: number;
  /** SKIPPED ranges stand for several occurrences. */
  readonly occurrences: number;
  /** What a refused report said after the run had been given to another worker. */
  readonly lateReport: string | undefined;
  /** Why a person asked for it, in their words. */
  readonly requestReason: string | undefined;
  readonly progress: RunProgress | undefined;
  readonly peakMemoryBytes: number | undefined;
  readonly cpuSeconds: number | undefined;
  /** Of an occurrence that began: the schedule of its job, where that spreads its starts. */
  readonly spread: Schedule | undefined;
}

export interface DeadLetter {
  readonly runId: RunId;
  readonly jobId: JobId;
  readonly jobName: string | undefined;
  /** Of the job; undefined when it was deleted. */
  readonly namespace: string | undefined;
  readonly userId: string | undefined;
  readonly reason: DeadReason;
  readonly error: string | undefined;
  readonly attempts: number;
  readonly scheduledAtMs: number;
  readonly diedAtMs: number;
  /** The run that was added when somebody redrove it, or ran the dead run again. */
  readonly redrivenAs: RunId | undefined;
  /** The later run of the same one-off that succeeded. */
  readonly resolvedBy: RunId | undefined;
}

/** A run that a person asked for because another one had ended: it was redriven, or run again. */
export interface RunRepeat {
  readonly runId: RunId;
  /** The name of who asked; undefined: not known. */
  readonly requestedBy: string | undefined;
  readonly requestedAtMs: number;
}
