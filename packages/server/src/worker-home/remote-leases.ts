/**
 * What a worker at the end of a stream holds, as its home knows it: what it was assigned here, and what the storage says is its own
 * from an earlier stream. A report, output or checkpoint about anything else is not the worker's to make (LEASE-12).
 */
import type { ClaimedBatch, JobId, LeaseId, RunId, WorkerId } from '@carillon/domain';
import type { HeldRun, ReportedRun } from '@carillon/worker';
import type { LeasedRun, LeaseStore } from '../storage/lease-store.ts';
import { RunMask } from './run-mask.ts';

/** Without payloads: a lease is remembered for as long as its longest run takes. */
interface KnownRun {
  readonly epoch: number;
  readonly jobId: JobId;
  readonly runId: RunId;
  /** Its end was told and is being recorded. */
  isTold: boolean;
  /** It has written output, and its log must be closed. */
  hasSpoken: boolean;
  /** Of a run that was assigned here; one of an earlier stream has left its secrets there. */
  readonly secrets: readonly string[] | undefined;
  /** Made when the run first says something. */
  mask?: RunMask | undefined;
}

interface KnownLease {
  readonly claimedAtMs: number;
  readonly size: number | undefined;
  readonly runs: Map<number, KnownRun>;
}

export interface RunRef {
  readonly leaseId: string;
  readonly position: number;
  readonly epoch: number;
}

export class RemoteLeases {
  readonly #leases: Pick<LeaseStore, 'leasedBy'>;
  readonly #workerId: WorkerId;
  readonly #known = new Map<LeaseId, KnownLease>();

  constructor({ leases, workerId }: { leases: Pick<LeaseStore, 'leasedBy'>; workerId: WorkerId }) {
    this.#leases = leases;
    this.#workerId = workerId;
  }

  ids(): LeaseId[] {
    return [...this.#known.keys()];
  }

  /** Of all leases: whose end is not recorded. */
  get runCount(): number {
    return [...this.#known.values()].reduce((sum, { runs }) => sum + runs.size, 0);
  }

  has(leaseId: string): boolean {
    return this.#known.has(leaseId as LeaseId);
  }

  assigned({ leaseId, claimedAtMs, runs }: ClaimedBatch): void {
    const known = new Map<number, KnownRun>();
    for (const { position, epoch, jobId, runId, secrets } of runs)
      known.set(position, {
        ...{ epoch, jobId, runId, isTold: false, hasSpoken: false, secrets },
      });
    this.#known.set(leaseId, { claimedAtMs, size: runs.length, runs: known });
  }

  /**
   * Reads those that the worker was assigned on an earlier stream. Not all that the storage has for it: what the worker does not name
   * may never have reached it.
   */
  async find(leaseIds: readonly string[]): Promise<void> {
    const missing = new Set(leaseIds.filter((leaseId) => !this.has(leaseId)));
    if (missing.size === 0) return;
    const leased = await this.#leases.leasedBy([this.#workerId]);
    for (const [leaseId, runs] of Map.groupBy(leased, (run) => run.leaseId)) {
      if (missing.has(leaseId) && !this.has(leaseId)) this.#known.set(leaseId, knownLease(runs));
    }
  }

  /** Runs of the lease whose end was not told. */
  openRuns(leaseId: LeaseId): number {
    let open = 0;
    for (const { isTold } of this.#known.get(leaseId)?.runs.values() ?? []) if (!isTold) open += 1;
    return open;
  }

  /** Undefined: it is not the worker's. */
  held(ref: RunRef): HeldRun | undefined {
    const lease = this.#known.get(ref.leaseId as LeaseId);
    const run = lease?.runs.get(ref.position);
    if (!lease || run?.epoch !== ref.epoch) return undefined;
    return reported(ref, lease, run);
  }

  /** As `held`, of a run that now has something to close at its end. */
  speaks(ref: RunRef): HeldRun | undefined {
    const held = this.held(ref);
    if (held) this.#known.get(held.leaseId)!.runs.get(ref.position)!.hasSpoken = true;
    return held;
  }

  maskOf({ leaseId, position }: Pick<HeldRun, 'leaseId' | 'position'>): RunMask | undefined {
    const run = this.#known.get(leaseId)?.runs.get(position);
    if (run?.secrets) run.mask ??= RunMask.of(run.secrets);
    return run?.mask;
  }

  /** For the end of a run. told: it was told before, and is being recorded. */
  ends(ref: RunRef): { run: ReportedRun; hasSpoken: boolean } | 'told' | undefined {
    const lease = this.#known.get(ref.leaseId as LeaseId);
    const run = lease?.runs.get(ref.position);
    if (!lease || run?.epoch !== ref.epoch) return undefined;
    if (run.isTold) return 'told';
    run.isTold = true;
    return { run: { ...reported(ref, lease, run), leaseSize: lease.size }, hasSpoken: run.hasSpoken };
  }

  /** The end of a run is recorded, or refused for good. */
  settled({ leaseId, position }: Pick<ReportedRun, 'leaseId' | 'position'>): void {
    const lease = this.#known.get(leaseId);
    lease?.runs.delete(position);
    if (lease?.runs.size === 0) this.#known.delete(leaseId);
  }
}

function knownLease(runs: readonly LeasedRun[]): KnownLease {
  return {
    claimedAtMs: runs[0]!.claimedAtMs,
    size: undefined,
    runs: new Map(
      runs.map(({ position, epoch, jobId, runId }) => [
        position,
        { epoch, jobId, runId, isTold: false, hasSpoken: false, secrets: undefined },
      ]),
    ),
  };
}

function reported(ref: RunRef, { claimedAtMs }: KnownLease, { jobId, runId }: KnownRun): HeldRun {
  const { position, epoch } = ref;
  return { leaseId: ref.leaseId as LeaseId, position, epoch, jobId, runId, claimedAtMs };
}

/** The worker's clock may be anywhere: what it says is kept between the claim and now. */
export function within(told: bigint, { fromMs, nowMs }: { fromMs: number; nowMs: number }): number {
  return Math.max(fromMs, Math.min(Number(told), nowMs));
}
