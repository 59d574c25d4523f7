import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MinHeap } from './min-heap.ts';

const ascending = (a: number, b: number) => a - b;

function heapOf(items: readonly number[]): MinHeap<number> {
  const heap = new MinHeap<number>(ascending);
  for (const item of items) heap.push(item);
  return heap;
}

function emptied(heap: MinHeap<number>): number[] {
  const items: number[] = [];
  for (let next = heap.pop(); next !== undefined; next = heap.pop()) items.push(next);
  return items;
}

describe('a heap', () => {
  test('gives back what it was given, smallest first', () => {
    fc.assert(
      fc.property(fc.array(fc.integer()), (items) => {
        expect(emptied(heapOf(items))).toEqual(items.toSorted(ascending));
      }),
    );
  });

  test('has the smallest on top after any mix of pushes and pops', () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.integer())), (steps) => {
        const heap = new MinHeap<number>(ascending);
        let model: number[] = [];
        for (const step of steps) {
          if (step === null) {
            expect(heap.pop()).toBe(model[0]);
            model = model.slice(1);
          } else {
            heap.push(step);
            model = [...model, step].toSorted(ascending);
          }
          expect(heap.peek()).toBe(model[0]);
          expect(heap.size).toBe(model.length);
        }
      }),
    );
  });

  test('keeps what passes, and its order', () => {
    fc.assert(
      fc.property(fc.array(fc.integer()), (items) => {
        const heap = heapOf(items);
        heap.retain((item) => item % 2 === 0);
        const kept = items.filter((item) => item % 2 === 0);
        expect(heap.size).toBe(kept.length);
        expect(emptied(heap)).toEqual(kept.toSorted(ascending));
      }),
    );
  });

  test('that is empty has nothing to give', () => {
    const heap = heapOf([]);
    expect([heap.size, heap.peek(), heap.pop()]).toEqual([0, undefined, undefined]);
  });

  test('orders by what it is told to compare', () => {
    const heap = new MinHeap<string>((a, b) => b.length - a.length);
    for (const word of ['a', 'ccc', 'bb']) heap.push(word);
    expect([heap.pop(), heap.pop(), heap.pop()]).toEqual(['ccc', 'bb', 'a']);
  });
});
