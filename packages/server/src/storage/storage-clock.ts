/**
 * The storage's clock, kept locally: the database decides what is due, and between two readings of its clock local
 * monotonic time carries on. A step of this machine's wall clock therefore changes nothing.
 */
import type { Clock } from '@carillon/foundation';
import type { MemberStore } from './member-store.ts';

/** A reading that took longer than this says too little about the instant it was taken. */
const ROUND_TRIP_MS_MAX = 1_000;
/** Smaller steps back are waited out, so that now() does not repeat itself. */
const STEP_BACK_MS_MIN = 1_000;

export class StorageClock implements Clock {
  readonly #local: Clock;
  #offsetMs: number;
  #latest = 0;
  #skewMs = 0;

  constructor(local: Clock) {
    this.#local = local;
    this.#offsetMs = local.now() - local.monotonic();
  }

  /** How far this machine's wall clock is from the storage's, for people to see. */
  get skewMs(): number {
    return this.#skewMs;
  }

  now(): number {
    const now = Math.floor(this.#local.monotonic() + this.#offsetMs);
    if (now > this.#latest) this.#latest = now;
    return this.#latest;
  }

  monotonic(): number {
    return this.#local.monotonic();
  }

  timer(delayMs: number, callback: () => void): () => void {
    return this.#local.timer(delayMs, callback);
  }

  async sync(members: MemberStore): Promise<void> {
    const before = this.#local.monotonic();
    const serverMs = await members.serverTimeMs();
    const after = this.#local.monotonic();
    if (after - before > ROUND_TRIP_MS_MAX) return;
    const middle = (before + after) / 2;
    this.#skewMs = Math.round(this.#local.now() - (after - middle) - serverMs);
    this.#offsetMs = serverMs - middle;
    // The storage itself was set back: follow it, or nothing would be due until it has caught up.
    if (this.#latest - serverMs > STEP_BACK_MS_MIN) this.#latest = Math.floor(serverMs);
  }
}
