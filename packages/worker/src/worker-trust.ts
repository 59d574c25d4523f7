/**
 * For how long a worker may take its runs for its own: each answered beat renews it (LEASE-3). What runs within the worker is stopped by
 * a timer when it ends. What runs beside the worker also goes on while the worker stands still, so that something else has to end it.
 */
import type { Clock } from '@carillon/foundation';

/** As handlers see it that start processes. */
export interface RunTrust {
  /** For how long these may still go on, if no other beat is answered. */
  leftMs(): number;
  /** Calls back at each answered beat, until the returned function is called. */
  onRenewed(listener: () => void): () => void;
}

/**
 * Of the trust: how long a process may take to end by itself when it is over. The worker is given up a quarter of the trust after its
 * end, and what is left of that is for killing.
 */
const GRACE_SHARE = 1 / 6;

export class WorkerTrust implements RunTrust {
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();
  #endsAt = 0;
  #graceMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isGiven(): boolean {
    return this.#clock.monotonic() < this.#endsAt;
  }

  /** Answers in how many milliseconds it ends. Counted from when the beat was sent: a slow answer must not lengthen it. */
  renew({ sentAt, trustMs }: { sentAt: number; trustMs: number }): number {
    this.#endsAt = sentAt + trustMs;
    this.#graceMs = trustMs * GRACE_SHARE;
    for (const listener of this.#listeners) listener();
    return this.#endsAt - this.#clock.monotonic();
  }

  leftMs(): number {
    return this.#endsAt + this.#graceMs - this.#clock.monotonic();
  }

  onRenewed(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
