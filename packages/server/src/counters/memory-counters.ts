/** Counters within one process: for a server that stands alone without a database of counters, and for tests. */
import { type Count, type Counters, mergeCounts } from './counters.ts';

interface Window {
  readonly endMs: number;
  count: number;
}

export class MemoryCounters implements Counters {
  readonly #windows = new Map<string, Window>();

  async add(counts: readonly Count[]): Promise<number[]> {
    const { merged, indexes } = mergeCounts(counts);
    const totals = merged.map(({ name, windowMs, startMs, add }) => {
      const key = `${windowMs} ${startMs} ${name}`;
      const window = this.#windows.get(key) ?? { endMs: startMs + windowMs, count: 0 };
      window.count += add;
      this.#windows.set(key, window);
      return window.count;
    });
    return indexes.map((index) => totals[index]!);
  }

  async forget(beforeMs: number): Promise<void> {
    for (const [key, { endMs }] of this.#windows) if (endMs <= beforeMs) this.#windows.delete(key);
  }
}
