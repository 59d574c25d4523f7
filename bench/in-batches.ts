/**
 * Sends items in batches of `size`, at most `lanes` batches in flight. Shared by the systems, so that none is slowed by
 * a worse submit loop than another.
 */
export async function inBatches<T>(options: {
  items: readonly T[];
  size: number;
  lanes: number;
  send: (batch: readonly T[]) => Promise<unknown>;
}): Promise<void> {
  const { items, size, lanes, send } = options;
  let next = 0;
  const lane = async () => {
    while (next < items.length) {
      const batch = items.slice(next, next + size);
      next += size;
      await send(batch);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
