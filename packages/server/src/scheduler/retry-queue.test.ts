import { ManualClock } from '@carillon/foundation';
import { beforeEach, expect, test } from 'vitest';
import { RetryQueue } from './retry-queue.ts';

let clock: ManualClock;
let queue: RetryQueue<string>;

beforeEach(() => {
  clock = new ManualClock();
  queue = new RetryQueue({ clock, keyOf: (item) => item, firstMs: 1_000, mostMs: 60_000 });
});

test('an item is ready soon after its first failure, and ever later after those that follow', () => {
  for (const waitMs of [1_000, 8_000, 60_000, 60_000]) {
    expect(queue.add('a')).toBe(waitMs);
    expect(queue.inMs).toBe(waitMs);
    clock.advance(waitMs - 1);
    expect(queue.take()).toEqual([]);
    clock.advance(1);
    expect(queue.take()).toEqual(['a']);
  }
  expect(queue.inMs).toBe(Number.POSITIVE_INFINITY);
});

test('an item that waits already keeps its time', () => {
  queue.add('a');
  clock.advance(400);
  expect(queue.add('a')).toBe(600);
  clock.advance(600);
  expect(queue.take()).toEqual(['a']);
});

test('items are ready in the order of their times, whichever failed first', () => {
  queue.add('often');
  clock.advance(1_000);
  queue.take();
  queue.add('often');
  queue.add('once');
  clock.advance(8_000);
  expect(queue.take()).toEqual(['once', 'often']);
});

test('an item that has not failed for a minute counts as new, and nothing is remembered of it', () => {
  queue.add('a');
  clock.advance(1_000);
  queue.take();
  clock.advance(60_001);
  expect(queue.add('a')).toBe(1_000);
});
