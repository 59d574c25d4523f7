/**
 * What is being run, by whom. A lease covers one handed-out batch; a run leaves it exactly once, by being settled. Whoever
 * comes second (a late report, a second recovery) finds it gone and is refused: this is the fence.
 */
import type {
  ClaimedBatch,
  FinalRunStatus,
  JobId,
  LeaseId,
  NextStep,
  PendingRun,
  RetryPolicy,
  RunId,
  SkipReason,
  WorkerId,
} from '@carillon/domain';
import type { ShardGuard } from './shard-guard.ts';

export interface ClaimRequest {
  readonly leaseId: LeaseId;
  readonly workerId: WorkerId;
  readonly runs: readonly PendingRun[];
  readonly guard: ShardGuard;
  readonly nowMs: number;
}

/** Names one handing-out of one run. */
export interface HeldRef {
  readonly leaseId: LeaseId;
  readonly position: number;
  readonly epoch: number;
}

/** A run under a lease, with what its next step is decided by. */
export interface HeldRun extends HeldRef {
  readonly jobId: JobId;
  readonly runId: RunId;
  readonly workerId: WorkerId;
  readonly attempt: number;
  readonly crashes: number;
  readonly nominalAtMs: number;
  readonly claimedAtMs: number;
  readonly retry: RetryPolicy;
  readonly cancelRequested: boolean;
  /** Of its job, as it is now; with userId, the tenant that its retries are counted for. */
  readonly namespace: string;
  readonly userId: string | undefined;
}

export interface Settlement extends HeldRef {
  /** How many runs the lease was handed out with: lets a storage see that all of them ended together. */
  readonly leaseSize: number | undefined;
  readonly status: FinalRunStatus;
  readonly startedAtMs: number | undefined;
  readonly endedAtMs: number;
  readonly error: string | undefined;
  /** JSON text, within RESULT_BYTES_MAX. */
  readonly result: string | undefined;
  readonly next: NextStep['next'];
}

/** settled: done as asked. cancelled: a cancel came first, the run ends as CANCELLED. stale: not under this lease any more. */
export type SettleVerdict = 'settled' | 'cancelled' | 'stale';

export interface LiveRun {
  readonly jobId: JobId;
  readonly runId: RunId;
  readonly shard: number;
  readonly claimedAtMs: number;
  readonly workerId: WorkerId;
}

/** Ends or moves a run that waits: nothing of it was handed out. */
export type PendingVerdict =
  | { readonly kind: 'skip'; readonly run: PendingRun; readonly reason: SkipReason }
  | { readonly kind: 'expire'; readonly run: PendingRun; readonly error: string }
  | { readonly kind: 'defer'; readonly run: PendingRun; readonly untilMs: number; readonly reason: string };

export interface LateReport {
  readonly runId: RunId;
  readonly epoch: number;
  readonly claimedAtMs: number;
  readonly report: string;
}

export interface LeaseStore {
  /**
   * Moves the runs from pending into one lease. Answers those that were still pending, at their positions; none when the
   * worker is not registered or given up for dead, since nobody would recover them.
   */
  claim(request: ClaimRequest): Promise<ClaimedBatch>;
  /** Each settlement takes its run out of its lease, records the attempt, and plans what follows. Verdicts in order. */
  settle(settlements: readonly Settlement[], nowMs: number): Promise<SettleVerdict[]>;
  /** Which of these jobs somebody has locked at this moment: settling a run that changes one of them would wait. */
  lockedJobs(jobIds: readonly JobId[]): Promise<ReadonlySet<JobId>>;
  /** What is held under these references; undefined where it is no longer. */
  held(refs: readonly HeldRef[]): Promise<(HeldRun | undefined)[]>;
  /** Everything these workers hold. */
  heldBy(workers: readonly WorkerId[]): Promise<HeldRun[]>;
  /** Living runs of jobs in these shards: what concurrency limits are counted from. */
  live(shards: readonly number[]): Promise<LiveRun[]>;
  /** Verdicts on pending runs. Answers the runs that were still pending. */
  resolvePending(
    verdicts: readonly PendingVerdict[],
    options: { guard: ShardGuard; nowMs: number },
  ): Promise<ReadonlySet<RunId>>;
  /** Writes runs that take a while into the history as RUNNING, for people to see. */
  showRunning(refs: readonly (HeldRef & { readonly startedAtMs: number })[], nowMs: number): Promise<void>;
  /** Keeps what a refused report said, on the attempt it was about. */
  recordLate(reports: readonly LateReport[]): Promise<void>;
  /** Asks living runs to stop; the answer comes as their outcome. */
  requestCancel(runIds: readonly RunId[]): Promise<void>;
}
