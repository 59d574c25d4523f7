/**
 * Time as a dependency. Production reads the system; simulations and tests turn the hands themselves. Waiting always uses
 * monotonic time, so a step of the wall clock neither skips nor repeats a wait.
 */
export interface Clock {
  /** UTC milliseconds. */
  now(): number;
  /** Milliseconds that only ever grow. */
  monotonic(): number;
  /** Calls back once after the delay; returns the way to call it off. */
  timer(delayMs: number, callback: () => void): () => void;
}

/** The longest delay setTimeout takes without wrapping round; waits are re-armed well before. */
const TIMER_MS_MAX = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  timer(delayMs, callback) {
    const handle = setTimeout(callback, Math.min(Math.max(0, delayMs), TIMER_MS_MAX));
    return () => clearTimeout(handle);
  },
};

/** Resolves after the delay, or at once when the signal aborts: the caller checks the signal. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const cancel = clock.timer(delayMs, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    const onAbort = () => {
      cancel();
      resolve();
    };
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
