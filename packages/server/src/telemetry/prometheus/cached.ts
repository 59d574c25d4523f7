/** A value that is costly to find out and may be a little old: asked for once in a while, however often it is read. */
import type { Clock } from '@carillon/foundation';

export function cached<Value>(
  find: () => Promise<Value>,
  { clock, maxAgeMs, otherwise }: { clock: Clock; maxAgeMs: number; otherwise: Value },
): () => Promise<Value> {
  let latest = otherwise;
  let askedAt = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | undefined;
  const ask = async () => {
    askedAt = clock.monotonic();
    // Whoever reads gets what was last known: a failing question must not fail the whole answer.
    latest = await find().catch(() => latest);
    asking = undefined;
  };
  return async () => {
    if (clock.monotonic() - askedAt >= maxAgeMs) asking ??= ask();
    await asking;
    return latest;
  };
}
