/**
 * Leases: which worker has which runs. A lease covers one claimed batch; a run leaves it once, by being settled. A second settlement
 * (a late report, a second recovery) is stale and refused (LEASE-1).
 */
import type {
  ClaimedBatch,
  FinalRunStatus,
  JobId,
  LeaseId,
  NextStep,
  RetryPolicy,
  RunId,
  RunUsage,
  WorkerId,
} from '@carillon/domain';
import type { LaneHead, LaneHint, LaneKey, LaneMark } from './lane.ts';

/** Up to runsMax runs of the lane, from after the mark on. */
export interface LanePick {
  readonly lane: LaneKey;
  readonly after: LaneMark;
  readonly runsMax: number;
}

export interface ClaimRequest {
  readonly leaseId: LeaseId;
  readonly workerId: WorkerId;
  readonly nowMs: number;
  /** Lane after lane until there are runsMax. */
  readonly pick: { readonly lanes: readonly LanePick[]; readonly runsMax: number };
}

/** What a claim saw of a lane. */
export interface LaneScan {
  readonly found: number;
  /** The last run that was found. */
  readonly last: LaneMark | undefined;
  /** Where the lane was read to its end: when its next run may be claimed. */
  readonly nextAtMs: number | undefined;
}

export interface Claimed extends ClaimedBatch {
  /**
   * One per lane that was asked for, in order; those after the last that was needed were not looked at. None: nothing can be said of
   * them, as for a dead worker.
   */
  readonly scans: readonly LaneScan[];
  /** It ended early because its runs have much to carry: the lane it ended in and those after it may have more. */
  readonly isCut: boolean;
}

/**
 * Checkpoints and payloads that one claim answers, together: a claim of many runs must neither hold up nor fill the server that it is
 * answered to. Small payloads are not counted. One run is always given, or nobody would ever get it.
 */
export const CLAIM_BYTES_MAX = 8 * 1024 * 1024;
export const SMALL_PAYLOAD_BYTES_MAX = 512;

/** Names one handing-out of one run. */
export interface LeaseRef {
  readonly leaseId: LeaseId;
  readonly position: number;
  readonly epoch: number;
}

/** A run under a lease, with what its next step is decided by. */
export interface LeasedRun extends LeaseRef {
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

export interface OverdueRun extends LeasedRun {
  readonly timeoutMs: number;
}

export interface Settlement extends LeaseRef {
  /** How many runs the lease was handed out with: lets a storage see that all of them ended together. */
  readonly leaseSize: number | undefined;
  readonly status: FinalRunStatus;
  readonly startedAtMs: number | undefined;
  readonly endedAtMs: number;
  readonly error: string | undefined;
  /** JSON text, within RESULT_BYTES_MAX. */
  readonly result: string | undefined;
  /** Only of runs whose handler knows it. */
  readonly usage?: SettledUsage | undefined;
  readonly next: NextStep['next'];
}

/** With what the record of the attempt is found by. */
export interface SettledUsage extends RunUsage {
  readonly runId: RunId;
  readonly claimedAtMs: number;
}

/** settled: done as asked. cancelled: a cancel came first, the run ends as CANCELLED. stale: not under this lease any more. */
export type SettleVerdict = 'settled' | 'cancelled' | 'stale';

/** Verdicts in the order of the settlements, and what became possible. */
export interface Settled {
  readonly verdicts: readonly SettleVerdict[];
  /** Jobs with a free slot that other runs of theirs wait for. */
  readonly freed: readonly JobId[];
  /** Runs that are tried again, in lanes or asking for a slot of their job. */
  readonly opened: readonly LaneHint[];
  readonly planned: readonly { readonly shard: number; readonly atMs: number }[];
}

export interface LateReport {
  readonly runId: RunId;
  readonly epoch: number;
  readonly claimedAtMs: number;
  readonly report: string;
}

export interface LeaseStore {
  /** The first run of every lane, in the order of lanes, from after a lane on; at most limit. */
  lanes(page: { readonly after: LaneKey | undefined; readonly limit: number }): Promise<LaneHead[]>;
  /**
   * Moves open runs into one lease, but for those that another transaction has locked. Returns them at their positions; none when
   * the worker is dead or not registered (DISP-7). What they carry has CLAIM_BYTES_MAX at most.
   */
  claim(request: ClaimRequest): Promise<Claimed>;
  /**
   * Each settlement takes its run out of its lease, records the attempt, and plans what follows. Of two about the same run the
   * first counts. Fails with StorageUnfit where no settlement could be recorded now, whatever it says; so does leased().
   */
  settle(settlements: readonly Settlement[], nowMs: number): Promise<Settled>;
  /** Which of these jobs another transaction has locked: settling a run that changes one of them would wait. */
  lockedJobs(jobIds: readonly JobId[]): Promise<ReadonlySet<JobId>>;
  /** What is held under these references; undefined where it is no longer. */
  leased(refs: readonly LeaseRef[]): Promise<(LeasedRun | undefined)[]>;
  /** Everything these workers hold. */
  leasedBy(workers: readonly WorkerId[]): Promise<LeasedRun[]>;
  /**
   * Runs that were claimed so long ago that their time limit was over before this instant; at most limit. The limit is the one at which
   * they were claimed, whatever became of their job.
   */
  overdue(request: { readonly beforeMs: number; readonly limit: number }): Promise<OverdueRun[]>;
  /** Writes runs that take a while into the history as RUNNING, for people to see. */
  showRunning(refs: readonly (LeaseRef & { readonly startedAtMs: number })[], nowMs: number): Promise<void>;
  /** Keeps what a refused report said, on the attempt it was about. */
  recordLate(reports: readonly LateReport[]): Promise<void>;
}
