/** Waits for something another process will do: asks again and again, for a bounded time, and then says what was still wrong. */

const FIRST_PAUSE_MS = 5;
const PAUSE_MS_MAX = 100;

/** Returns what `fn` returns as soon as it does not throw; `withinMs` bounds the wait, not how fast it must be. */
export async function eventually<T>(
  fn: () => T | Promise<T>,
  options: { readonly withinMs: number },
): Promise<T> {
  const startedAt = performance.now();
  let pauseMs = FIRST_PAUSE_MS;
  for (let tries = 1; ; tries += 1) {
    try {
      return await fn();
    } catch (error) {
      const waitedMs = performance.now() - startedAt;
      if (waitedMs > options.withinMs) {
        const reason = error instanceof Error ? error.message : String(error);
        throw new Error(`still not so after ${Math.round(waitedMs)} ms and ${tries} tries: ${reason}`, {
          cause: error,
        });
      }
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    pauseMs = Math.min(pauseMs * 1.5, PAUSE_MS_MAX);
  }
}
