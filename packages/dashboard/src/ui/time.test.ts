import { describe, expect, test } from 'vitest';
import { absolute, bytes, count, dayKey, duration, offset, percent, relative } from './time.ts';

const AT = new Date('2026-11-18T14:02:11.250Z');

describe('an instant', () => {
  test('is shown in the zone that was chosen', () => {
    expect(absolute(AT, 'UTC')).toBe('2026-11-18 14:02:11');
    expect(absolute(AT, 'Asia/Tokyo', { millis: true })).toBe('2026-11-18 23:02:11.250');
    expect(dayKey(new Date('2026-11-18T23:30:00Z'), 'Asia/Tokyo')).toBe('2026-11-19');
  });

  test('has the offset of its zone at that instant', () => {
    expect(offset(AT, 'UTC')).toBe('+00:00');
    expect(offset(AT, 'Europe/Paris')).toBe('+01:00');
    expect(offset(new Date('2026-07-01T00:00:00Z'), 'Europe/Paris')).toBe('+02:00');
  });

  test('is relative within a day', () => {
    const now = AT.getTime();
    expect(relative(new Date(now + 3 * 3_600_000), now)).toBe('in 3 h');
    expect(relative(new Date(now - 12_000), now)).toBe('12 s ago');
    expect(relative(new Date(now), now)).toBe('now');
    expect(relative(new Date(now + 25 * 3_600_000), now)).toBeUndefined();
  });
});

test('durations, counts and sizes are short', () => {
  expect([12, 1_240, 45_000, 3 * 3_600_000 + 12 * 60_000, 90_000_000].map(duration)).toEqual([
    '12 ms',
    '1.24 s',
    '45.0 s',
    '3 h 12 min',
    '1 d 1 h',
  ]);
  expect([999, 12_400, 3_100_000].map(count)).toEqual(['999', '12.4 k', '3.1 M']);
  expect([512, 1_300, 5 * 1_024 * 1_024].map(bytes)).toEqual(['512 B', '1.3 KiB', '5.0 MiB']);
});

test('progress is told in whole percent, and is not 100 % before the end', () => {
  expect([0, 33.333333, 99.9, 100].map(percent)).toEqual(['0 %', '33 %', '99 %', '100 %']);
});
