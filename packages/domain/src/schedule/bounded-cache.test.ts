import { expect, test } from 'vitest';
import { BoundedCache } from './bounded-cache.ts';

test('a known key is not computed again', () => {
  const cache = new BoundedCache<string, number>(2);
  cache.getOrCompute('a', () => 1);
  expect(cache.getOrCompute('a', () => 2)).toBe(1);
});

test('the oldest entry leaves when the bound is reached', () => {
  const cache = new BoundedCache<string, number>(2);
  for (const [index, key] of ['a', 'b', 'c'].entries()) cache.getOrCompute(key, () => index);
  expect(cache.size).toBe(2);
  expect(cache.getOrCompute('c', () => 9)).toBe(2);
  expect(cache.getOrCompute('a', () => 9)).toBe(9);
});
