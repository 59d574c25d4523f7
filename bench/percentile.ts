/** The smallest value that at least this share of all values does not exceed (nearest rank). Wants them sorted. */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  if (sorted.length === 0) throw new Error('a percentile of nothing');
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]!;
}
