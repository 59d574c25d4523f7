import { expect, test } from 'vitest';
import { spansOf } from './ansi.ts';

const ESC = '\u001b';

test('a plain line is one span', () => {
  expect(spansOf('resizing 100 images')).toEqual([{ text: 'resizing 100 images' }]);
});

test('colours become spans, and their end is heard', () => {
  expect(spansOf(`ok ${ESC}[31;1mfailed${ESC}[0m done`)).toEqual([
    { text: 'ok ' },
    { text: 'failed', colour: 1, bold: true },
    { text: ' done' },
  ]);
  expect(spansOf(`${ESC}[92mbright`)).toEqual([{ text: 'bright', colour: 10 }]);
});

test('what a terminal would obey is left out', () => {
  expect(
    spansOf(`a${ESC}[2Jb${ESC}]0;title\u0007c\u0008d${ESC}[999;999Hz`)
      .map(({ text }) => text)
      .join(''),
  ).toBe('abcdz');
});
