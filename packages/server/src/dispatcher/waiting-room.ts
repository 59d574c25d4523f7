/**
 * Runs that became due and have not been handed out: in the order of urgency, or parked behind their job's limit. Knows each
 * run once, however often the run queue brings it.
 */
import {
  type JobId,
  type PendingRun,
  PRIORITIES,
  type Priority,
  type RunId,
  urgencyKey,
} from '@carillon/domain';
import { MinHeap } from '@carillon/foundation';

/** run: the latest that was heard of it; an edit of its job changes what it is judged by while it waits. */
interface Ranked {
  run: PendingRun;
  key: number;
}

export class WaitingRoom {
  readonly #ranked: Readonly<Record<Priority, MinHeap<Ranked>>> = {
    low: new MinHeap(byUrgency),
    medium: new MinHeap(byUrgency),
    high: new MinHeap(byUrgency),
  };
  readonly #parked = new Map<JobId, PendingRun[]>();
  readonly #known = new Map<RunId, Ranked>();
  #parkedCount = 0;

  /** Runs waiting for a slot. */
  get size(): number {
    return PRIORITIES.reduce((sum, priority) => sum + this.sizeOf(priority), 0);
  }

  sizeOf(priority: Priority): number {
    return this.#ranked[priority].size;
  }

  get parkedCount(): number {
    return this.#parkedCount;
  }

  admit(run: PendingRun): void {
    const known = this.#known.get(run.runId);
    if (known) {
      known.run = run;
      return;
    }
    const ranked = { run, key: urgencyKey(run) };
    this.#known.set(run.runId, ranked);
    this.#ranked[run.priority].push(ranked);
  }

  /** The most urgent ones, up to max; they stay known until forget() or putBack(). */
  take(max: number): PendingRun[] {
    const runs: PendingRun[] = [];
    while (runs.length < max) {
      const next = this.#popMostUrgent();
      if (!next) break;
      runs.push(next.run);
    }
    return runs;
  }

  putBack(runs: readonly PendingRun[]): void {
    for (const run of runs) {
      const ranked = this.#known.get(run.runId) ?? { run, key: 0 };
      ranked.key = urgencyKey(ranked.run);
      this.#ranked[ranked.run.priority].push(ranked);
    }
  }

  /** No longer waiting: handed out, or ended, or gone. */
  forget(runId: RunId): void {
    this.#known.delete(runId);
  }

  park(run: PendingRun): void {
    const queue = this.#parked.get(run.jobId);
    if (queue) queue.push(run);
    else this.#parked.set(run.jobId, [run]);
    this.#parkedCount += 1;
  }

  parkedOf(jobId: JobId): number {
    return this.#parked.get(jobId)?.length ?? 0;
  }

  /** Lets up to `count` parked runs of the job stand in line again, the oldest first. */
  unpark(jobId: JobId, count: number): void {
    const queue = this.#parked.get(jobId);
    if (!queue || count <= 0) return;
    const released = queue.splice(0, count);
    this.#parkedCount -= released.length;
    if (queue.length === 0) this.#parked.delete(jobId);
    this.putBack(released);
  }

  /** How many runs of a job with parked ones may be alive, as last heard. */
  limitOfParked(jobId: JobId): number {
    const first = this.#parked.get(jobId)?.[0];
    return first ? (this.#known.get(first.runId)?.run ?? first).maxConcurrency : 0;
  }

  /** Takes all parked runs of the job out. */
  takeParked(jobId: JobId): PendingRun[] {
    const queue = this.#parked.get(jobId) ?? [];
    this.#parked.delete(jobId);
    this.#parkedCount -= queue.length;
    return queue;
  }

  firstParked(jobId: JobId): PendingRun | undefined {
    return this.#parked.get(jobId)?.[0];
  }

  parkedJobs(): Iterable<JobId> {
    return this.#parked.keys();
  }

  /** Drops everything of shards that are not owned any more; answers those of which something was dropped. */
  retain(owns: (shard: number) => boolean): ReadonlySet<number> {
    const dropped = new Set<number>();
    const drop = (run: PendingRun) => {
      this.#known.delete(run.runId);
      dropped.add(run.shard);
    };
    for (const priority of PRIORITIES) {
      this.#ranked[priority].retain(({ run }) => {
        if (owns(run.shard)) return true;
        drop(run);
        return false;
      });
    }
    for (const [jobId, queue] of this.#parked) {
      if (owns(queue[0]!.shard)) continue;
      for (const run of queue) drop(run);
      this.#parkedCount -= queue.length;
      this.#parked.delete(jobId);
    }
    return dropped;
  }

  #popMostUrgent(): Ranked | undefined {
    let best: MinHeap<Ranked> | undefined;
    let bestKey = Number.POSITIVE_INFINITY;
    for (const priority of PRIORITIES) {
      const key = this.#ranked[priority].peek()?.key;
      if (key === undefined || key > bestKey) continue;
      best = this.#ranked[priority];
      bestKey = key;
    }
    return best?.pop();
  }
}

/** Occurrences that were missed and fire together keep their own order. */
function byUrgency(a: Ranked, b: Ranked): number {
  return a.key - b.key || a.run.nominalAtMs - b.run.nominalAtMs;
}
