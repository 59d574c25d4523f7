/**
 * Looks at the trees of all running scripts at once, twice a second: one reading of /proc serves them all. At each soon after its start,
 * so that short scripts are measured too: at its tree alone, since reading all others would take longer than such scripts do.
 */
import { type ProcessInfo, ProcessTable, readTree } from './process-table.ts';

export interface TreeUse {
  readonly memoryBytes: number;
  readonly cpuSeconds: number;
  readonly processes: readonly ProcessInfo[];
}

const INTERVAL_MS = 500;
const FIRST_MS = 50;
/** On a machine with very many processes reading takes its time: at most this share of it. */
const SHARE_MAX = 0.02;

export class TreeSampler {
  readonly #watched = new Map<number, (use: TreeUse) => void>();
  #timer: NodeJS.Timeout | undefined;

  /** Until the returned function is called. */
  watch(pid: number, onUse: (use: TreeUse) => void): () => void {
    this.#watched.set(pid, onUse);
    this.#sampleIn(INTERVAL_MS);
    const first = setTimeout(() => onUse(useOf(readTree(pid))), FIRST_MS);
    return () => {
      clearTimeout(first);
      this.#watched.delete(pid);
      if (this.#watched.size > 0) return;
      clearTimeout(this.#timer);
      this.#timer = undefined;
    };
  }

  #sampleIn(delayMs: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#sample();
    }, delayMs);
  }

  #sample(): void {
    const startedAt = performance.now();
    const table = ProcessTable.read();
    for (const [pid, onUse] of [...this.#watched]) onUse(useOf(table.treeOf(pid)));
    const tookMs = performance.now() - startedAt;
    if (this.#watched.size > 0) this.#sampleIn(Math.max(INTERVAL_MS, tookMs / SHARE_MAX));
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
