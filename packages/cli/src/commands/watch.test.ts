import { expect, test } from 'vitest';
import { outcomeText } from './watch.ts';

test.each([
  [{ error_message: 'refused', reason: null, occurrences: 1 }, 'refused'],
  [{ error_message: null, reason: 'paused', occurrences: 12 }, 'paused, 12 occurrences'],
  [{ error_message: null, reason: null, occurrences: 1 }, ''],
])('%j is told as "%s"', (run, words) => {
  expect(outcomeText(run)).toBe(words);
});
