import { expect, test } from 'vitest';
import { fireWords } from './fire-words.ts';

test('a fire has its year where that is another one, by the clock of the zone', () => {
  const now = Date.parse('2030-12-31T20:00:00Z');
  const at = new Date('2030-12-31T23:30:00Z');
  expect(fireWords(at, 'UTC', now)).toBe('Tue 31 Dec 23:30');
  expect(fireWords(at, 'Europe/Paris', now)).toBe('Wed 1 Jan 2031 00:30');
  expect(fireWords(new Date('2030-12-31T23:30:05Z'), 'UTC', now)).toBe('Tue 31 Dec 23:30:05');
});
