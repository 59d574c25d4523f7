/**
 * Group commit: items given one by one, or in groups, are flushed together as soon as fewer than `flushesMax` flushes are under way. Under little load
 * an item waits for nobody; under much load batches grow by themselves. Bounded: past `capacity` items it refuses.
 */
import type { Clock } from './clock.ts';
import { Cooldown } from './cooldown.ts';

export interface BatchBufferOptions<Item, Result> {
  readonly flush: (items: readonly Item[]) => Promise<readonly Result[]>;
  /** Items of one flush; only a group that is larger than this by itself makes a larger one. */
  readonly batchMax: number;
  readonly flushesMax: number;
  /** Items waiting or in flight; one more is refused with onFull(). */
  readonly capacity: number;
  readonly onFull: () => Error;
  /**
   * While this many wait, and the first of them longer than that, one more is refused with onFull() as well: it would wait even
   * longer. Left out: only the capacity counts.
   */
  readonly waitMax?: { readonly items: number; readonly ms: number; readonly clock: Clock };
  /**
   * Items that a flush wants to start beside another that is under way. Left out: one. A flush has a cost of its own: few
   * items do better to wait for the one under way and share the next.
   */
  readonly besideMin?: number;
  /**
   * After each flush of itemsMin items, fewer than besideMin wait for as long as it took, and at most this long. Left out: no
   * cooldown. itemsMin left out: one.
   */
  readonly cooldown?: { readonly msMax: number; readonly itemsMin?: number; readonly clock: Clock };
  /** When a flush starts after the first item came. Left out: at the end of the current job of the event loop. */
  readonly defer?: (flush: () => void) => void;
}

interface Group<Item, Result> {
  readonly items: readonly Item[];
  /** By the monotonic clock of waitMax. */
  readonly enteredAt: number;
  resolve(results: readonly Result[]): void;
  reject(error: unknown): void;
}

export class BatchBuffer<Item, Result> {
  readonly #options: BatchBufferOptions<Item, Result>;
  #waiting: Group<Item, Result>[] = [];
  #waitingItems = 0;
  #flushing = 0;
  #inFlight = 0;
  #scheduled = false;
  readonly #cooldown: Cooldown | undefined;
  #cancelCooldown: (() => void) | undefined;
  #idle: (() => void)[] = [];

  constructor(options: BatchBufferOptions<Item, Result>) {
    this.#options = options;
    this.#cooldown = options.cooldown && new Cooldown(options.cooldown);
  }

  get size(): number {
    return this.#waitingItems + this.#inFlight;
  }

  /** One more is refused. */
  get isFull(): boolean {
    const { capacity, waitMax } = this.#options;
    if (this.size >= capacity) return true;
    if (waitMax === undefined || this.#waitingItems < waitMax.items) return false;
    return waitMax.clock.monotonic() - this.#waiting[0]!.enteredAt > waitMax.ms;
  }

  add(item: Item): Promise<Result> {
    if (this.isFull) return Promise.reject(this.#options.onFull());
    return new Promise((resolve, reject) => {
      this.#enter([item], (results) => resolve(results[0] as Result), reject);
    });
  }

  /** They travel in one flush, and are answered together. */
  addAll(items: readonly Item[]): Promise<readonly Result[]> {
    if (items.length === 0) return Promise.resolve([]);
    if (this.isFull) return Promise.reject(this.#options.onFull());
    return new Promise((resolve, reject) => {
      this.#enter(items, resolve, reject);
    });
  }

  /** Resolves when everything added so far has been flushed. */
  async drained(): Promise<void> {
    if (this.size === 0) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #enter(
    items: readonly Item[],
    resolve: Group<Item, Result>['resolve'],
    reject: Group<Item, Result>['reject'],
  ): void {
    const enteredAt = this.#options.waitMax?.clock.monotonic() ?? 0;
    this.#waiting.push({ items, enteredAt, resolve, reject });
    this.#waitingItems += items.length;
    this.#schedule();
  }

  /** Flushes start after the current turn, so that items added together travel together. */
  #schedule(): void {
    if (this.#scheduled || this.#flushing >= this.#options.flushesMax) return;
    this.#scheduled = true;
    (this.#options.defer ?? queueMicrotask)(() => {
      this.#scheduled = false;
      while (this.#mayFlush()) void this.#flush();
    });
  }

  #mayFlush(): boolean {
    const { flushesMax, besideMin = 1 } = this.#options;
    if (this.#waitingItems === 0 || this.#flushing >= flushesMax) return false;
    if (this.#waitingItems >= besideMin) return true;
    return this.#flushing === 0 && !this.#isCoolingDown();
  }

  #isCoolingDown(): boolean {
    const { cooldown } = this.#options;
    const leftMs = this.#cooldown?.leftMs ?? 0;
    if (!cooldown || leftMs <= 0) return false;
    this.#cancelCooldown ??= cooldown.clock.timer(leftMs, () => {
      this.#cancelCooldown = undefined;
      this.#schedule();
    });
    return true;
  }

  async #flush(): Promise<void> {
    const { cooldown } = this.#options;
    const groups = this.#take();
    const items = groups.length === 1 ? groups[0]!.items : groups.flatMap((group) => group.items);
    const startedAt = cooldown?.clock.monotonic();
    this.#waitingItems -= items.length;
    this.#flushing += 1;
    this.#inFlight += items.length;
    try {
      const results = await this.#options.flush(items);
      let from = 0;
      for (const group of groups) {
        group.resolve(groups.length === 1 ? results : results.slice(from, from + group.items.length));
        from += group.items.length;
      }
    } catch (error) {
      for (const group of groups) group.reject(error);
    } finally {
      this.#flushing -= 1;
      this.#inFlight -= items.length;
      if (startedAt !== undefined && items.length >= (cooldown?.itemsMin ?? 1))
        this.#cooldown?.begin(startedAt);
      if (this.#waitingItems > 0) this.#schedule();
      else if (this.size === 0) for (const resolve of this.#idle.splice(0)) resolve();
    }
  }

  /** As many groups as fit, and one at least. */
  #take(): Group<Item, Result>[] {
    let items = 0;
    let count = 0;
    while (count < this.#waiting.length) {
      items += this.#waiting[count]!.items.length;
      if (count > 0 && items > this.#options.batchMax) break;
      count += 1;
    }
    return count === this.#waiting.length ? this.#waiting.splice(0) : this.#waiting.splice(0, count);
  }
}
