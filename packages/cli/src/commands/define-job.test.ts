import { expect, test } from 'vitest';
import { createdText, saysWhatRuns } from './define-job.ts';

test('what was there already is not counted as made', () => {
  expect(createdText({ created: 0, existed: 2, refused: 0 })).toBe(
    '0 jobs made, 2 were there already, 0 refused.',
  );
  expect(createdText({ created: 1, existed: 1, refused: 3 })).toBe(
    '1 job made, 1 was there already, 3 refused.',
  );
});

test('where nothing was there, nothing is said of it', () => {
  expect(createdText({ created: 2, existed: 0, refused: 0 })).toBe('2 jobs made, 0 refused.');
});

test.each([
  [{}, false],
  [{ payload: { customer: 17 } }, false],
  [{ payload: { url: null } }, false],
  [{ payload: { url: 'https://example.org' } }, true],
  [{ payload: { script: 'true' } }, true],
  [{ payload: { code_location: 'clean.sh' } }, true],
  [{ handler: 'default' }, true],
])('%j says what runs: %s', (fields, expected) => {
  expect(saysWhatRuns(fields)).toBe(expected);
});
