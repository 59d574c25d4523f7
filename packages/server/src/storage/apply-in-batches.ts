/**
 * Unrelated items share one call of the storage, so one that fails, or waits for a lock, must not delay the others: the batch is
 * halved until the item is alone. A storage that does not answer is not called again. After a timeout it is called a bounded number of
 * times more: each takes as long as the time limit, and the storage itself may be slow rather than one item. So it is when it refuses
 * items whatever they say: nearly always it refuses all.
 */
import { StorageTimeout, StorageUnavailable, StorageUnfit } from './storage.ts';

export interface ApplyInBatchesOptions<Item, Result> {
  readonly apply: (batch: readonly Item[]) => Promise<readonly Result[]>;
  /** What an item is answered that could not be applied. */
  readonly fail: (error: unknown, item: Item) => Result;
  /** Calls that may take too long, or be refused whatever they say, before the rest is given up, but for one call for each batch that was not tried yet. */
  readonly timeoutsMax: number;
  /** Items that are likely to be what a call waited for; asked once, after the first call that took too long. */
  readonly suspects?: (items: readonly Item[]) => Promise<ReadonlySet<Item>>;
  /** Items that stand in the way of others: suspects, and those that took too long alone. */
  readonly onSlow?: (items: readonly Item[]) => void;
}

export function applyInBatches<Item, Result>(
  items: readonly Item[],
  options: ApplyInBatchesOptions<Item, Result>,
): Promise<readonly Result[]> {
  return new Batches(options).apply(items);
}

class Batches<Item, Result> {
  readonly #options: ApplyInBatchesOptions<Item, Result>;
  #timeouts = 0;
  #refusals = 0;

  constructor(options: ApplyInBatchesOptions<Item, Result>) {
    this.#options = options;
  }

  async apply(batch: readonly Item[]): Promise<readonly Result[]> {
    try {
      return await this.#options.apply(batch);
    } catch (error) {
      if (error instanceof StorageTimeout) return this.#afterTimeout(batch, error);
      if (error instanceof StorageUnfit) this.#refusals += 1;
      const isGivenUp = error instanceof StorageUnfit && this.#refusals >= this.#options.timeoutsMax;
      const isAll = batch.length === 1 || error instanceof StorageUnavailable || isGivenUp;
      return isAll ? this.#failed(batch, error) : this.#halved(batch);
    }
  }

  async #afterTimeout(batch: readonly Item[], error: StorageTimeout): Promise<readonly Result[]> {
    const { timeoutsMax, suspects, onSlow } = this.#options;
    this.#timeouts += 1;
    if (batch.length === 1) {
      onSlow?.(batch);
      return this.#failed(batch, error);
    }
    // An answer here only saves time: without one the batch is halved.
    const slow = this.#timeouts === 1 ? await suspects?.(batch).catch(() => undefined) : undefined;
    if (slow && slow.size > 0) return this.#without(slow, batch, error);
    return this.#timeouts >= timeoutsMax ? this.#failed(batch, error) : this.#halved(batch);
  }

  async #without(slow: ReadonlySet<Item>, batch: readonly Item[], error: unknown): Promise<Result[]> {
    this.#options.onSlow?.([...slow]);
    const others = batch.filter((item) => !slow.has(item));
    const results = others.length > 0 ? await this.apply(others) : [];
    let next = 0;
    return batch.map((item) => (slow.has(item) ? this.#options.fail(error, item) : results[next++]!));
  }

  async #halved(batch: readonly Item[]): Promise<Result[]> {
    const half = Math.ceil(batch.length / 2);
    const first = await this.apply(batch.slice(0, half));
    return [...first, ...(await this.apply(batch.slice(half)))];
  }

  #failed(batch: readonly Item[], error: unknown): Result[] {
    return batch.map((item) => this.#options.fail(error, item));
  }
}
