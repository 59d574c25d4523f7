/**
 * What this process knows of the runs it has claimed, from their claim to their end: by that their ends are counted without reading a
 * job. Bounded; of what is not known here, as after a restart, whoever adds up the counts reads the history instead.
 */
import type { ClaimedRun, JobId, LeaseId, RunId } from '@carillon/domain';
import type { Settlement } from '../lease-store.ts';
import { DigestBuilder, isFailure } from '../run-digest.ts';

type KnownRun = Pick<ClaimedRun, 'jobId' | 'runId' | 'handler' | 'nominalAtMs' | 'dueAtMs'>;

interface ClaimedLease {
  readonly runs: readonly KnownRun[];
  /** One for all, or one for each. */
  readonly namespaceKeys: readonly number[];
  left: number;
}

/** Leases of workers that were lost, or that others settled, stay until then. */
const LEASES_MAX = 20_000;

export class ClaimedLeases {
  readonly #leases = new Map<LeaseId, ClaimedLease>();

  get size(): number {
    return this.#leases.size;
  }

  /** Without payloads: they may be large. */
  remember(leaseId: LeaseId, runs: readonly ClaimedRun[], namespaceKeys: readonly number[]): void {
    if (this.#leases.size >= LEASES_MAX) {
      const [oldest] = this.#leases.keys();
      this.#leases.delete(oldest!);
    }
    const known = runs.map(({ jobId, runId, handler, nominalAtMs, dueAtMs }) => ({
      ...{ jobId: jobId as JobId, runId: runId as RunId, handler, nominalAtMs, dueAtMs },
    }));
    this.#leases.set(leaseId, { runs: known, namespaceKeys, left: runs.length });
  }

  /** Undefined where something is not known of one of them. */
  digestOf(settlements: readonly Settlement[], nowMs: number): string | undefined {
    const builder = new DigestBuilder();
    const seen = new Map<LeaseId, Set<number>>();
    for (const settlement of settlements) {
      const { leaseId, position, status, startedAtMs, endedAtMs, error, next } = settlement;
      const lease = this.#leases.get(leaseId);
      const run = lease?.runs[position];
      // One that did not say when it started may have been shown as RUNNING: its record knows.
      if (!lease || !run || startedAtMs === undefined) return undefined;
      const positions = seen.get(leaseId) ?? new Set();
      if (positions.has(position)) return undefined;
      seen.set(leaseId, positions.add(position));
      builder.add(lease.namespaceKeys[position] ?? lease.namespaceKeys[0]!, {
        ...{
          jobId: run.jobId,
          runId: run.runId,
          handler: run.handler,
          status,
          startedAtMs,
          endedAtMs,
          error,
        },
        isRetried: next.kind === 'again' && isFailure(status),
        nominalAtMs: run.nominalAtMs,
        dueAtMs: run.dueAtMs,
      });
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
