import { describe, expect, test } from 'vitest';
import { Cache } from './cache.ts';

describe('a cache with a bound', () => {
  test('does not compute a known key again', () => {
    const cache = new Cache<string, number>({ entriesMax: 2 });
    cache.getOrCompute('a', () => 1);
    expect(cache.getOrCompute('a', () => 2)).toBe(1);
  });

  test('drops the oldest entry when the bound is reached', () => {
    const cache = new Cache<string, number>({ entriesMax: 2 });
    for (const [index, key] of ['a', 'b', 'c'].entries()) cache.getOrCompute(key, () => index);
    expect(cache.size).toBe(2);
    expect(cache.getOrCompute('c', () => 9)).toBe(2);
    expect(cache.getOrCompute('a', () => 9)).toBe(9);
  });

  test('an entry that is set again counts as new, and takes no second place', () => {
    const cache = new Cache<string, number>({ entriesMax: 2 });
    for (const [index, key] of ['a', 'b', 'a', 'c'].entries()) cache.set(key, index);
    expect([...cache.entries()]).toEqual([
      ['a', 2],
      ['c', 3],
    ]);
  });

  test('keeps values that are false or zero', () => {
    const cache = new Cache<string, number | boolean>({ entriesMax: 2 });
    expect(cache.getOrCompute('a', () => 0)).toBe(0);
    expect(cache.getOrCompute('a', () => 1)).toBe(0);
    expect(cache.getOrCompute('b', () => false)).toBe(false);
    expect(cache.getOrCompute('b', () => true)).toBe(false);
  });

  test('does not keep what could not be computed', () => {
    const cache = new Cache<string, number>({ entriesMax: 2 });
    const fail = () => {
      throw new Error('no');
    };
    expect(() => cache.getOrCompute('a', fail)).toThrow('no');
    expect(cache.getOrCompute('a', () => 1)).toBe(1);
  });
});

test('entries expire, and are new when they are set again', () => {
  let nowMs = 0;
  const cache = new Cache<string, number>({
    entriesMax: 2,
    expiry: { ttlMs: 100, clock: { monotonic: () => nowMs } },
  });
  cache.set('a', 1);
  nowMs = 99;
  expect(cache.get('a')).toBe(1);
  nowMs = 100;
  expect(cache.get('a')).toBeUndefined();
  expect(cache.size).toBe(0);
  cache.set('a', 2);
  nowMs = 199;
  expect(cache.get('a')).toBe(2);
});

describe('loading', () => {
  test('is shared by concurrent calls, and its result is kept', async () => {
    const cache = new Cache<string, number>({ entriesMax: 2 });
    const read = Promise.withResolvers<number>();
    let reads = 0;
    const load = () =>
      cache.getOrLoad('a', () => {
        reads += 1;
        return read.promise;
      });
    const both = Promise.all([load(), load()]);
    read.resolve(7);
    expect(await both).toEqual([7, 7]);
    expect(await load()).toBe(7);
    expect(reads).toBe(1);
  });

  test('that fails or finds nothing is done again', async () => {
    const cache = new Cache<string, number>({ entriesMax: 2 });
    await expect(cache.getOrLoad('a', () => Promise.reject(new Error('away')))).rejects.toThrow('away');
    expect(await cache.getOrLoad('a', async () => undefined)).toBeUndefined();
    expect(await cache.getOrLoad('a', async () => 1)).toBe(1);
  });

  test.each(['delete', 'clear'] as const)('that began before a %s is answered and not kept', async (how) => {
    const cache = new Cache<string, number>({ entriesMax: 2 });
    const read = Promise.withResolvers<number>();
    const before = cache.getOrLoad('a', () => read.promise);
    cache[how]('a');
    const after = cache.getOrLoad('a', async () => 2);
    read.resolve(1);
    expect(await before).toBe(1);
    expect(await after).toBe(2);
    expect(cache.get('a')).toBe(2);
  });
});
