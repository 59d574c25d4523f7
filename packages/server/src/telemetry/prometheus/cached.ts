/**
 * A value that is costly to find out and may be a little old: asked for once in a while, however often it is read, and one
 * question at a time. Whoever reads waits for an answer briefly and gets what was last known; undefined when nothing ever was.
 */
import { type Clock, sleep } from '@carillon/foundation';

/** From the beginning of a question. One that takes longer goes on by itself, and nobody waits for it any more. */
const PATIENCE_MS = 500;

export function cached<Value>(
  find: () => Promise<Value>,
  { clock, maxAgeMs }: { clock: Clock; maxAgeMs: number },
): () => Promise<Value | undefined> {
  let latest: Value | undefined;
  let askedAt = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | undefined;
  const ask = async () => {
    askedAt = clock.monotonic();
    // A failing question must not fail the whole answer.
    latest = await find().catch(() => latest);
    asking = undefined;
  };
  return async () => {
    if (clock.monotonic() - askedAt >= maxAgeMs) asking ??= ask();
    const patienceMs = askedAt + PATIENCE_MS - clock.monotonic();
    if (asking && patienceMs > 0) {
      const isOver = new AbortController();
      await Promise.race([asking, sleep(clock, patienceMs, isOver.signal)]).finally(() => isOver.abort());
    }
    return latest;
  };
}
