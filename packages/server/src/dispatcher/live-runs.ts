/**
 * Which runs of which jobs are alive, as far as this dispatcher's shards go: what concurrency limits are counted from. It is
 * a copy of what the leases say (hazard 13): loaded when a shard is taken over, and compared with them whenever something
 * waits behind a limit.
 */
import type { JobId, RunId } from '@carillon/domain';

export interface Living {
  readonly jobId: JobId;
  readonly runId: RunId;
  readonly shard: number;
  /** When it was claimed: tells one handing-out of the run from another. */
  readonly sinceMs: number;
}

type RunRef = Pick<Living, 'jobId' | 'runId'>;

export class LiveRuns {
  /** By job, because most have one run at a time: that one stands for itself, and is found, counted and let go by one look. */
  readonly #jobs = new Map<JobId, Living | Map<RunId, Living>>();

  count(jobId: JobId): number {
    const living = this.#jobs.get(jobId);
    return living === undefined ? 0 : living instanceof Map ? living.size : 1;
  }

  find({ jobId, runId }: RunRef): Living | undefined {
    const living = this.#jobs.get(jobId);
    if (living instanceof Map) return living.get(runId);
    return living?.runId === runId ? living : undefined;
  }

  add(run: Living): void {
    const living = this.#jobs.get(run.jobId);
    if (living === undefined) this.#jobs.set(run.jobId, run);
    else if (living instanceof Map) living.set(run.runId, living.get(run.runId) ?? run);
    else if (living.runId !== run.runId)
      this.#jobs.set(
        run.jobId,
        new Map([
          [living.runId, living],
          [run.runId, run],
        ]),
      );
  }

  /** False when it was not alive. sinceMs: only if it was claimed then. */
  remove(run: RunRef, sinceMs?: number): boolean {
    const found = this.find(run);
    if (!found || (sinceMs !== undefined && found.sinceMs !== sinceMs)) return false;
    const living = this.#jobs.get(run.jobId);
    if (living instanceof Map && living.size > 1) living.delete(run.runId);
    else this.#jobs.delete(run.jobId);
    return true;
  }

  /** The longest living run of the job. */
  oldestOf(jobId: JobId): RunId | undefined {
    const living = this.#jobs.get(jobId);
    if (!(living instanceof Map)) return living?.runId;
    return [...living.values()].reduce((oldest, run) => (run.sinceMs < oldest.sinceMs ? run : oldest)).runId;
  }

  *all(): Iterable<Living> {
    for (const living of this.#jobs.values()) {
      if (living instanceof Map) yield* living.values();
      else yield living;
    }
  }
}
