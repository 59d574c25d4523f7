import { expect, test } from 'vitest';
import { soonInput, toLocalInput } from './local-time.ts';

test('an instant is shown by the wall clock of the zone', () => {
  expect(toLocalInput('2026-12-01T08:00:00.000Z', 'Europe/Paris')).toBe('2026-12-01T09:00');
  expect(toLocalInput('2026-12-01T08:00:30+01:00', 'UTC')).toBe('2026-12-01T07:00:30');
  expect(toLocalInput(1_764_576_000, 'UTC')).toBe('2025-12-01T08:00');
});

test('a time without an offset is already meant in the zone', () => {
  expect(toLocalInput('2026-12-01T09:00', 'Asia/Tokyo')).toBe('2026-12-01T09:00');
  expect(toLocalInput('2026-12-01 09:00', 'Asia/Tokyo')).toBe('2026-12-01T09:00');
});

test('what is no instant is left to the JSON', () => {
  for (const value of [undefined, null, 'tomorrow', {}]) expect(toLocalInput(value, 'UTC')).toBe('');
});

test('a new time is the next full hour that leaves time to finish the form', () => {
  expect(soonInput('UTC', Date.parse('2026-11-18T08:10:00Z'))).toBe('2026-11-18T09:00');
  expect(soonInput('UTC', Date.parse('2026-11-18T08:40:00Z'))).toBe('2026-11-18T10:00');
});
