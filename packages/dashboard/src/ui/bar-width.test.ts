import { expect, test } from 'vitest';
import { barWidthPx } from './bar-width.ts';

test('a bucket is as wide as its time, however few there are', () => {
  expect(barWidthPx({ bucketSeconds: 60, spanSeconds: 3_600, widthPx: 600 })).toBeCloseTo(9);
});

test('a bucket of a long range can be seen, and one of a short range is not a wall', () => {
  expect(barWidthPx({ bucketSeconds: 60, spanSeconds: 86_400, widthPx: 600 })).toBe(1);
  expect(barWidthPx({ bucketSeconds: 60, spanSeconds: 300, widthPx: 600 })).toBe(40);
});
