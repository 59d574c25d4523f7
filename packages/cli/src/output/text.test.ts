import { expect, test, vi } from 'vitest';
import { showDuration, showInstant, showSpan } from './text.ts';

test('an instant in UTC says so', () => {
  expect(showInstant('2030-01-02T03:04:05.000Z', { utc: true })).toBe('2030-01-02 03:04:05Z');
  expect(showInstant('2030-01-02T03:04:05.120Z', { utc: true })).toBe('2030-01-02 03:04:05.120Z');
});

test('an instant here is that of the clock on the wall, and says how far that is from UTC', () => {
  const at = new Date(2030, 0, 2, 3, 4, 5);
  const shown = showInstant(at.toISOString(), { utc: false });
  expect(shown).toMatch(/^2030-01-02 03:04:05(?:Z|[+-]\d\d:\d\d)$/);
  expect(Date.parse(shown)).toBe(at.getTime());
});

test.each([
  ['America/New_York', '2030-07-01 08:00:00.250-04:00'],
  ['Asia/Kolkata', '2030-07-01 17:30:00.250+05:30'],
  ['Europe/London', '2030-07-01 13:00:00.250+01:00'],
  ['UTC', '2030-07-01 12:00:00.250Z'],
])('in %s it is %s', (zone, text) => {
  vi.stubEnv('TZ', zone);
  expect(showInstant('2030-07-01T12:00:00.250Z', { utc: false })).toBe(text);
  vi.unstubAllEnvs();
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
