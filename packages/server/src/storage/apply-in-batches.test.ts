import { expect, test } from 'vitest';
import { applyInBatches } from './apply-in-batches.ts';
import { StorageTimeout, StorageUnavailable, StorageUnfit } from './storage.ts';

const NUMBERS = Array.from({ length: 1_000 }, (_, i) => i);

let calls: number;
let slow: number[];

/** Answers the items that could not be applied. */
async function failedOf(
  refuse: (part: readonly number[]) => Error | undefined,
  suspects?: (items: readonly number[]) => Promise<ReadonlySet<number>>,
): Promise<number[]> {
  calls = 0;
  slow = [];
  const results = await applyInBatches(NUMBERS, {
    apply: async (part) => {
      calls += 1;
      const error = refuse(part);
      if (error) throw error;
      return part.map((item) => ({ item, error: undefined as unknown }));
    },
    fail: (error, item) => ({ item, error }),
    timeoutsMax: 12,
    onSlow: (items) => slow.push(...items),
    ...(suspects && { suspects }),
  });
  expect(results.map(({ item }) => item)).toEqual(NUMBERS);
  return results.filter(({ error }) => error !== undefined).map(({ item }) => item);
}

test('an item that cannot be applied fails alone', async () => {
  const bad = [3, 500, 999];
  const refuse = (part: readonly number[]) =>
    part.some((item) => bad.includes(item)) ? new Error('bad') : undefined;
  expect(await failedOf(refuse)).toEqual(bad);
  expect(slow).toEqual([]);
});

test('a storage that is away is asked once', async () => {
  expect(await failedOf(() => new StorageUnavailable('away'))).toEqual(NUMBERS);
  expect(calls).toBe(1);
});

test('an item that takes too long fails alone, and is told apart (hazard 47)', async () => {
  const refuse = (part: readonly number[]) => (part.includes(700) ? new StorageTimeout('locked') : undefined);
  expect(await failedOf(refuse)).toEqual([700]);
  expect(slow).toEqual([700]);
});

test('a storage that takes too long for everything is asked a bounded number of times', async () => {
  expect(await failedOf(() => new StorageTimeout('slow'))).toEqual(NUMBERS);
  expect(calls).toBeLessThanOrEqual(12 + 10);
});

test('a storage that refuses everything is asked a bounded number of times, one that refuses an item applies the others', async () => {
  expect(await failedOf(() => new StorageUnfit('no such table'))).toEqual(NUMBERS);
  expect(calls).toBeLessThanOrEqual(12 + 10);
  const refuse = (part: readonly number[]) => (part.includes(700) ? new StorageUnfit('damaged') : undefined);
  expect(await failedOf(refuse)).toEqual([700]);
});

test('suspects are left out, however many there are: the others are applied by the second call', async () => {
  const isLocked = (item: number) => item % 7 === 0;
  const refuse = (part: readonly number[]) =>
    part.some(isLocked) ? new StorageTimeout('locked') : undefined;
  const locked = NUMBERS.filter(isLocked);
  expect(await failedOf(refuse, async (items) => new Set(items.filter(isLocked)))).toEqual(locked);
  expect([calls, slow]).toEqual([2, locked]);
});

test('where nobody is suspected, or nobody can be asked, the batch is halved', async () => {
  const refuse = (part: readonly number[]) => (part.includes(700) ? new StorageTimeout('locked') : undefined);
  expect(await failedOf(refuse, async () => new Set())).toEqual([700]);
  expect(await failedOf(refuse, () => Promise.reject(new StorageTimeout('slow')))).toEqual([700]);
});
