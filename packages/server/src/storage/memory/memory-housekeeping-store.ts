/** Retention in memory: no partition has to be made, and days are dropped as whole ones all the same. */
import type { JobStatus } from '@carillon/domain';
import type { HousekeepingStore } from '../housekeeping-store.ts';
import type { MemoryState } from './memory-state.ts';

const DAY_MS = 24 * 3_600_000;

export class MemoryHousekeepingStore implements HousekeepingStore {
  readonly #state: MemoryState;

  constructor(state: MemoryState) {
    this.#state = state;
  }

  async makePartitions(): Promise<void> {}

  async hasPartitions(): Promise<boolean> {
    return true;
  }

  async dropHistory(options: { beforeMs: number }): Promise<string[]> {
    const { history, leases } = this.#state;
    return history.dropDays(
      options.beforeMs,
      Array.from(leases.all(), ({ claimedAtMs }) => claimedAtMs),
    );
  }

  async dropRequests({ beforeMs }: { beforeMs: number }): Promise<number> {
    const { leases, due, requests, deadLetters } = this.#state;
    const before = requests.size;
    for (const [runId, { requestedAtMs }] of requests) {
      const isNeeded = due.get(runId) ?? leases.ofRun(runId) ?? deadLetters.get(runId);
      // The history goes by whole days.
      if (!isNeeded && requestedAtMs < beforeMs - DAY_MS) requests.delete(runId);
    }
    return before - requests.size;
  }

  async dropCheckpoints({
    leftBeforeMs,
    lettersBeforeMs,
  }: {
    leftBeforeMs: number;
    lettersBeforeMs: number;
  }): Promise<number> {
    const { checkpoints, due, leases, deadLetters } = this.#state;
    const before = checkpoints.size;
    for (const [runId, { savedAtMs }] of checkpoints) {
      const letter = deadLetters.get(runId);
      const keepsUntilMs = letter && !letter.redrivenAs ? lettersBeforeMs : leftBeforeMs;
      if (savedAtMs < keepsUntilMs && !due.get(runId) && !leases.ofRun(runId)) checkpoints.delete(runId);
    }
    return before - checkpoints.size;
  }

  async dropEvents(options: { beforeMs: number }): Promise<string[]> {
    return this.#state.events.dropDays(options.beforeMs);
  }

  async dropAudit({ beforeMs }: { beforeMs: number }): Promise<number> {
    const { audit } = this.#state;
    const kept = audit.filter((record) => record.atMs >= beforeMs);
    const dropped = audit.length - kept.length;
    audit.splice(0, audit.length, ...kept);
    return dropped;
  }

  async oldestTransaction(): Promise<undefined> {}

  async refreshStatistics(): Promise<string[]> {
    return [];
  }

  async summarizeHistory(): Promise<number> {
    return 0;
  }

  async countWaiting(nowMs: number): Promise<number> {
    const runs = [...this.#state.due.all()];
    return runs.filter(({ state, held, laneAtMs }) => state === 'open' && !held && laneAtMs <= nowMs).length;
  }

  async countJobs(): Promise<ReadonlyMap<JobStatus, number>> {
    const counts = new Map<JobStatus, number>();
    for (const { status } of this.#state.jobs.values()) counts.set(status, (counts.get(status) ?? 0) + 1);
    return counts;
  }
}
