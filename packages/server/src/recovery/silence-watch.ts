/**
 * Who has fallen silent, by the watcher's own monotonic clock: a worker whose heartbeat has not changed for the whole period,
 * while the watcher looked all the time. What instants the heartbeats name does not matter, so no clock that is set, the
 * storage's included, makes anybody look silent or alive (hazard 7).
 */
import type { WorkerId } from '@carillon/domain';
import type { HeardWorker, WorkerState } from '../storage/member-store.ts';

export interface Look {
  readonly workers: readonly WorkerState[];
  /** When the storage was asked and when it had answered, monotonic. */
  readonly askedAt: number;
  readonly answeredAt: number;
}

export class SilenceWatch {
  readonly #silentMs: number;
  /** The last heartbeat of each, and since when it has been the last. */
  #heard = new Map<WorkerId, { readonly lastSeenMs: number; readonly since: number }>();
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(silentMs: number) {
    this.#silentMs = silentMs;
  }

  /** Answers the living that have been silent for too long, as they were last heard. */
  look({ workers, askedAt, answeredAt }: Look): HeardWorker[] {
    // Whoever stood still himself has not watched: the others may have had no storage to beat to meanwhile.
    if (askedAt - this.#lookedAt > this.#silentMs / 2) this.startOver();
    this.#lookedAt = answeredAt;
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

  /** After an outage everybody looks silent: all get a whole period to be heard. */
  startOver(): void {
    this.#heard.clear();
  }
}
