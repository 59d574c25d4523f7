import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Refusal } from '../errors/refusal.ts';
import { FREQUENCY_WORDS, formatInterval, frequencyToInterval, parseInterval } from './interval.ts';
import type { Interval } from './schedule.ts';

const exact = (everyMs: number): Interval => ({ kind: 'exact', everyMs });
const calendar = (unit: 'day' | 'week' | 'month', every: number): Interval => ({
  kind: 'calendar',
  unit,
  every,
});

describe('parseInterval', () => {
  test.each<[string | number, Interval]>([
    ['90s', exact(90_000)],
    ['15m', exact(900_000)],
    ['15 min', exact(900_000)],
    ['6h', exact(21_600_000)],
    ['1h30m', exact(5_400_000)],
    ['1h 30m 15s', exact(5_415_000)],
    ['1 hour, 30 minutes', exact(5_400_000)],
    ['1.5h', exact(5_400_000)],
    ['1.1s', exact(1_100)],
    ['1500ms', exact(1_500)],
    ['24h', exact(86_400_000)],
    [90, exact(90_000)],
    ['90', exact(90_000)],
    [1.5, exact(1_500)],
    ['PT15M', exact(900_000)],
    ['pt1h30m', exact(5_400_000)],
    ['PT1.5S', exact(1_500)],
    ['PT36H', exact(129_600_000)],
    ['1d', calendar('day', 1)],
    ['1 Day', calendar('day', 1)],
    ['P1D', calendar('day', 1)],
    ['2w', calendar('week', 2)],
    ['P1W', calendar('week', 1)],
    ['1mo', calendar('month', 1)],
    ['1 month', calendar('month', 1)],
    ['P1M', calendar('month', 1)],
    ['1y', calendar('month', 12)],
    ['P2Y', calendar('month', 24)],
    ['10 years', calendar('month', 120)],
  ])('reads %j', (input, expected) => {
    expect(parseInterval(input)).toEqual(expected);
  });

  test.each<[string | number, string]>([
    ['0s', 'is zero'],
    [0, 'is zero'],
    ['0d', 'is zero'],
    ['PT0S', 'is zero'],
    ['-5m', 'is negative'],
    [-1, 'is negative'],
    ['500ms', 'shorter than 1 second'],
    [0.5, 'shorter than 1 second'],
    ['1.0001s', 'finer than a millisecond'],
    ['11y', 'longer than 10 years'],
    ['P121M', 'longer than 10 years'],
    ['100000h', 'longer than 10 years'],
    [1e12, 'longer than 10 years'],
    ['1.5d', 'whole number of days'],
    ['1d12h', 'mixes'],
    ['12h1d', 'mixes'],
    ['P1DT12H', 'mixes'],
    ['P1Y1M', 'mixes'],
    ['15M', 'not a duration'],
    ['5x', 'not a duration'],
    ['', 'not a duration'],
    ['P', 'not a duration'],
    ['PT', 'not a duration'],
    ['P1DT', 'not a duration'],
    ['PT1.2.3S', 'not a duration'],
    ['h', 'not a duration'],
    ['1h1h', 'not a duration'],
    ['daily', 'not a duration'],
    [Number.NaN, 'not a duration'],
    [Number.POSITIVE_INFINITY, 'not a duration'],
    [`${'1'.repeat(80)}s`, 'not a duration'],
  ])('refuses %j', (input, reason) => {
    let refusal: unknown;
    try {
      parseInterval(input, { field: 'every' });
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toBeInstanceOf(Refusal);
    expect(refusal).toMatchObject({
      code: 'interval_invalid',
      field: 'every',
      message: expect.stringContaining(reason),
    });
  });

  test('never takes long over odd input', () => {
    fc.assert(
      fc.property(
        fc.string({ maxLength: 100, unit: fc.constantFrom('1', '9', '.', 'h', 'm', ' ', 'P', 'T', ',') }),
        (text) => {
          try {
            parseInterval(text);
          } catch (error) {
            expect(error).toBeInstanceOf(Refusal);
          }
        },
      ),
      { numRuns: 500 },
    );
    expect(() => parseInterval(`${'1h '.repeat(21)}!`)).toThrow(Refusal);
  });
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

describe('frequencyToInterval', () => {
  test('reads the words, however they are written', () => {
    expect(FREQUENCY_WORDS).toEqual(['hourly', 'daily', 'weekly', 'monthly', 'yearly']);
    expect(frequencyToInterval('HOURLY')).toEqual(exact(3_600_000));
    expect(frequencyToInterval('Daily')).toEqual(calendar('day', 1));
    expect(frequencyToInterval('weekly ')).toEqual(calendar('week', 1));
    expect(frequencyToInterval('monthly')).toEqual(calendar('month', 1));
    expect(frequencyToInterval('yearly')).toEqual(calendar('month', 12));
  });

  test('refuses another word and lists the known ones', () => {
    expect(() => frequencyToInterval('fortnightly')).toThrow('hourly, daily, weekly, monthly, yearly');
  });
});
