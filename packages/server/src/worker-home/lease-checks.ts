/**
 * Which runs are to stop, and which leases the storage does not know: asked for all workers of a server together, so that neither a
 * cancel nor a look in between costs a query for each worker. Apart from heartbeats: these queries may be slow or fail while the
 * workers stay trusted (hazard 29). Works while there is anybody to ask for.
 */
import type { LeaseId, RunId } from '@carillon/domain';
import { type Clock, type Log, Loop, type Random } from '@carillon/foundation';
import type { SignalBus } from '../signal-bus/signal-bus.ts';
import { applyInBatches } from '../storage/apply-in-batches.ts';
import type { MemberStore } from '../storage/member-store.ts';
import { StorageTimeout, StorageUnavailable } from '../storage/storage.ts';

export interface LeaseChecksOptions {
  readonly members: Pick<MemberStore, 'cancelledRuns' | 'unknownLeases'>;
  readonly signals: SignalBus;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly silentMs: number;
}

/** The leases of one worker, or of one stream of it. */
export interface CheckedLeases {
  /** Leases with runs that still have to be reported. */
  readonly unreported: () => readonly LeaseId[];
  readonly onCancel: (runIds: readonly RunId[]) => void;
  /** Stops what still runs under these leases, which the storage does not know; returns how many runs. */
  readonly onUnknown: (leases: readonly LeaseId[]) => number;
}

interface Asked {
  readonly of: CheckedLeases;
  readonly leases: readonly LeaseId[];
}

/** Those that the storage could not be asked about, and the first reason. */
interface Failed {
  readonly leases: Set<LeaseId>;
  error: unknown;
}

/** More than most servers have; the rest follows in further calls. */
const LEASES_PER_CALL = 2_000;
/** How late a cancel is found whose hint was lost, however long workers may be silent: two queries for each server. */
const IDLE_MS_MAX = 3_000;

export class LeaseChecks {
  readonly #options: LeaseChecksOptions;
  readonly #checked = new Set<CheckedLeases>();
  /** While there is anybody to ask for. */
  #asking: { readonly loop: Loop; readonly unsubscribe: () => void } | undefined;

  #isFailing = false;

  constructor(options: LeaseChecksOptions) {
    this.#options = options;
  }

  add(leases: CheckedLeases): void {
    this.#checked.add(leases);
    this.#asking ??= this.#ask();
  }

  /** Resolves when nothing of it is left running; of others that are checked, it waits for nothing. */
  async remove(leases: CheckedLeases): Promise<void> {
    if (!this.#checked.delete(leases) || this.#checked.size > 0) return;
    // Whoever comes while it stops begins anew.
    const asking = this.#asking;
    this.#asking = undefined;
    asking?.unsubscribe();
    await asking?.loop.stop();
  }

  #ask(): { loop: Loop; unsubscribe: () => void } {
    const { silentMs, signals } = this.#options;
    const idleMs = Math.min(silentMs / 5, IDLE_MS_MAX);
    const loop = new Loop({ ...this.#options, name: 'leases', idleMs, runOnce: () => this.runOnce() });
    loop.start();
    // A hint alone stops nothing: the storage decides which runs are to stop.
    return { loop, unsubscribe: signals.on('cancel-requested', () => loop.wake()) };
  }

  async runOnce(): Promise<undefined> {
    const { members } = this.#options;
    const asked = [...this.#checked].map((of) => ({ of, leases: of.unreported() }));
    const all = [...new Set(asked.flatMap(({ leases }) => leases))];
    const failed: Failed = { leases: new Set(), error: undefined };
    for (let from = 0; from < all.length; from += LEASES_PER_CALL) {
      const batch = all.slice(from, from + LEASES_PER_CALL);
      const cancelled = await answers(batch, failed, (part) => members.cancelledRuns(part));
      this.#cancel(
        asked,
        Map.groupBy(cancelled, ({ leaseId }) => leaseId),
      );
      this.#stopUnknown(asked, new Set(await answers(batch, failed, (part) => members.unknownLeases(part))));
    }
    this.#tell(failed);
    return undefined;
  }

  /** Once, until all can be asked for again. */
  #tell({ leases, error }: Failed): void {
    if (leases.size > 0 && !this.#isFailing)
      this.#options.log.warn(
        { err: error, leases: leases.size, leaseId: [...leases][0] },
        'could not find out whether the runs of some leases are to stop',
      );
    this.#isFailing = leases.size > 0;
  }

  #cancel(
    asked: readonly Asked[],
    cancelled: ReadonlyMap<LeaseId, readonly { readonly runId: RunId }[]>,
  ): void {
    if (cancelled.size === 0) return;
    for (const { of, leases } of asked) {
      const runIds = leases.flatMap((leaseId) => cancelled.get(leaseId) ?? []).map(({ runId }) => runId);
      if (runIds.length > 0 && this.#checked.has(of)) of.onCancel(runIds);
    }
  }

  /**
   * A lease exists until its last run is settled. If a run still executes under a lease that does not exist, the storage was replaced
   * by one that does not know the lease and hands the run out again (hazard 43).
   */
  #stopUnknown(asked: readonly Asked[], unknown: ReadonlySet<LeaseId>): void {
    if (unknown.size === 0) return;
    for (const { of, leases: held } of asked) {
      const leases = held.filter((leaseId) => unknown.has(leaseId));
      const runs = leases.length > 0 && this.#checked.has(of) ? of.onUnknown(leases) : 0;
      if (runs === 0) continue;
      this.#options.log.warn(
        { runs, leases: leases.length },
        'stopping runs that the database does not know any more: they were given to others, or it has lost its last moments (a failover or a restore)',
      );
    }
  }
}

/** What the storage answers about these. Unrelated workers share a question: where it fails, it fails for the lease that is the cause. */
async function answers<Answer>(
  leases: readonly LeaseId[],
  failed: Failed,
  question: (part: readonly LeaseId[]) => Promise<readonly Answer[]>,
): Promise<Answer[]> {
  const parts = await applyInBatches<LeaseId, readonly Answer[]>(leases, {
    apply: async (part) => {
      const found = await question(part);
      return part.map((_, i) => (i === 0 ? found : []));
    },
    fail: (error, leaseId) => {
      // The next pass asks for all again.
      if (error instanceof StorageUnavailable || error instanceof StorageTimeout) throw error;
      failed.error ??= error;
      failed.leases.add(leaseId);
      return [];
    },
    timeoutsMax: 1,
  });
  return parts.flat();
}
