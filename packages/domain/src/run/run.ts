/** A run: pending (in `due`), then leased by a worker. The states are listed in ARCHITECTURE.md. */
import type { JobId, LeaseId, RunId, WorkerId } from '../ids.ts';
import type { Priority } from '../job/priority.ts';

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
  /** Its place in the lease, from 0, and how many there are. */
  readonly position: number;
  readonly leaseSize: number;
  readonly jobId: JobId;
  readonly runId: RunId;
  /** Grows each time the run is handed out; a report with an older one is refused. */
  readonly epoch: number;
  readonly attempt: number;
  readonly nominalAtMs: number;
  /** When it should have started: an occurrence at its instant, a retry or what a person asked for when it was queued. */
  readonly dueAtMs: number;
  readonly claimedAtMs: number;
  readonly handler: string;
  readonly payload: string;
  readonly timeoutMs: number;
  /** It holds a slot of its job, which becomes free when it ends. */
  readonly limited: boolean;
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
