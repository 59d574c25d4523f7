/** The table `leases`: what is handed out, by lease and position, run, job and worker. An empty lease is no lease. */
import type { JobId, LeaseId, RunId, WorkerId } from '@carillon/domain';
import type { HeldRef } from '../lease-store.ts';
import type { RunRecord } from './due-record.ts';
import { Groups } from './groups.ts';

export interface HeldRecord {
  readonly leaseId: LeaseId;
  readonly position: number;
  readonly workerId: WorkerId;
  readonly claimedAtMs: number;
  /** The row as it stood in `due`; its epoch is the one it is held at. */
  run: RunRecord;
  cancelRequested: boolean;
  /** Set once people were told that it runs. */
  shown: { readonly startedAtMs: number; readonly atMs: number } | undefined;
}

export class LeaseTable {
  readonly #leases = new Map<LeaseId, Map<number, HeldRecord>>();
  readonly #byRun = new Map<RunId, HeldRecord>();
  readonly #byJob = new Groups<JobId, HeldRecord>();
  readonly #byWorker = new Groups<WorkerId, HeldRecord>();

  hasLease(leaseId: LeaseId): boolean {
    return this.#leases.has(leaseId);
  }

  /** Undefined unless the run is still held at this very epoch: this is the fence. */
  find({ leaseId, position, epoch }: HeldRef): HeldRecord | undefined {
    const held = this.#leases.get(leaseId)?.get(position);
    return held?.run.epoch === epoch ? held : undefined;
  }

  ofRun(runId: RunId): HeldRecord | undefined {
    return this.#byRun.get(runId);
  }

  ofJob(jobId: JobId): HeldRecord[] {
    return this.#byJob.of(jobId);
  }

  ofLease(leaseId: LeaseId): HeldRecord[] {
    return [...(this.#leases.get(leaseId)?.values() ?? [])];
  }

  ofWorker(workerId: WorkerId): HeldRecord[] {
    return this.#byWorker.of(workerId);
  }

  all(): Iterable<HeldRecord> {
    return this.#byRun.values();
  }

  add(held: HeldRecord): void {
    const lease = this.#leases.get(held.leaseId);
    if (lease) lease.set(held.position, held);
    else this.#leases.set(held.leaseId, new Map([[held.position, held]]));
    this.#byRun.set(held.run.runId, held);
    this.#byJob.add(held.run.jobId, held);
    this.#byWorker.add(held.workerId, held);
  }

  remove(held: HeldRecord): void {
    const lease = this.#leases.get(held.leaseId);
    lease?.delete(held.position);
    if (lease?.size === 0) this.#leases.delete(held.leaseId);
    this.#byRun.delete(held.run.runId);
    this.#byJob.remove(held.run.jobId, held);
    this.#byWorker.remove(held.workerId, held);
  }
}
