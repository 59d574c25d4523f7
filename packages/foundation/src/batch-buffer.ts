/**
 * Group commit: items given one by one are flushed together, as soon as a flush place is free. Under little load an item
 * waits for nobody; under much load batches grow by themselves. Bounded: past `capacity` items it refuses.
 */
export interface BatchBufferOptions<Item, Result> {
  readonly flush: (items: Item[]) => Promise<Result[]>;
  readonly batchMax: number;
  readonly flushesMax: number;
  /** Items waiting or in flight; one more is refused with onFull(). */
  readonly capacity: number;
  readonly onFull: () => Error;
  /**
   * Items that a flush wants to start beside another that is under way. Left out: one. A flush has a cost of its own: few
   * items do better to wait for the one under way and share the next.
   */
  readonly besideMin?: number;
  /** When a flush starts after the first item came. Left out: at the end of the current job of the event loop. */
  readonly defer?: (flush: () => void) => void;
}

interface Waiting<Item, Result> {
  readonly item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

export class BatchBuffer<Item, Result> {
  readonly #options: BatchBufferOptions<Item, Result>;
  #waiting: Waiting<Item, Result>[] = [];
  #flushing = 0;
  #inFlight = 0;
  #scheduled = false;
  #idle: (() => void)[] = [];

  constructor(options: BatchBufferOptions<Item, Result>) {
    this.#options = options;
  }

  get size(): number {
    return this.#waiting.length + this.#inFlight;
  }

  add(item: Item): Promise<Result> {
    if (this.size >= this.#options.capacity) return Promise.reject(this.#options.onFull());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      this.#schedule();
    });
  }

  /** Resolves when everything added so far has been flushed. */
  async drained(): Promise<void> {
    if (this.size === 0) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
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
    return this.#flushing < flushesMax && this.#waiting.length >= (this.#flushing > 0 ? besideMin : 1);
  }

  async #flush(): Promise<void> {
    const batch =
      this.#waiting.length <= this.#options.batchMax
        ? this.#waiting.splice(0)
        : this.#waiting.splice(0, this.#options.batchMax);
    this.#flushing += 1;
    this.#inFlight += batch.length;
    try {
      const results = await this.#options.flush(batch.map((entry) => entry.item));
      for (let i = 0; i < batch.length; i += 1) batch[i]!.resolve(results[i] as Result);
    } catch (error) {
      for (const entry of batch) entry.reject(error);
    } finally {
      this.#flushing -= 1;
      this.#inFlight -= batch.length;
      if (this.#waiting.length > 0) this.#schedule();
      else if (this.size === 0) for (const resolve of this.#idle.splice(0)) resolve();
    }
  }
}
