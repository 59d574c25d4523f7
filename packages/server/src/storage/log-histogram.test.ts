import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addHistogram, addToHistogram, bucketOf, msOfBucket, quantilesOf } from './log-histogram.ts';

describe('a histogram of milliseconds', () => {
  it('gives back every duration within 5 %, or a millisecond', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 30 * 86_400_000 }), (ms) => {
        expect(Math.abs(msOfBucket(bucketOf(ms)) - ms)).toBeLessThan(Math.max(1.5, ms * 0.05));
      }),
    );
  });

  it('gives back the first few milliseconds as they are', () => {
    expect([0, 1, 2, 3, 4, 5, 6].map((ms) => msOfBucket(bucketOf(ms)))).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });

  it('puts what a clock that was set back made negative into the first bucket', () => {
    expect(bucketOf(-5)).toBe(0);
    expect(bucketOf(Number.NaN)).toBe(0);
    expect(bucketOf(Number.POSITIVE_INFINITY)).toBe(bucketOf(1e15));
  });

  it('knows no quantile of nothing', () => {
    expect(quantilesOf([])).toBeUndefined();
    expect(quantilesOf([0, 0])).toBeUndefined();
  });

  it('reads quantiles of two histograms that were added', () => {
    const [fast, slow]: [number[], number[]] = [[], []];
    for (let i = 0; i < 97; i += 1) addToHistogram(fast, bucketOf(1), 1);
    addToHistogram(slow, bucketOf(1_000), 2);
    addToHistogram(slow, bucketOf(60_000), 1);
    addHistogram(fast, slow);
    const quantiles = quantilesOf(fast)!;
    expect(quantiles).toMatchObject({ p50: 1, p95: 1 });
    expect(Math.abs(quantiles.p99 - 1_000)).toBeLessThan(50);
  });
});
