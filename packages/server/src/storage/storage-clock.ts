/**
 * The storage's clock, kept locally: the database decides what is due, and between two readings of its clock local
 * monotonic time carries on. A step of this machine's wall clock therefore changes nothing.
 */
import type { Clock } from '@carillon/foundation';
import type { MemberStore } from './member-store.ts';

/** A first reading that took longer than this is tried again. */
const ROUND_TRIP_MS_MAX = 100;
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
  #isSynced = false;

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
    let reading = await this.#read(members);
    // Before the first reading now() is this machine's wall clock, which may be off by hours: worth a few round trips.
    for (let tries = 1; !this.#isSynced && isSlow(reading) && tries < FIRST_READINGS_MAX; tries += 1) {
      const another = await this.#read(members);
      if (another.after - another.before < reading.after - reading.before) reading = another;
    }
    const { before, serverMs, after } = reading;
    this.#skewMs = Math.round(this.#local.now() - (after - before) / 2 - serverMs);
    this.#follow({ least: serverMs - after, most: serverMs - before });
    // The storage itself was set back: follow it, or nothing would be due until it has caught up. What was answered before the
    // first reading was this machine's own idea.
    if (!this.#isSynced || this.#latest - serverMs > STEP_MS_MIN) this.#latest = Math.floor(serverMs);
    this.#isSynced = true;
  }

  /**
   * However long a reading took, the storage's clock was read between its sending and its answer: that bounds the offset.
   * What fits between the bounds stays; otherwise the least is taken, so that now() is never ahead of the storage (nothing
   * starts before its time) and behind it by no more than the quickest round trip since the last step.
   */
  #follow({ least, most }: { least: number; most: number }): void {
    if (this.#isSynced && this.#offsetMs >= least && this.#offsetMs <= most) return;
    this.#offsetMs = least;
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
