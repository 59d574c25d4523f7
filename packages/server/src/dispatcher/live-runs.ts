/**
 * Which runs of which jobs are alive, as far as this dispatcher's shards go: what concurrency limits are counted from. It is
 * a copy of what the leases say (hazard 13): loaded when a shard is taken over, and compared with them whenever something
 * waits behind a limit.
 */
import type { JobId, RunId } from '@carillon/domain';

interface Live {
  readonly jobId: JobId;
  readonly shard: number;
  /** When it was claimed: tells one handing-out of the run from another. */
  readonly sinceMs: number;
}

export class LiveRuns {
  readonly #runs = new Map<RunId, Live>();
  readonly #byJob = new Map<JobId, number>();

  count(jobId: JobId): number {
    return this.#byJob.get(jobId) ?? 0;
  }

  /** Undefined when it is not alive. */
  sinceMs(runId: RunId): number | undefined {
    return this.#runs.get(runId)?.sinceMs;
  }

  shardOf(runId: RunId): number | undefined {
    return this.#runs.get(runId)?.shard;
  }

  get size(): number {
    return this.#runs.size;
  }

  add(runId: RunId, live: Live): void {
    if (this.#runs.has(runId)) return;
    this.#runs.set(runId, live);
    this.#byJob.set(live.jobId, this.count(live.jobId) + 1);
  }

  remove(runId: RunId): JobId | undefined {
    const live = this.#runs.get(runId);
    if (!live) return undefined;
    this.#runs.delete(runId);
    const left = this.count(live.jobId) - 1;
    if (left > 0) this.#byJob.set(live.jobId, left);
    else this.#byJob.delete(live.jobId);
    return live.jobId;
  }

  /** The longest living run of the job. */
  oldestOf(jobId: JobId): RunId | undefined {
    let oldest: RunId | undefined;
    let sinceMs = Number.POSITIVE_INFINITY;
    for (const [runId, live] of this.#runs) {
      if (live.jobId === jobId && live.sinceMs < sinceMs) {
        oldest = runId;
        sinceMs = live.sinceMs;
      }
    }
    return oldest;
  }

  entries(): Iterable<[RunId, Live]> {
    return this.#runs;
  }
}
