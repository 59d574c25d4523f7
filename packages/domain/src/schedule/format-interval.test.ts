import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatInterval } from './format-interval.ts';
import { parseInterval } from './parse-interval.ts';
import type { Interval } from './schedule.ts';

const exact = (everyMs: number): Interval => ({ kind: 'exact', everyMs });
const calendar = (unit: 'day' | 'week' | 'month', every: number): Interval => ({
  kind: 'calendar',
  unit,
  every,
});

test('formatInterval writes what it reads back', () => {
  const anyInterval: fc.Arbitrary<Interval> = fc.oneof(
    fc.integer({ min: 1_000, max: 3_653 * 86_400_000 }).map(exact),
    fc.integer({ min: 1, max: 3_653 }).map((every) => calendar('day', every)),
    fc.integer({ min: 1, max: 521 }).map((every) => calendar('week', every)),
    fc.integer({ min: 1, max: 120 }).map((every) => calendar('month', every)),
  );
  fc.assert(
    fc.property(anyInterval, (interval) => {
      expect(parseInterval(formatInterval(interval))).toEqual(interval);
    }),
  );
  expect(formatInterval(exact(5_400_000))).toBe('1h30m');
  expect(formatInterval(exact(1_500))).toBe('1.5s');
  expect(formatInterval(exact(86_400_000))).toBe('24h');
  expect(formatInterval(calendar('month', 3))).toBe('3mo');
});
