/**
 * Handles items in one call of the storage. An item that fails or takes too long by itself is set aside and tried again later
 * (SCHED-7). When the storage does not answer, the remaining items are put back, and its error is thrown.
 */
import { applyInBatches } from '../storage/apply-in-batches.ts';
import { StorageTimeout, StorageUnavailable } from '../storage/storage.ts';

const TIMEOUTS_MAX = 4;

export async function handleInBatches<Item>(
  items: readonly Item[],
  options: {
    readonly handle: (batch: readonly Item[]) => Promise<void>;
    readonly putBack: (item: Item) => void;
    readonly setAside: (item: Item, error: unknown) => void;
  },
): Promise<void> {
  const slow = new Set<Item>();
  let fault: unknown;
  await applyInBatches<Item, undefined>(items, {
    timeoutsMax: TIMEOUTS_MAX,
    apply: async (batch) => {
      await options.handle(batch);
      return batch.map(() => undefined);
    },
    onSlow: (batch) => {
      for (const item of batch) slow.add(item);
    },
    fail: (error, item) => {
      const isStorages = error instanceof StorageUnavailable || error instanceof StorageTimeout;
      if (!isStorages || slow.has(item)) options.setAside(item, error);
      else {
        options.putBack(item);
        fault = error;
      }
      return undefined;
    },
  });
  if (fault) throw fault;
}
