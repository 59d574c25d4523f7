/**
 * What this process knows of the runs it has claimed, from their claim to their end: by that their ends are counted without reading a
 * job. Bounded; of what is not known here, as after a restart, whoever adds up the counts reads the history instead.
 */
import type { ClaimedRun, LeaseId } from '@carillon/domain';
import type { Settlement } from '../lease-store.ts';
import { type CountedRun, DigestBuilder } from '../run-digest.ts';

interface ClaimedLease {
  readonly runs: readonly CountedRun[];
  /** One for all, or one for each. */
  readonly namespaceKeys: readonly number[];
  left: number;
}

/** Leases of workers that were lost, or that others settled, stay until then. */
const LEASES_MAX = 20_000;
const PAYLOAD_CHARS_KEPT = 1_024;

export class ClaimedLeases {
  readonly #leases = new Map<LeaseId, ClaimedLease>();

  /** Without payloads that are large. */
  remember(leaseId: LeaseId, runs: readonly ClaimedRun[], namespaceKeys: readonly number[]): void {
    if (this.#leases.size >= LEASES_MAX) {
      const [oldest] = this.#leases.keys();
      this.#leases.delete(oldest!);
    }
    const known = runs.map((run) => (run.payload.length > PAYLOAD_CHARS_KEPT ? withoutPayload(run) : run));
    this.#leases.set(leaseId, { runs: known, namespaceKeys, left: runs.length });
  }

  /** Undefined where something is not known of one of them. */
  digestOf(settlements: readonly Settlement[], nowMs: number): string | undefined {
    const builder = new DigestBuilder();
    const seen = new SeenPositions();
    for (const settlement of settlements) {
      const { leaseId, position } = settlement;
      const lease = this.#leases.get(leaseId);
      const run = lease?.runs[position];
      // One that did not say when it started may have been shown as RUNNING: its record knows.
      if (!lease || !run || settlement.startedAtMs === undefined) return undefined;
      if (seen.has(leaseId, position)) return undefined;
      builder.add(lease.namespaceKeys[position] ?? lease.namespaceKeys[0]!, run, settlement);
    }
    return builder.text(nowMs);
  }

  forget(settlements: readonly Settlement[]): void {
    for (const { leaseId } of settlements) {
      const lease = this.#leases.get(leaseId);
      if (!lease) continue;
      lease.left -= 1;
      if (lease.left <= 0) this.#leases.delete(leaseId);
    }
  }
}

function withoutPayload({ jobId, runId, handler, nominalAtMs, dueAtMs }: ClaimedRun): CountedRun {
  return { jobId, runId, handler, nominalAtMs, dueAtMs };
}

interface Seen {
  /** All positions up to this one, unless there is a set. */
  last: number;
  all: Set<number> | undefined;
}

/** Whether a position came before. A lease in the order of its positions, the common case, needs no set. */
class SeenPositions {
  readonly #leases = new Map<LeaseId, Seen>();
  #leaseId: LeaseId | undefined;
  #current: Seen = { last: -1, all: undefined };

  has(leaseId: LeaseId, position: number): boolean {
    if (leaseId !== this.#leaseId) {
      this.#leaseId = leaseId;
      this.#current = this.#leases.get(leaseId) ?? { last: -1, all: undefined };
      this.#leases.set(leaseId, this.#current);
    }
    const seen = this.#current;
    if (seen.all === undefined && position === seen.last + 1) {
      seen.last = position;
      return false;
    }
    seen.all ??= new Set(Array.from({ length: seen.last + 1 }, (_, i) => i));
    if (seen.all.has(position)) return true;
    seen.all.add(position);
    return false;
  }
}
