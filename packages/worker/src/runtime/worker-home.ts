/**
 * Where a worker belongs: who gives it runs, hears its beats and records what becomes of them. A port with two adapters: the home
 * in the same process, over the storage, and a server at the other end of a stream. A worker is trusted by its answered beats alone.
 */
import type { ClaimedBatch, JobId, LeaseId, RunId, RunOutcome, RunUsage, WorkerId } from '@carillon/domain';
import type { RunChannel } from '../run-channel.ts';

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
  readonly usage?: RunUsage | undefined;
}

/** settled: recorded as told. cancelled: somebody cancelled the run before. stale: not under this lease any more. */
export type ReportVerdict = 'settled' | 'cancelled' | 'stale';

/** Durable, or refused for good; an error when it may be sent again. */
export type ReportAnswer = ReportVerdict | Error;

export interface RunningReport {
  readonly leaseId: LeaseId;
  readonly position: number;
  readonly epoch: number;
  readonly startedAtMs: number;
}

/** away: whoever records does not answer. locked: somebody holds locked what it needs; `look` tells how to find who. */
export interface PassingFault {
  readonly kind: 'away' | 'locked';
  readonly look?: string | undefined;
}

/** Takes the ends of runs, in batches, because a promise for each would cost more than the run. Answers in order. */
export interface ReportTaker {
  ended(reports: readonly RunReport[]): Promise<readonly ReportAnswer[]>;
  /** Undefined: the report itself cannot be recorded, however often it is sent. */
  faultOf(error: Error): PassingFault | undefined;
}

/** An answered beat. */
export interface Heard {
  /** When the beat was sent, monotonic: a slow answer must not lengthen the trust. */
  readonly sentAt: number;
  readonly trustMs: number;
  /** Until the next beat. */
  readonly beatMs: number;
  /** Somebody asked the worker to take no more runs; it stays, and is asked to take runs again by a later beat. */
  readonly draining?: boolean;
}

export interface WorkerHome extends ReportTaker {
  /** Keeps what runs say. */
  readonly channel: RunChannel;
  /** It gives no run while `unrecordedLeft` of the worker is 0. Else it counts by itself what is not recorded. */
  readonly heedsUnrecordedLeft: boolean;
  /** From now on the home may call the worker, whose id may change. leaving: aborted when nothing is left to tell. */
  open(worker: HomeWorker, leaving: AbortSignal): void;
  /** The worker has begun to beat: what else it must learn is looked up from now on. */
  watch(): void;
  /** Undefined: it was buried under this id. */
  register(): Promise<Heard | undefined>;
  /** The worker is registered and trusted: it may be given runs. */
  attach(): void;
  /** Undefined: the worker is buried, and its runs belong to others. */
  beat(): Promise<Heard | undefined>;
  /** The home has given the runs of the lease back: should they arrive after all, they belong to other workers (LEASE-11). */
  wasGivenUp(leaseId: LeaseId): boolean;
  /** Runs that have been going on for a while, so that people see them. Best effort. */
  running(reports: readonly RunningReport[]): void;
  /** Slots became free, or outcomes were recorded. */
  changed(): void;
  /** Gives no more runs to the worker, which goes on with those that it has. */
  takeNoMore(): void;
  /** The worker will not be under its present id any more. */
  detach(): void;
  /** Nothing of the worker is left. */
  leave(): Promise<void>;
}

/** The worker as its home calls it. */
export interface HomeWorker {
  readonly workerId: WorkerId;
  /** How many runs it executes at a time; 0 while it takes none. */
  readonly slots: number;
  /** The same, whether or not it takes any now. */
  readonly slotsMax: number;
  /** Executions that have not returned, also of runs that belong to other workers by now. */
  readonly runningCount: number;
  /** How many of these each namespace has, by the number that its runs came with. */
  heldBy(): ReadonlyMap<number, number>;
  readonly handlers: readonly string[];
  /** Runs it may take on before outcomes of earlier ones are recorded. */
  readonly unrecordedLeft: number;
  /** Runs that have ended and whose outcome is not recorded yet. */
  readonly unrecordedCount: number;
  /** It was asked to take no more runs. */
  readonly isDraining: boolean;
  /** Handlers that have not returned though their runs were reported. */
  readonly stuckCount: number;
  accept(batch: ClaimedBatch): void;
  /** Leases with runs that still have to be reported. */
  heldLeases(): readonly LeaseId[];
  /** The positions of those runs. */
  heldRuns(): ReadonlyMap<LeaseId, ReadonlySet<number>>;
  cancel(runIds: readonly RunId[]): void;
  /** Stops what still runs under leases that are not the worker's any more; answers how many runs. */
  stopUnknown(leases: readonly LeaseId[]): number;
  /** The way to the home was lost, and may be found again. */
  beatSoon(): void;
}
