/** Names of namespaces that were removed, in memory: for a while nobody gets them. */
import { NAME_RESTS_MS, NamespaceRecentlyRemoved } from '../account-store.ts';

export class RemovedNames {
  readonly #now: () => number;
  readonly #removedAtMs = new Map<string, number>();

  constructor(now: () => number) {
    this.#now = now;
  }

  add(name: string): void {
    const nowMs = this.#now();
    for (const [old, atMs] of this.#removedAtMs)
      if (atMs <= nowMs - NAME_RESTS_MS) this.#removedAtMs.delete(old);
    this.#removedAtMs.set(name, nowMs);
  }

  requireRested(name: string): void {
    const atMs = this.#removedAtMs.get(name);
    const leftMs = atMs === undefined ? 0 : atMs + NAME_RESTS_MS - this.#now();
    if (leftMs > 0) throw new NamespaceRecentlyRemoved(leftMs);
  }
}
