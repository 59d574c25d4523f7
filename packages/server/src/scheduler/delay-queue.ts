/** Items that are ready again after a fixed time, each once, in the order in which they were added. */
import type { Clock } from '@carillon/foundation';

export class DelayQueue<Item> {
  readonly #clock: Clock;
  readonly #afterMs: number;
  readonly #backAt = new Map<Item, number>();

  constructor({ clock, afterMs }: { readonly clock: Clock; readonly afterMs: number }) {
    this.#clock = clock;
    this.#afterMs = afterMs;
  }

  /** An item that is in the queue already keeps its time. */
  add(item: Item): void {
    if (!this.#backAt.has(item)) this.#backAt.set(item, this.#clock.monotonic() + this.#afterMs);
  }

  /** Takes out the items whose time has come. */
  take(): Item[] {
    const now = this.#clock.monotonic();
    const back: Item[] = [];
    for (const [item, at] of this.#backAt) {
      if (at > now) break;
      this.#backAt.delete(item);
      back.push(item);
    }
    return back;
  }

  /** How long until the first is ready; Infinity when there is none. */
  get inMs(): number {
    const [at = Number.POSITIVE_INFINITY] = this.#backAt.values();
    return Math.max(0, at - this.#clock.monotonic());
  }
}
