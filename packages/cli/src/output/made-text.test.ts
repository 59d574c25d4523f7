import { expect, test } from 'vitest';
import { madeText } from './made-text.ts';

test('what was there already is not counted as made', () => {
  expect(madeText({ made: 0, there: 2, refused: 0 })).toBe('0 jobs made, 2 were there already, 0 refused.');
  expect(madeText({ made: 1, there: 1, refused: 3 })).toBe('1 job made, 1 was there already, 3 refused.');
});

test('where nothing was there, nothing is said of it', () => {
  expect(madeText({ made: 2, there: 0, refused: 0 })).toBe('2 jobs made, 0 refused.');
});
