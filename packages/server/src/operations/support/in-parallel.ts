/** Asynchronous work on a bounded list: a few items at once, so that one request never takes every database connection. */
import { Refusal } from '@carillon/domain';

const AT_ONCE_MAX = 4;

/** Called before a bulk request does its work, with the number of its items; throws when its caller has done too much. */
export type Charge = (items: number) => void;

/**
 * What the items of bulk requests share: so many at once for all requests of this server together. A request has a few items here at a
 * time, and they take turns in the order they came, so a large request does not hold up the others.
 */
export class BulkLanes {
  #free = AT_ONCE_MAX;
  readonly #waiting: (() => void)[] = [];

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    }
  }
}

/** Results in the order of the items. */
export async function mapInParallel<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const runLane = async () => {
    while (next < items.length) {
      const index = next++;
      results[index] = await work(items[index]!);
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE_MAX, items.length) }, runLane));
  return results;
}

/** Of many things that are done together: a refusal is a result of its own and does not stop the rest; a fault ends the request. */
export async function orRefused<Result>(
  attempt: () => Promise<Result>,
  refused: (error: Refusal) => Result,
): Promise<Result> {
  try {
    return await attempt();
  } catch (error) {
    if (!(error instanceof Refusal) || error.status >= 500) throw error;
    return refused(error);
  }
}
