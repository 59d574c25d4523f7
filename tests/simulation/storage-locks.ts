/**
 * What somebody holds locked in the storage, as a person with an open transaction or a backup does: the whole history, or single
 * jobs. A call that meets a lock waits, and fails with StorageTimeout when it has waited for too long; others go through.
 */
import type { JobId } from '@carillon/domain';
import type { Settlement } from '../../packages/server/src/storage/lease-store.ts';
import type { RunLedger } from './run-ledger.ts';
import type { World } from './world.ts';

/** What writes into the history as a matter of course. */
const HISTORY_CALLS: ReadonlySet<string> = new Set([
  'leases.settle',
  'leases.showRunning',
  'leases.recordLate',
  'schedule.expire',
]);

export class StorageLocks {
  readonly #world: World;
  readonly #runs: RunLedger;
  readonly #jobs = new Map<JobId, number>();
  #historyUntilMs = 0;

  constructor(world: World, runs: RunLedger) {
    this.#world = world;
    this.#runs = runs;
  }

  lockHistory(forMs: number): void {
    this.#world.trace.add('world', `the history is locked for ${Math.round(forMs)} ms`);
    this.#historyUntilMs = this.#world.nowMs + forMs;
  }

  lockJob(jobId: JobId, forMs: number): void {
    this.#world.trace.add('world', `a job is locked for ${Math.round(forMs)} ms`, [jobId]);
    this.#jobs.set(jobId, this.#world.nowMs + forMs);
  }

  release(): void {
    this.#historyUntilMs = 0;
    this.#jobs.clear();
  }

  locked(jobIds: readonly JobId[]): JobId[] {
    return jobIds.filter((jobId) => (this.#jobs.get(jobId) ?? 0) > this.#world.nowMs);
  }

  /** How long the call would wait; 0 when it meets no lock. */
  waitMs(call: string, args: readonly unknown[]): number {
    const historyMs = HISTORY_CALLS.has(call) ? this.#historyUntilMs : 0;
    const jobsMs = call === 'leases.settle' ? this.#settledJobs(args[0] as readonly Settlement[]) : [];
    return Math.max(0, Math.max(historyMs, ...jobsMs) - this.#world.nowMs);
  }

  #settledJobs(settlements: readonly Settlement[]): number[] {
    if (this.#jobs.size === 0) return [];
    return settlements.map((settlement) => {
      const claim = this.#runs.claimAt(settlement);
      return (claim && this.#jobs.get(claim.jobId)) ?? 0;
    });
  }
}
