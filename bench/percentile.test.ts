import { expect, it } from 'vitest';
import { percentile } from './percentile.ts';

it('is the smallest value that the share does not exceed', () => {
  const sorted = Array.from({ length: 100 }, (_, i) => i + 1);
  expect(percentile(sorted, 0.5)).toBe(50);
  expect(percentile(sorted, 0.99)).toBe(99);
  expect(percentile([7], 0.99)).toBe(7);
});
