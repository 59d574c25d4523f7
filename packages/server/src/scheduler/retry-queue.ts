/**
 * Items that failed and are tried again: soon the first time, for the storage itself may have been slow, and later each time after that.
 * One that does not fail again for as long as the longest wait counts as new.
 */
import { type Clock, MinHeap } from '@carillon/foundation';

/** Each wait is so many times the one before. */
const GROWTH = 8;

interface Failure<Item> {
  readonly item: Item;
  readonly waitMs: number;
  readonly atMs: number;
  isWaiting: boolean;
}

export interface RetryQueueOptions<Item> {
  readonly clock: Clock;
  readonly keyOf: (item: Item) => string;
  readonly firstMs: number;
  readonly mostMs: number;
}

export class RetryQueue<Item> {
  readonly #options: RetryQueueOptions<Item>;
  readonly #waiting = new MinHeap<Failure<Item>>((a, b) => a.atMs - b.atMs);
  readonly #failures = new Map<string, Failure<Item>>();

  constructor(options: RetryQueueOptions<Item>) {
    this.#options = options;
  }

  /** Answers how long it waits. An item that waits already keeps its time. */
  add(item: Item): number {
    const { clock, keyOf, firstMs, mostMs } = this.#options;
    const now = clock.monotonic();
    this.#forget(now);
    const key = keyOf(item);
    const before = this.#failures.get(key);
    if (before?.isWaiting) return before.atMs - now;
    const waitMs = before ? Math.min(mostMs, before.waitMs * GROWTH) : firstMs;
    const failure = { item, waitMs, atMs: now + waitMs, isWaiting: true };
    // Again at the end of the map: it is in the order of failures.
    this.#failures.delete(key);
    this.#failures.set(key, failure);
    this.#waiting.push(failure);
    return waitMs;
  }

  /** Takes out the items whose time has come. */
  take(): Item[] {
    const now = this.#options.clock.monotonic();
    const items: Item[] = [];
    for (let first = this.#waiting.peek(); first && first.atMs <= now; first = this.#waiting.peek()) {
      this.#waiting.pop();
      first.isWaiting = false;
      items.push(first.item);
    }
    return items;
  }

  /** How long until the first is ready; Infinity when there is none. */
  get inMs(): number {
    const first = this.#waiting.peek();
    return first ? Math.max(0, first.atMs - this.#options.clock.monotonic()) : Number.POSITIVE_INFINITY;
  }

  #forget(now: number): void {
    for (const [key, { atMs, isWaiting }] of this.#failures) {
      // The rest may be as old only if they wait longer: they are looked at when their turn comes.
      if (isWaiting || now - atMs <= this.#options.mostMs) return;
      this.#failures.delete(key);
    }
  }
}
