import { beforeEach, describe, expect, test } from 'vitest';
import { BatchBuffer } from './batch-buffer.ts';
import { ManualClock } from './manual-clock.ts';

/** Flushes under way: what is in them, and the ways to end them. */
let flushes: { items: readonly number[]; end: PromiseWithResolvers<number[]> }[];
let buffer: BatchBuffer<number, number>;

function create(over: Partial<ConstructorParameters<typeof BatchBuffer<number, number>>[0]> = {}) {
  return new BatchBuffer<number, number>({
    flush: (items) => {
      const end = Promise.withResolvers<number[]>();
      flushes.push({ items, end });
      return end.promise;
    },
    batchMax: 3,
    flushesMax: 2,
    capacity: 10,
    onFull: () => new Error('full'),
    ...over,
  });
}

beforeEach(() => {
  flushes = [];
  buffer = create();
});

const turns = () => new Promise<void>((resolve) => setImmediate(resolve));
const finish = (at: number) => flushes[at]!.end.resolve(flushes[at]!.items.map((item) => item * 10));

describe('items', () => {
  test('added together travel together, in their order', async () => {
    const results = Promise.all([buffer.add(1), buffer.add(2)]);
    expect(flushes).toEqual([]);
    await turns();
    expect(flushes.map((flush) => flush.items)).toEqual([[1, 2]]);
    finish(0);
    expect(await results).toEqual([10, 20]);
  });

  test('added alone wait for nobody', async () => {
    void buffer.add(1);
    await turns();
    void buffer.add(2);
    await turns();
    expect(flushes.map((flush) => flush.items)).toEqual([[1], [2]]);
  });

  test('gather after a flush of many, and wait for nobody after a small one', async () => {
    const clock = new ManualClock();
    buffer = create({ besideMin: 9, cooldown: { msMax: 8, itemsMin: 2, clock } });
    for (const item of [1, 2]) {
      void buffer.add(item);
      await turns();
      clock.advance(3);
      finish(item - 1);
      await turns();
    }
    expect(flushes.map((flush) => flush.items)).toEqual([[1], [2]]);
    void buffer.add(3);
    void buffer.add(4);
    await turns();
    clock.advance(3);
    finish(2);
    await turns();
    void buffer.add(5);
    await turns();
    expect(flushes).toHaveLength(3);
    clock.advance(3);
    await turns();
    expect(flushes.at(-1)!.items).toEqual([5]);
  });

  test('are refused while enough others wait for too long', async () => {
    const clock = new ManualClock();
    buffer = create({ flushesMax: 1, waitMax: { items: 2, ms: 100, clock } });
    void buffer.add(1);
    await turns();
    void buffer.add(2);
    clock.advance(101);
    void buffer.add(3);
    await expect(buffer.add(4)).rejects.toThrow('full');
    finish(0);
    await turns();
    expect(flushes.at(-1)!.items).toEqual([2, 3]);
    void buffer.add(5);
    expect(buffer.size).toBe(3);
  });

  test('too few to be worth a flush beside another wait for it, and enough of them do not', async () => {
    buffer = create({ besideMin: 2 });
    for (const item of [1, 2]) {
      void buffer.add(item);
      await turns();
    }
    expect(flushes.map((flush) => flush.items)).toEqual([[1]]);
    void buffer.add(3);
    await turns();
    expect(flushes.map((flush) => flush.items)).toEqual([[1], [2, 3]]);
    void buffer.add(4);
    finish(0);
    finish(1);
    await turns();
    expect(flushes.map((flush) => flush.items)).toEqual([[1], [2, 3], [4]]);
  });

  test('given as a group travel together and are answered together, beside single ones', async () => {
    const results = Promise.all([buffer.add(1), buffer.addAll([2, 3]), buffer.addAll([4, 5, 6, 7])]);
    await turns();
    expect(flushes.map((flush) => flush.items)).toEqual([
      [1, 2, 3],
      [4, 5, 6, 7],
    ]);
    finish(0);
    finish(1);
    expect(await results).toEqual([10, [20, 30], [40, 50, 60, 70]]);
    expect(await buffer.addAll([])).toEqual([]);
  });

  test('too few wait after a flush for as long as it took, within a bound; enough of them do not', async () => {
    const clock = new ManualClock();
    buffer = create({ besideMin: 2, cooldown: { msMax: 8, clock } });
    void buffer.add(1);
    await turns();
    clock.advance(5);
    finish(0);
    await turns();
    void buffer.add(2);
    await turns();
    clock.advance(4);
    await turns();
    expect(flushes).toHaveLength(1);
    clock.advance(1);
    await turns();
    expect(flushes.map((flush) => flush.items)).toEqual([[1], [2]]);
    clock.advance(1_000);
    finish(1);
    await turns();
    void buffer.add(3);
    clock.advance(7);
    await turns();
    expect(flushes).toHaveLength(2);
    void buffer.add(4);
    await turns();
    expect(flushes.map((flush) => flush.items)).toEqual([[1], [2], [3, 4]]);
  });

  test('gather while all flushes are under way, and leave as soon as one ends', async () => {
    for (const item of [1, 2]) {
      void buffer.add(item);
      await turns();
    }
    void buffer.add(3);
    void buffer.add(4);
    await turns();
    expect(flushes).toHaveLength(2);
    finish(0);
    await turns();
    expect(flushes.map((flush) => flush.items)).toEqual([[1], [2], [3, 4]]);
  });

  test('never travel in batches larger than allowed', async () => {
    const results = Promise.all([1, 2, 3, 4, 5, 6, 7].map((item) => buffer.add(item)));
    await turns();
    expect(flushes.map((flush) => flush.items)).toEqual([
      [1, 2, 3],
      [4, 5, 6],
    ]);
    finish(0);
    await turns();
    expect(flushes[2]!.items).toEqual([7]);
    finish(1);
    finish(2);
    expect(await results).toEqual([10, 20, 30, 40, 50, 60, 70]);
  });
});

