/**
 * Which workers are silent, by the watcher's own monotonic clock: a worker whose heartbeat has not changed for the full period,
 * while the watcher kept observing (LEASE-5). The instants in heartbeats are compared only for equality, so no clock that is set, the
 * storage's included, makes a worker look silent or alive (hazard 7).
 */
import type { WorkerId } from '@carillon/domain';
import type { HeardWorker, WorkerState } from '../storage/member-store.ts';

export interface Observation {
  readonly workers: readonly WorkerState[];
  /** When the storage was asked and when it had answered, monotonic. */
  readonly askedAt: number;
  readonly answeredAt: number;
}

export class SilenceWatch {
  readonly #silentMs: number;
  /** The last heartbeat of each, and since when it has been the last. */
  #heard = new Map<WorkerId, { readonly lastSeenMs: number; readonly since: number }>();
  #observedAt = Number.NEGATIVE_INFINITY;

  constructor(silentMs: number) {
    this.#silentMs = silentMs;
  }

  /** Returns the living workers that have been silent for too long, as they were last heard. */
  observe({ workers, askedAt, answeredAt }: Observation): HeardWorker[] {
    // After a gap in its own observations the watcher knows nothing: the storage may have been away for everybody.
    if (askedAt - this.#observedAt > this.#silentMs / 2) this.startOver();
    this.#observedAt = answeredAt;
    const before = this.#heard;
    this.#heard = new Map();
    const silent: HeardWorker[] = [];
    for (const { workerId, lastSeenMs, alive } of workers) {
      if (!alive) continue;
      const former = before.get(workerId);
      const since = former?.lastSeenMs === lastSeenMs ? former.since : answeredAt;
      this.#heard.set(workerId, { lastSeenMs, since });
      if (askedAt - since >= this.#silentMs) silent.push({ workerId, lastSeenMs });
    }
    return silent;
  }

  /** After an outage every worker looks silent: each gets a full period to be heard. */
  startOver(): void {
    this.#heard.clear();
  }
}
