/** The table `job_runs`: one final row per attempt, keyed by run and epoch, dropped by whole days. */
import type { JobId, RunId } from '@carillon/domain';
import type { RunView } from '../run-store.ts';
import { Groups } from './groups.ts';

const DAY_MS = 24 * 3_600_000;

export class HistoryTable {
  readonly #rows = new Map<string, RunView>();
  readonly #byRun = new Groups<RunId, string>();
  readonly #byJob = new Groups<JobId, string>();

  /** A second row of the same attempt replaces the first. */
  write(view: RunView): void {
    const key = keyOf(view);
    this.#rows.set(key, view);
    this.#byRun.add(view.runId, key);
    this.#byJob.add(view.jobId, key);
  }

  get(attempt: { runId: RunId; epoch: number }): RunView | undefined {
    return this.#rows.get(keyOf(attempt));
  }

  all(): RunView[] {
    return [...this.#rows.values()];
  }

  hasRun(runId: RunId): boolean {
    return this.#byRun.has(runId);
  }

  ofRun(runId: RunId): RunView[] {
    return this.#views(this.#byRun.of(runId));
  }

  ofJob(jobId: JobId): RunView[] {
    return this.#views(this.#byJob.of(jobId));
  }

  /** Drops the UTC days that ended by the instant, but for those of these claims; answers them. */
  dropDays(beforeMs: number, claimedAtsMs: Iterable<number>): string[] {
    const kept = new Set(Array.from(claimedAtsMs, (ms) => Math.floor(ms / DAY_MS)));
    const dropped = new Set<string>();
    for (const [key, view] of this.#rows) {
      const day = Math.floor(view.createdAtMs / DAY_MS);
      if ((day + 1) * DAY_MS > beforeMs || kept.has(day)) continue;
      dropped.add(new Date(day * DAY_MS).toISOString().slice(0, 10));
      this.#rows.delete(key);
      this.#byRun.remove(view.runId, key);
      this.#byJob.remove(view.jobId, key);
    }
    return [...dropped].sort();
  }

  #views(keys: readonly string[]): RunView[] {
    return keys.map((key) => this.#rows.get(key)!);
  }
}

function keyOf({ runId, epoch }: { runId: RunId; epoch: number }): string {
  return `${runId}/${epoch}`;
}
