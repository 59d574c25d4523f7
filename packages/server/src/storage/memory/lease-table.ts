/** The table `leases`: what is handed out, by lease and position, run, job and worker. An empty lease is no lease. */
import type { JobId, LeaseId, RunId, RunProgress, WorkerId } from '@carillon/domain';
import type { LeaseRef } from '../lease-store.ts';
import type { RunRecord } from './due-record.ts';
import { Groups } from './groups.ts';

export interface LeasedRecord {
  readonly leaseId: LeaseId;
  readonly position: number;
  readonly workerId: WorkerId;
  readonly claimedAtMs: number;
  /** When it was claimed. */
  readonly timeoutMs: number;
  /** The row as it stood in `due`; its epoch is the one it is leased at. */
  run: RunRecord;
  cancelRequested: boolean;
  /** Set once it is shown as running. */
  shown: { readonly startedAtMs: number; readonly atMs: number } | undefined;
  progress: RunProgress | undefined;
}

export class LeaseTable {
  readonly #leases = new Map<LeaseId, Map<number, LeasedRecord>>();
  readonly #byRun = new Map<RunId, LeasedRecord>();
  readonly #byJob = new Groups<JobId, LeasedRecord>();
  readonly #byWorker = new Groups<WorkerId, LeasedRecord>();

  hasLease(leaseId: LeaseId): boolean {
    return this.#leases.has(leaseId);
  }

  /** Undefined unless the run is still leased at this epoch (LEASE-1). */
  find({ leaseId, position, epoch }: LeaseRef): LeasedRecord | undefined {
    const leased = this.#leases.get(leaseId)?.get(position);
    return leased?.run.epoch === epoch ? leased : undefined;
  }

  ofRun(runId: RunId): LeasedRecord | undefined {
    return this.#byRun.get(runId);
  }

  ofJob(jobId: JobId): LeasedRecord[] {
    return this.#byJob.of(jobId);
  }

  ofLease(leaseId: LeaseId): LeasedRecord[] {
    return [...(this.#leases.get(leaseId)?.values() ?? [])];
  }

  ofWorker(workerId: WorkerId): LeasedRecord[] {
    return this.#byWorker.of(workerId);
  }

  all(): Iterable<LeasedRecord> {
    return this.#byRun.values();
  }

  add(leased: LeasedRecord): void {
    const lease = this.#leases.get(leased.leaseId);
    if (lease) lease.set(leased.position, leased);
    else this.#leases.set(leased.leaseId, new Map([[leased.position, leased]]));
    this.#byRun.set(leased.run.runId, leased);
    this.#byJob.add(leased.run.jobId, leased);
    this.#byWorker.add(leased.workerId, leased);
  }

  remove(leased: LeasedRecord): void {
    const lease = this.#leases.get(leased.leaseId);
    lease?.delete(leased.position);
    if (lease?.size === 0) this.#leases.delete(leased.leaseId);
    this.#byRun.delete(leased.run.runId);
    this.#byJob.remove(leased.run.jobId, leased);
    this.#byWorker.remove(leased.workerId, leased);
  }
}
