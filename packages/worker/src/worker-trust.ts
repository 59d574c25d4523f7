/**
 * For how long a worker may take its runs for its own: each answered beat renews it (LEASE-3). What runs within the worker is stopped by
 * a timer when it ends. What runs beside the worker also goes on while the worker stands still, so that something else has to end it.
 *
 * The monotonic clock stands still while the machine is suspended. When the wall clock has run ahead of it since the last answered beat
 * was sent, the machine was suspended or the wall clock was set, and nobody can tell which: the trust is doubted. Nothing is started then,
 * and no run is said to be held; what runs goes on if the next beat is answered soon. So a clock that is set costs one beat, and no run.
 */
import type { Clock } from '@carillon/foundation';

/** As handlers see it that start processes. */
export interface RunTrust {
  /** For how long these may still go on, if no other beat is answered. */
  leftMs(): number;
  /** Calls back at each answered beat, and when the trust is doubted, until the returned function is called. */
  onChanged(listener: () => void): () => void;
}

/** doubted: the runs may belong to others by now, and what runs is not stopped yet. */
export type TrustState = 'given' | 'doubted' | 'over';

/** Of the wall clock, since the last answered beat was sent. Clocks that are adjusted to others gain far less in that time. */
export const AHEAD_MS_MAX = 2_000;
/** What runs while the trust is doubted goes on for so long without an answered beat: as long as a server may take for one. */
export const DOUBT_MS_MAX = 5_000;
/**
 * Of the trust: how long a process may take to end by itself when it is over. The worker is given up a quarter of the trust after its
 * end, and what is left of that is for killing.
 */
const GRACE_SHARE = 1 / 6;

/** Nothing was suspended for longer than the clocks have parted: a long trust loses no more than that. */
export function endInDoubt(of: {
  readonly now: number;
  readonly endsAt: number;
  readonly aheadMs: number;
  readonly doubtMs: number;
}): number {
  return Math.min(of.endsAt, Math.max(of.now + of.doubtMs, of.endsAt - of.aheadMs));
}

export class WorkerTrust implements RunTrust {
  readonly #clock: Clock;
  readonly #onDoubted: () => void;
  readonly #listeners = new Set<() => void>();
  #endsAt = 0;
  #graceMs = 0;
  #aheadMs = 0;
  #isDoubted = false;

  /** onDoubted: the worker beats at once. */
  constructor(clock: Clock, { onDoubted }: { readonly onDoubted: () => void }) {
    this.#clock = clock;
    this.#onDoubted = onDoubted;
  }

  get state(): TrustState {
    const now = this.#clock.monotonic();
    if (now >= this.#endsAt) return 'over';
    this.#compareClocks(now);
    return this.#isDoubted ? 'doubted' : 'given';
  }

  /** How far the wall clock is ahead of the monotonic one: read before a beat is sent. */
  aheadMs(): number {
    return this.#clock.now() - this.#clock.monotonic();
  }

  /** Counted from when the beat was sent: a slow answer must not lengthen it. */
  renew({ sentAt, aheadMs, trustMs }: { sentAt: number; aheadMs: number; trustMs: number }): void {
    this.#endsAt = sentAt + trustMs;
    this.#graceMs = trustMs * GRACE_SHARE;
    this.#aheadMs = aheadMs;
    this.#isDoubted = false;
    this.#tell();
    this.#compareClocks(this.#clock.monotonic());
  }

  /** Until it ends. */
  get endsInMs(): number {
    return this.#endsAt - this.#clock.monotonic();
  }

  leftMs(): number {
    return this.endsInMs + this.#graceMs;
  }

  onChanged(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #compareClocks(now: number): void {
    if (this.#isDoubted || now >= this.#endsAt) return;
    const aheadMs = this.#clock.now() - now - this.#aheadMs;
    if (aheadMs <= AHEAD_MS_MAX) return;
    this.#isDoubted = true;
    this.#endsAt = endInDoubt({ now, endsAt: this.#endsAt, aheadMs, doubtMs: DOUBT_MS_MAX });
    this.#tell();
    this.#onDoubted();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}
