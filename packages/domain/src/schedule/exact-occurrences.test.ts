import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ExactOccurrences } from './exact-occurrences.ts';
import { anyInstant, at } from './schedule-arbitraries.ts';

describe('exact intervals', () => {
  test('are multiples of the interval after the anchor, found without iteration', () => {
    fc.assert(
      fc.property(
        anyInstant,
        fc.integer({ min: 1_000, max: 1e9 }),
        anyInstant,
        (anchorMs, everyMs, afterMs) => {
          const occurrences = new ExactOccurrences(anchorMs, everyMs);
          const nextMs = occurrences.next(afterMs);
          if (nextMs === undefined) return;
          expect(nextMs).toBeGreaterThan(afterMs);
          expect((nextMs - anchorMs) % everyMs).toBe(0);
          expect(nextMs - everyMs <= afterMs || nextMs === anchorMs).toBe(true);
          expect(occurrences.previous(nextMs, 0)).toBe(nextMs);
          expect(occurrences.previous(nextMs - 1, 0)).toBe(
            nextMs === anchorMs ? undefined : nextMs - everyMs,
          );
          expect(occurrences.count(nextMs, nextMs + 5 * everyMs - 1).count).toBe(5);
        },
      ),
    );
  });

  test('begin at the anchor and end at 2100', () => {
    const occurrences = new ExactOccurrences(10_000, 3_000);
    expect(occurrences.next(0)).toBe(10_000);
    expect(occurrences.next(10_000)).toBe(13_000);
    expect(occurrences.previous(9_999, 0)).toBeUndefined();
    expect(occurrences.previous(14_000, 13_500)).toBeUndefined();
    expect(occurrences.count(0, 12_999)).toEqual({ count: 1, exact: true });
    expect(occurrences.count(0, 9_999)).toEqual({ count: 0, exact: true });
    expect(occurrences.next(at('2101-01-01T00:00Z'))).toBeUndefined();
  });
});
