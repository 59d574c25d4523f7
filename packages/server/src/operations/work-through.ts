/** Does something with each of a bounded list, a few at a time; what is refused is counted, never the end of the rest. */
import { Refusal } from '@carillon/domain';

/** Enough to hide the journeys to the database, few enough to leave connections to others. */
const AT_ONCE = 4;

export interface WorkedThrough {
  readonly done: number;
  readonly refused: number;
}

export async function workThrough<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<unknown>,
): Promise<WorkedThrough> {
  let next = 0;
  let done = 0;
  let refused = 0;
  const lane = async () => {
    while (next < items.length) {
      const item = items[next++]!;
      try {
        await work(item);
        done += 1;
      } catch (error) {
        if (!(error instanceof Refusal) || error.status >= 500) throw error;
        refused += 1;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, lane));
  return { done, refused };
}
