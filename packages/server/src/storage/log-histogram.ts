/**
 * Histograms of milliseconds with buckets that grow by a constant factor: eight to a doubling, so a quantile read from one is within
 * 5 % of the exact one, whatever the range. A histogram is an array of counts by bucket; two are added by adding their elements.
 */
const BUCKETS_PER_DOUBLING = 8;
/** More than a year. */
export const BUCKET_MAX = 280;

/** Bucket 0 holds what took less than a millisecond, and what a clock that was set back made negative. */
export function bucketOf(ms: number): number {
  return SHORT[ms] ?? computeBucket(ms);
}

function computeBucket(ms: number): number {
  if (!(ms >= 1)) return 0;
  return Math.min(BUCKET_MAX, 1 + Math.floor(Math.log2(ms) * BUCKETS_PER_DOUBLING));
}

/** Most are whole and short, and there are two for every run. */
const SHORT: readonly number[] = Array.from({ length: 1_024 }, (_, ms) => computeBucket(ms));

/** The geometric middle of the bucket, in whole milliseconds where there are several. */
export function msOfBucket(bucket: number): number {
  return bucket === 0 ? 0 : Math.round(2 ** ((bucket - 0.5) / BUCKETS_PER_DOUBLING));
}

export function addToHistogram(histogram: number[], bucket: number, count: number): void {
  while (histogram.length <= bucket) histogram.push(0);
  histogram[bucket]! += count;
}

export function addHistogram(to: number[], other: readonly number[]): void {
  other.forEach((count, bucket) => {
    if (count > 0) addToHistogram(to, bucket, count);
  });
}

export interface Quantiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** Undefined: nothing was measured. */
export function quantilesOf(histogram: readonly number[]): Quantiles | undefined {
  const total = histogram.reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  const at = (share: number): number => {
    const rank = Math.ceil(total * share);
    let seen = 0;
    for (const [bucket, count] of histogram.entries()) {
      seen += count;
      if (seen >= rank) return msOfBucket(bucket);
    }
    return msOfBucket(histogram.length - 1);
  };
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}
