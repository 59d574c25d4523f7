/** Tries until it succeeds, for at most `patienceMs`; then throws what the last try threw. */
import { setTimeout as sleep } from 'node:timers/promises';

export async function eventually<T>(attempt: () => Promise<T>, patienceMs: number): Promise<T> {
  const giveUpAtMs = performance.now() + patienceMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() > giveUpAtMs) throw error;
      await sleep(50);
    }
  }
}
