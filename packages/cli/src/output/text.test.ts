import { expect, test } from 'vitest';
import { showDuration, showInstant, showSpan } from './text.ts';

test('an instant in UTC says so', () => {
  expect(showInstant('2030-01-02T03:04:05.000Z', { utc: true })).toBe('2030-01-02 03:04:05Z');
  expect(showInstant('2030-01-02T03:04:05.120Z', { utc: true })).toBe('2030-01-02 03:04:05.120Z');
});

test('an instant here is that of the clock on the wall', () => {
  const at = new Date(2030, 0, 2, 3, 4, 5);
  expect(showInstant(at.toISOString(), { utc: false })).toBe('2030-01-02 03:04:05');
});

test('nothing is shown for nothing', () => {
  expect(showInstant(null, { utc: true })).toBe('');
  expect(showSpan(null, '2030-01-01T00:00:00Z')).toBe('');
});

test.each([
  [12, '12 ms'],
  [1_250, '1.3 s'],
  [245_000, '4 min 5 s'],
  [12_000_000, '3 h 20 min'],
])('%d ms is %s', (ms, text) => {
  expect(showDuration(ms)).toBe(text);
});
