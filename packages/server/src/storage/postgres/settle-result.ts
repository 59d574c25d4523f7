/** The answers of the statements that settle, collected over one call. */
import type { JobId, LeaseId, RunId } from '@carillon/domain';
import type { LaneHint } from '../lane.ts';
import type { Settled, Settlement, SettleVerdict } from '../lease-store.ts';
import { priorityWord } from './codes.ts';
import { OPEN } from './lane.sql.ts';
import { ASKED_FOR } from './settle.sql.ts';

/**
 * A lease and its settled positions; or a job with a free slot that runs wait for; or a run that is tried again; or (ASKED_FOR) a run
 * that a person asked for and that succeeded, in place of the lease, and its job in place of the one that was freed.
 */
export type SettledRow = readonly [
  leaseId: LeaseId | RunId | null,
  cancelled: number[] | null,
  /** NULL: all that was reported of it. */
  positions: number[] | null,
  freed: JobId | null,
  shard: number,
  part: number,
  priority: number,
  handlerKey: number,
  tenant: number,
  atMs: number,
  blocked: number,
];

export class SettleResult {
  readonly nowMs: number;
  readonly #freed: JobId[] = [];
  readonly #opened: LaneHint[] = [];
  readonly #planned: { shard: number; atMs: number }[] = [];
  /** Of stale settlements only. */
  readonly #verdicts = new Map<Settlement, SettleVerdict>();
  readonly #cancelled = new Map<LeaseId, readonly number[]>();
  /** Per job, the first by its id of the runs that a person asked for and that succeeded. */
  readonly askedFor = new Map<JobId, RunId>();

  constructor(nowMs: number) {
    this.nowMs = nowMs;
  }

  copy(): SettleResult {
    const copy = new SettleResult(this.nowMs);
    copy.#freed.push(...this.#freed);
    copy.#opened.push(...this.#opened);
    copy.#planned.push(...this.#planned);
    for (const [leaseId, positions] of this.#cancelled) copy.#cancelled.set(leaseId, positions);
    return copy;
  }

  /** Returns the settled leases. asked: settlements of single runs; those of a lease without a row are stale. */
  take(rows: readonly SettledRow[], asked: readonly Settlement[] = []): ReadonlyMap<LeaseId, SettledRow> {
    const leases = new Map<LeaseId, SettledRow>();
    for (const row of rows) {
      const [leaseId, cancelled, , freed, shard, part, priority, handlerKey, tenant, atMs, blocked] = row;
      if (blocked === ASKED_FOR) {
        const known = this.askedFor.get(freed!);
        if (known === undefined || leaseId! < known) this.askedFor.set(freed!, leaseId as RunId);
      } else if (leaseId !== null) {
        leases.set(leaseId as LeaseId, row);
        if (cancelled) this.#cancelled.set(leaseId as LeaseId, cancelled);
      } else if (freed !== null) this.#freed.push(freed);
      else if (blocked === OPEN)
        this.#opened.push({ part, priority: priorityWord(priority), handlerKey, tenant, atMs });
      else this.#planned.push({ shard, atMs });
    }
    const seen = new Set<string>();
    for (const settlement of asked) {
      const row = leases.get(settlement.leaseId);
      // Of two settlements of the same run, the first counts.
      const key = `${settlement.leaseId}/${settlement.position}`;
      const isStale = !row || seen.has(key) || (row[2] && !row[2].includes(settlement.position));
      if (isStale) this.#verdicts.set(settlement, 'stale');
      seen.add(key);
    }
    return leases;
  }

  settled(settlements: readonly Settlement[]): Settled {
    return {
      verdicts: settlements.map((settlement) => this.#verdictOf(settlement)),
      freed: this.#freed,
      opened: this.#opened,
      planned: this.#planned,
    };
  }

  #verdictOf(settlement: Settlement): SettleVerdict {
    const verdict = this.#verdicts.get(settlement);
    if (verdict) return verdict;
    return this.#cancelled.get(settlement.leaseId)?.includes(settlement.position) ? 'cancelled' : 'settled';
  }
}
