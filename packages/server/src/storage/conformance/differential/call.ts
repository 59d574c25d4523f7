/**
 * Calls of the storage's ports as plain values. Runs and jobs are named by id and everything else (cursors, leases, versions) is
 * looked up by whoever plays the call, so that a sequence still makes sense after some of its calls were left out.
 */
import type {
  FinalRunStatus,
  Job,
  JobId,
  LeaseId,
  NextStep,
  NodeId,
  RunId,
  Schedule,
  WorkerId,
} from '@carillon/domain';
import type { FirstDue, NewRun } from '../../due.ts';
import type { NewJob } from '../../job-store.ts';
import type { LanePick } from '../../lease-store.ts';
import type { SkippedRange } from '../../schedule-store.ts';

/** owner: of all shards. partial: of every second one. former: the owner before the last change of hands. */
export type GuardChoice = 'owner' | 'partial' | 'former';

export type ChangeCall = {
  readonly jobId: JobId;
  readonly over: Partial<Job>;
  /** Decided on a version that is not there any more. */
  readonly isStale: boolean;
} & (
  | { readonly kind: 'keep' | 'hold' | 'release' | 'drop' }
  | { readonly kind: 'replan'; readonly schedule: Schedule; readonly first: FirstDue | undefined }
);

export interface FireCall {
  readonly jobId: JobId;
  /** The cursor is given with a version that is not there any more. */
  readonly isStale: boolean;
  readonly runs: readonly RunId[];
  readonly skipped: readonly Pick<SkippedRange, 'runId' | 'reason' | 'count'>[];
  readonly nextInMs: number | undefined;
}

export interface SettleCall {
  readonly runId: RunId;
  /** 0: the latest handing-out of the run, 1: the one before it. */
  readonly ago: number;
  readonly status: FinalRunStatus;
  readonly next: NextStep['next'];
  readonly error: string | undefined;
  readonly result: string | undefined;
  readonly hasStart: boolean;
  /** Whether it says how many runs the lease had. */
  readonly hasSize: boolean;
}

export type Action =
  | { readonly do: 'insert'; readonly jobs: readonly NewJob[]; readonly whole: boolean }
  | { readonly do: 'change'; readonly change: ChangeCall }
  | { readonly do: 'enqueue' | 'enqueueOnce'; readonly jobId: JobId; readonly run: NewRun }
  | { readonly do: 'remove'; readonly jobId: JobId }
  | { readonly do: 'cancelRun'; readonly runId: RunId }
  | { readonly do: 'fire'; readonly fires: readonly FireCall[]; readonly guard: GuardChoice }
  | { readonly do: 'admit' | 'replace'; readonly jobIds: readonly JobId[]; readonly guard: GuardChoice }
  | { readonly do: 'reconcile' | 'expire'; readonly guard: GuardChoice }
  | { readonly do: 'expireUnoffered'; readonly beforeMs: number; readonly guard: GuardChoice }
  | {
      readonly do: 'claim';
      readonly leaseId: LeaseId;
      readonly workerId: WorkerId;
      readonly lanes: readonly LanePick[];
      readonly runsMax: number;
    }
  | { readonly do: 'settle'; readonly settlements: readonly SettleCall[] }
  | { readonly do: 'cancelRuns'; readonly runIds: readonly RunId[] }
  | { readonly do: 'showRunning'; readonly runIds: readonly RunId[] }
  | { readonly do: 'recordLate'; readonly runId: RunId; readonly ago: number; readonly report: string }
  | { readonly do: 'redrive'; readonly runId: RunId; readonly as: RunId }
  | { readonly do: 'attempts'; readonly runId: RunId }
  | { readonly do: 'onWorker'; readonly workerId: WorkerId }
  | { readonly do: 'markDead' | 'register'; readonly workerId: WorkerId }
  | { readonly do: 'changeHands'; readonly nodeId: NodeId }
  | { readonly do: 'beginGeneration' };

export type Call = Action & { readonly nowMs: number };
