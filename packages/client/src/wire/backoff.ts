/** How long to wait before trying again: growing, with chance, so that callers who failed together do not return together. */
const FIRST_MS = 200;
const DELAY_MS_MAX = 10_000;

/** `failures` counts from 1. What the server asks for is kept to, and never undercut. */
export function backoffMs(
  failures: number,
  { retryAfterMs, chance = Math.random() }: { retryAfterMs?: number | undefined; chance?: number } = {},
): number {
  const ceilingMs = Math.min(DELAY_MS_MAX, FIRST_MS * 2 ** (failures - 1));
  const jitteredMs = ceilingMs / 2 + (ceilingMs / 2) * chance;
  return retryAfterMs === undefined ? jitteredMs : retryAfterMs + (FIRST_MS / 2) * chance;
}

/** Rejects with the reason of the signal, and leaves neither timer nor listener behind. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
