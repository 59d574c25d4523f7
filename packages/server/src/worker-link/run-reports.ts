/**
 * What workers report about their runs. Every report carries the lease and epoch under which the run was handed out; one about a run
 * that another worker has by now is answered `stale`, and the worker must stop what it still does for it.
 */
import type { JobId, LeaseId, RunId, RunOutcome } from '@carillon/domain';
import type { SettleVerdict } from '../storage/lease-store.ts';

/** One handing-out of one run, as its reporter knows it. */
export interface ReportedRun {
  readonly leaseId: LeaseId;
  readonly position: number;
  /** How many runs the lease was handed out with, where the reporter knows. */
  readonly leaseSize?: number | undefined;
  readonly epoch: number;
  readonly jobId: JobId;
  readonly runId: RunId;
  readonly claimedAtMs: number;
}

export interface RunReport {
  readonly run: ReportedRun;
  readonly startedAtMs: number | undefined;
  readonly endedAtMs: number;
  readonly outcome: RunOutcome;
}

/** Durable, or refused for good; an error when it may be sent again. */
export type ReportAnswer = SettleVerdict | Error;

export interface RunningReport {
  readonly leaseId: LeaseId;
  readonly position: number;
  readonly epoch: number;
  readonly startedAtMs: number;
}

export interface RunReports {
  /** In batches, because a promise for each would cost more than the run. Answers in order. */
  ended(reports: readonly RunReport[]): Promise<readonly ReportAnswer[]>;
  /** Runs that have been going on for a while, so that people see them. Best effort. */
  running(reports: readonly RunningReport[]): void;
}
