import { describe, expect, test } from 'vitest';
import { FREQUENCY_WORDS, frequencyToInterval } from './frequency-to-interval.ts';
import type { Interval } from './schedule.ts';

const exact = (everyMs: number): Interval => ({ kind: 'exact', everyMs });
const calendar = (unit: 'day' | 'week' | 'month', every: number): Interval => ({
  kind: 'calendar',
  unit,
  every,
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
