/**
 * Counts that all servers share, in windows of time: how often somebody tried to sign in, how many requests a key made.
 * They protect, they prove nothing: after a crash they may begin again at nothing, and whoever asks decides what to do
 * while they cannot be reached.
 */
export interface Count {
  /** What is counted, such as "sign-in/address/203.0.113.7". */
  readonly name: string;
  /** Windows of this length follow each other from 1970 on; what is counted belongs to the one that holds atMs. */
  readonly windowMs: number;
  readonly atMs: number;
  /** May be negative, to take back what was counted before. */
  readonly add: number;
}

export interface Counters {
  /** Adds to each, and answers what all servers together have counted in that window, in the order given. */
  add(counts: readonly Count[]): Promise<number[]>;
  /** Drops windows that ended before. */
  forget(beforeMs: number): Promise<void>;
}

export function windowStart({ atMs, windowMs }: Pick<Count, 'atMs' | 'windowMs'>): number {
  return Math.floor(atMs / windowMs) * windowMs;
}

/** Counts of the same window become one, so that an adapter touches each once. */
export function mergeCounts(counts: readonly Count[]): {
  readonly merged: readonly (Omit<Count, 'atMs'> & { readonly startMs: number })[];
  /** For each count given, the index of its window among the merged. */
  readonly indexes: readonly number[];
} {
  const indexOf = new Map<string, number>();
  const merged: (Omit<Count, 'atMs'> & { startMs: number; add: number })[] = [];
  const indexes = counts.map((count) => {
    const startMs = windowStart(count);
    const key = `${count.windowMs} ${startMs} ${count.name}`;
    const known = indexOf.get(key);
    if (known !== undefined) {
      const before = merged[known]!;
      merged[known] = { ...before, add: before.add + count.add };
      return known;
    }
    indexOf.set(key, merged.length);
    return merged.push({ name: count.name, windowMs: count.windowMs, add: count.add, startMs }) - 1;
  });
  return { merged, indexes };
}
