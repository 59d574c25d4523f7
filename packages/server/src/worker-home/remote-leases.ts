/**
 * What a worker at the end of a stream holds, as its home knows it: what it was assigned here, and what the storage says is its own
 * from an earlier stream. A report, output or checkpoint about anything else is not the worker's to make (LEASE-12).
 */
import type { ClaimedBatch, JobId, LeaseId, RunId, WorkerId } from '@carillon/domain';
import type { HeldRun, ReportedRun } from '@carillon/worker';
import { namespaceKey } from '../storage/lane.ts';
import type { LeasedRun, LeaseStore } from '../storage/lease-store.ts';
import { heldLeasesMax, ProtocolBroken } from './frame-bounds.ts';
import type { ReadHello } from './read-hello.ts';
import { RunMask } from './run-mask.ts';

/** Without payloads: a lease is remembered for as long as its longest run takes. */
interface KnownRun {
  readonly epoch: number;
  readonly jobId: JobId;
  readonly runId: RunId;
  readonly namespaceKey: number | undefined;
  /** Its end was told and is being recorded. */
  isTold: boolean;
  /** It has written output, and its log must be closed. */
  hasSpoken: boolean;
  /** Of a run that was assigned here; one of an earlier stream has left its secrets there. */
  readonly secrets: readonly string[] | undefined;
  /** Made when the run first says something. */
  mask?: RunMask | undefined;
}

/** Beats that did not name a lease, one after the other. */
interface Unnamed {
  readonly since: number;
  beats: number;
}

interface KnownLease {
  /** Messages that hold its runs and are not on their way yet. */
  unsent: number;
  unnamed?: Unnamed | undefined;
  /** It was assigned on an earlier stream. */
  readonly isFromEarlier: boolean;
  readonly claimedAtMs: number;
  readonly size: number | undefined;
  readonly runs: Map<number, KnownRun>;
}

/** A lookup in the storage costs as much as so many words. */
const LOOKUP_COST = 100;
/** For how long a worker waits for the answer to a beat before the stream is dead to it. */
const ANSWER_MS_MAX = 5_000;

export interface RunRef {
  readonly leaseId: string;
  readonly position: number;
  readonly epoch: number;
}

export class RemoteLeases {
  readonly #leases: Pick<LeaseStore, 'leasedBy'>;
  readonly #workerId: WorkerId;
  readonly #known = new Map<LeaseId, KnownLease>();
  /** Looked for since the last beat, and not found. */
  readonly #missing = new Set<string>();
  /** What was said since the last beat about leases that are not the worker's. */
  #strange = 0;
  /** On this stream. */
  #assignedCount = 0;

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

  /** How many runs that have not told their end each namespace has. */
  heldBy(): ReadonlyMap<number, number> {
    const held = new Map<number, number>();
    for (const { runs } of this.#known.values())
      for (const { namespaceKey: key, isTold } of runs.values())
        if (key !== undefined && !isTold) held.set(key, (held.get(key) ?? 0) + 1);
    return held;
  }

  /**
   * How many leases the worker can hold by now: those of its hello and those that it was assigned since, of which it may not have heard
   * yet that they are settled or not its own any more; and one for each slot, from the end of an earlier stream.
   */
  heldMax({ slots, heldRuns }: Pick<ReadHello, 'slots' | 'heldRuns'>): number {
    return Math.min(heldLeasesMax(slots), slots + heldRuns.size + this.#assignedCount);
  }

  has(leaseId: string): boolean {
    return this.#known.has(leaseId as LeaseId);
  }

  assigned({ leaseId, claimedAtMs, runs }: ClaimedBatch): void {
    this.#assignedCount += 1;
    const known = new Map<number, KnownRun>();
    for (const { position, epoch, jobId, runId, namespaceKey, secrets } of runs)
      known.set(position, {
        ...{ epoch, jobId, runId, namespaceKey, isTold: false, hasSpoken: false, secrets },
      });
    this.#known.set(leaseId, {
      claimedAtMs,
      isFromEarlier: false,
      size: runs.length,
      runs: known,
      unsent: 0,
    });
  }

  /** A message with runs of the lease waits to be sent. Answers what to call when it is. */
  sends(leaseId: LeaseId): () => void {
    const lease = this.#known.get(leaseId);
    if (!lease) return () => undefined;
    lease.unsent += 1;
    return () => {
      lease.unsent -= 1;
    };
  }