describe('a flush that fails', () => {
  test('fails its own items only, and the next one goes on', async () => {
    const lost = Promise.allSettled([buffer.add(1), buffer.add(2)]);
    await turns();
    flushes[0]!.end.reject(new Error('the disk is full'));
    expect((await lost).map((result) => result.status)).toEqual(['rejected', 'rejected']);
    const next = buffer.add(3);
    await turns();
    finish(1);
    expect(await next).toBe(30);
  });

  test('by throwing at once is a failure like any other', async () => {
    const broken = create({
      flush: () => {
        throw new Error('at once');
      },
    });
    await expect(broken.add(1)).rejects.toThrow('at once');
    expect(broken.size).toBe(0);
  });
});

describe('the bound', () => {
  test('counts what waits and what is in flight; one more is refused', async () => {
    const all = Promise.allSettled(Array.from({ length: 10 }, (_, i) => buffer.add(i)));
    await turns();
    expect(buffer.size).toBe(10);
    await expect(buffer.add(11)).rejects.toThrow('full');
    expect(buffer.size).toBe(10);
    for (let at = 0; at < flushes.length; at += 1) {
      finish(at);
      await turns();
    }
    expect((await all).every((result) => result.status === 'fulfilled')).toBe(true);
    expect(buffer.size).toBe(0);
  });
});

describe('drained', () => {
  test('resolves at once when there is nothing', async () => {
    await buffer.drained();
  });

  test('resolves when everything is flushed, failures included', async () => {
    let drained = false;
    const results = Promise.allSettled([1, 2, 3, 4].map((item) => buffer.add(item)));
    void buffer.drained().then(() => {
      drained = true;
    });
    await turns();
    finish(0);
    await turns();
    expect(drained).toBe(false);
    flushes[1]!.end.reject(new Error('no'));
    await results;
    await turns();
    expect(drained).toBe(true);
  });
});
