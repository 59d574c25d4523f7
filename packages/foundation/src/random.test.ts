import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SeededRandom, systemRandom } from './random.ts';

const UUID_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const taken = <T>(count: number, take: () => T): T[] => Array.from({ length: count }, take);

describe('seeded chance', () => {
  test('repeats itself exactly from the same seed', () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const [one, other] = [new SeededRandom(seed), new SeededRandom(seed)];
        expect(taken(20, () => [one.next(), one.id(), one.below(7)])).toEqual(
          taken(20, () => [other.next(), other.id(), other.below(7)]),
        );
      }),
    );
  });

  test('differs from seed to seed', () => {
    const firsts = taken(1_000, () => 0).map((_, seed) => new SeededRandom(seed).next());
    expect(new Set(firsts).size).toBe(1_000);
  });

  test('lies in [0, 1), and below what it is told to', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: 1, max: 1_000 }), (seed, bound) => {
        const random = new SeededRandom(seed);
        for (const value of taken(50, () => random.next())) {
          expect(value).toBeGreaterThanOrEqual(0);
          expect(value).toBeLessThan(1);
        }
        for (const value of taken(50, () => random.below(bound))) {
          expect(Number.isInteger(value)).toBe(true);
          expect(value).toBeGreaterThanOrEqual(0);
          expect(value).toBeLessThan(bound);
        }
      }),
    );
  });

  test('is spread evenly', () => {
    const random = new SeededRandom(1);
    const counts = new Array<number>(10).fill(0);
    for (let i = 0; i < 10_000; i += 1) counts[random.below(10)]! += 1;
    for (const count of counts) expect(Math.abs(count - 1_000)).toBeLessThan(150);
  });
});

describe.each([
  ['seeded', new SeededRandom(7)],
  ['the system', systemRandom],
])('ids of %s', (_, random) => {
  const ids = taken(5_000, () => random.id());

  test('are UUIDs of version 7, no two alike', () => {
    for (const id of ids) expect(id).toMatch(UUID_7);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('are in the order they were made: lists by id are lists by creation', () => {
    expect(ids).toEqual(ids.toSorted());
  });
});

test('the chance of the system lies in [0, 1)', () => {
  for (const value of taken(1_000, () => systemRandom.next())) {
    expect(value).toBeGreaterThanOrEqual(0);
    expect(value).toBeLessThan(1);
  }
});
