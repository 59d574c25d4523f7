/** Looks at the trees of all running scripts at once, twice a second: one reading of /proc serves them all. */
import { type ProcessInfo, ProcessTable } from './process-table.ts';

export interface TreeUse {
  readonly memoryBytes: number;
  readonly cpuSeconds: number;
  readonly processes: readonly ProcessInfo[];
}

const INTERVAL_MS = 500;
/** Soon after the start, so that short scripts are measured too. */
const FIRST_MS = 50;
/** On a machine with very many processes reading takes its time: at most this share of it. */
const SHARE_MAX = 0.02;

export class TreeSampler {
  readonly #watched = new Map<number, (use: TreeUse) => void>();
  #timer: NodeJS.Timeout | undefined;
  #dueAt = 0;

  /** Until the returned function is called. */
  watch(pid: number, onUse: (use: TreeUse) => void): () => void {
    this.#watched.set(pid, onUse);
    this.#arm(FIRST_MS);
    return () => {
      this.#watched.delete(pid);
      if (this.#watched.size > 0) return;
      clearTimeout(this.#timer);
      this.#timer = undefined;
    };
  }

  /** An earlier look that is due anyway serves as well. */
  #arm(delayMs: number): void {
    const dueAt = performance.now() + delayMs;
    if (this.#timer && this.#dueAt <= dueAt) return;
    clearTimeout(this.#timer);
    this.#dueAt = dueAt;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#sample();
    }, delayMs);
  }

  #sample(): void {
    if (this.#watched.size === 0) return;
    const startedAt = performance.now();
    const table = ProcessTable.read();
    for (const [pid, onUse] of [...this.#watched]) onUse(useOf(table.treeOf(pid)));
    const tookMs = performance.now() - startedAt;
    if (this.#watched.size > 0) this.#arm(Math.max(INTERVAL_MS, tookMs / SHARE_MAX));
  }
}

function useOf(processes: readonly ProcessInfo[]): TreeUse {
  let memoryBytes = 0;
  let cpuSeconds = 0;
  for (const info of processes) {
    memoryBytes += info.memoryBytes;
    cpuSeconds += info.cpuSeconds;
  }
  return { memoryBytes, cpuSeconds, processes };
}