  /**
   * LEASE-16. A beat named these leases: whose runs the worker has not ended, and has not named in beats for so long that it must have
   * heard of them. Answers each once.
   */
  missing(
    named: readonly string[],
    { at, beatMs }: { readonly at: number; readonly beatMs: number },
  ): LeaseId[] {
    const beatsMin = 2 + Math.ceil(ANSWER_MS_MAX / beatMs);
    const held = new Set(named);
    const missing: LeaseId[] = [];
    for (const [leaseId, lease] of this.#known) {
      const isOpen = lease.unsent === 0 && [...lease.runs.values()].some(({ isTold }) => !isTold);
      if (!isOpen || held.has(leaseId)) {
        lease.unnamed = undefined;
        continue;
      }
      lease.unnamed ??= { since: at, beats: 0 };
      lease.unnamed.beats += 1;
      if (lease.unnamed.beats >= beatsMin && at - lease.unnamed.since >= ANSWER_MS_MAX) missing.push(leaseId);
    }
    return missing;
  }

  /**
   * Before what a worker says is heard: finds the leases that it is about. A worker may speak of what was taken from it until it is told,
   * with the answer to its next beat; whoever goes on beyond the limit costs the server too much.
   */
  async hear(about: readonly string[], { strangeMax }: { readonly strangeMax: number }): Promise<void> {
    const unknown = about.filter((leaseId) => !this.has(leaseId));
    if (unknown.length === 0) return;
    const isLookup = unknown.some((leaseId) => !this.#missing.has(leaseId));
    this.#strange += unknown.length + (isLookup ? LOOKUP_COST : 0);
    if (this.#strange > strangeMax)
      throw new ProtocolBroken('too much was said about leases that are not the worker’s');
    if (!isLookup) return;
    await this.find(unknown);
    for (const leaseId of unknown) if (!this.has(leaseId)) this.#missing.add(leaseId);
    // What was found is not strange; the lookup was one all the same, and is paid for with the next beat.
    this.#strange -= unknown.filter((leaseId) => this.has(leaseId)).length;
  }

  /** The worker is told which leases are not its own. */
  forgetStrange(): void {
    this.#missing.clear();
    this.#strange = 0;
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

  /** Of the leases that the worker named, the runs that it did not name: they never arrived. Answers them once. */
  takeUnnamed(
    named: ReadonlyMap<string, ReadonlySet<number>>,
    leases: Iterable<LeaseId> = this.#known.keys(),
  ): ReportedRun[] {
    const unnamed: ReportedRun[] = [];
    for (const leaseId of leases) {
      const lease = this.#known.get(leaseId);
      if (!lease) continue;
      for (const [position, run] of lease.runs) {
        if (run.isTold || named.get(leaseId)?.has(position)) continue;
        run.isTold = true;
        unnamed.push(reported({ leaseId, position, epoch: run.epoch }, lease, run));
      }
    }
    return unnamed;
  }

  /** For tests: what is remembered. */
  counts(): { readonly leases: number; readonly runs: number } {
    const runs = [...this.#known.values()].reduce((sum, lease) => sum + lease.runs.size, 0);
    return { leases: this.#known.size, runs };
  }

  /** The lease is not the worker's any more. Answers how many of its runs have not told their end. */
  forget(leaseId: LeaseId): number {
    let open = 0;
    for (const { isTold } of this.#known.get(leaseId)?.runs.values() ?? []) if (!isTold) open += 1;
    this.#known.delete(leaseId);
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
    const run = held && this.#known.get(held.leaseId)?.runs.get(ref.position);
    // After its end it has no more to say: its log is closed.
    if (!run || run.isTold) return undefined;
    run.hasSpoken = true;
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
    isFromEarlier: true,
    size: undefined,
    unsent: 0,
    runs: new Map(
      runs.map(({ position, epoch, jobId, runId, namespace }) => [
        position,
        {
          ...{ epoch, jobId, runId, isTold: false, hasSpoken: false, secrets: undefined },
          namespaceKey: namespaceKey(namespace),
        },
      ]),
    ),
  };
}

function reported(
  ref: RunRef,
  { claimedAtMs, isFromEarlier }: KnownLease,
  { jobId, runId }: KnownRun,
): HeldRun {
  const { position, epoch } = ref;
  return { leaseId: ref.leaseId as LeaseId, position, epoch, jobId, runId, claimedAtMs, isFromEarlier };
}

/** The worker's clock may be anywhere: what it says is kept between the claim and now. */
export function within(told: bigint, { fromMs, nowMs }: { fromMs: number; nowMs: number }): number {
  return Math.max(fromMs, Math.min(Number(told), nowMs));
}
