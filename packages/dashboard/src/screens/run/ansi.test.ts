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

test('the parameters of colours beyond the sixteen are no codes of their own', () => {
  expect(spansOf(`${ESC}[38;5;9mred${ESC}[0m`)).toEqual([{ text: 'red', colour: 9 }]);
  // Neither bold (1) nor the end of everything (0), nor a colour of the text (31).
  expect(spansOf(`${ESC}[1;38;2;1;0;31mgrey ${ESC}[48;5;31;4mon blue ${ESC}[48;2;0;1;31;32mgreen`)).toEqual([
    { text: 'grey ', bold: true },
    { text: 'on blue ', bold: true },
    { text: 'green', bold: true, colour: 2 },
  ]);
  expect(spansOf(`${ESC}[31;38;5;200mpink${ESC}[38mcut`)).toEqual([{ text: 'pink' }, { text: 'cut' }]);
});

test('what a terminal would obey is left out', () => {
  expect(
    spansOf(`a${ESC}[2Jb${ESC}]0;title\u0007c\u0008d${ESC}[999;999Hz`)
      .map(({ text }) => text)
      .join(''),
  ).toBe('abcdz');
});
