/**
 * A value that is costly to read and may be stale: read at most once per maximum age, however often it is used, and one read
 * at a time. A caller waits briefly for a read and else gets the last known value; undefined before the first one.
 */
import { type Clock, sleep } from '@carillon/foundation';

/** From the start of a read. A read that takes longer continues, and no caller waits for it. */
const WAIT_MS_MAX = 500;

export function cached<Value>(
  read: () => Promise<Value>,
  { clock, maxAgeMs }: { clock: Clock; maxAgeMs: number },
): () => Promise<Value | undefined> {
  let latest: Value | undefined;
  let startedAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;
  const refresh = async () => {
    startedAt = clock.monotonic();
    // A failed read must not fail the report.
    latest = await read().catch(() => latest);
    reading = undefined;
  };
  return async () => {
    if (clock.monotonic() - startedAt >= maxAgeMs) reading ??= refresh();
    const waitMs = startedAt + WAIT_MS_MAX - clock.monotonic();
    if (reading && waitMs > 0) {
      const isOver = new AbortController();
      await Promise.race([reading, sleep(clock, waitMs, isOver.signal)]).finally(() => isOver.abort());
    }
    return latest;
  };
}
