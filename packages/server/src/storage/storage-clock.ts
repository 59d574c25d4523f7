/**
 * The storage's clock, kept locally: the database decides what is due, and between two readings of its clock local
 * monotonic time carries on. A step of this machine's wall clock therefore changes nothing.
 */
import type { Clock } from '@carillon/foundation';
import type { MemberStore } from './member-store.ts';

/** A reading that took longer than this says too little about the instant it was taken. */
const ROUND_TRIP_MS_MAX = 1_000;
/** Smaller steps back are waited out, so that now() does not repeat itself. */
const STEP_MS_MIN = 1_000;
const FIRST_READINGS_MAX = 5;

interface Reading {
  readonly before: number;
  readonly serverMs: number;
  readonly after: number;
}

export class StorageClock implements Clock {
  readonly #local: Clock;
  #offsetMs: number;
  #latest = 0;
  #skewMs = 0;
  #steppedAt = Number.NEGATIVE_INFINITY;
  #synced = false;
  #isSynced = false;

  constructor(local: Clock) {
    this.#local = local;
    this.#offsetMs = local.now() - local.monotonic();
  }

  /** How far this machine's wall clock is from the storage's, for people to see. */
  get skewMs(): number {
    return this.#skewMs;
  }

  /** When the storage's clock was last seen to have jumped, by local monotonic time: others may not know yet. */
  get steppedAt(): number {
    return this.#steppedAt;
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
    let reading = await this.#read(members);
    // Before the first reading now() is this machine's wall clock, which may be off by hours: a poor one is better than none.
    for (let tries = 1; !this.#isSynced && isSlow(reading) && tries < FIRST_READINGS_MAX; tries += 1) {
      const another = await this.#read(members);
      if (another.after - another.before < reading.after - reading.before) reading = another;
    }
    if (this.#isSynced && isSlow(reading)) return;
    this.#isSynced = true;
    const { before, serverMs, after } = reading;
    const middle = (before + after) / 2;
    this.#skewMs = Math.round(this.#local.now() - (after - middle) - serverMs);
    const jumpedMs = Math.abs(serverMs - middle - this.#offsetMs);
    if (this.#synced && jumpedMs > STEP_MS_MIN) this.#steppedAt = after;
    this.#synced = true;
    this.#offsetMs = serverMs - middle;
    // The storage itself was set back: follow it, or nothing would be due until it has caught up.
    if (this.#latest - serverMs > STEP_MS_MIN) this.#latest = Math.floor(serverMs);
  }
  async #read(members: MemberStore): Promise<Reading> {
    const before = this.#local.monotonic();
    const serverMs = await members.serverTimeMs();
    return { before, serverMs, after: this.#local.monotonic() };
  }
}

function isSlow({ before, after }: Reading): boolean {
  return after - before > ROUND_TRIP_MS_MAX;
}
