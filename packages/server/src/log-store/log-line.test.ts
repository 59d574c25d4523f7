import { expect, test } from 'vitest';
import { parseLine, writeLine } from './log-line.ts';

test.each([
  [{ atMs: 1, stream: 'stdout', text: 'one' }, '1 o one\n'],
  [{ atMs: 2, stream: 'stderr', text: '' }, '2 e \n'],
  [{ atMs: 3, stream: 'system', text: ' 4 o five' }, '3 s  4 o five\n'],
] as const)('%j is written as %j, and read again', (line, text) => {
  expect(writeLine(line)).toBe(text);
  expect(parseLine(text.slice(0, -1))).toEqual(line);
});

test.each(['', 'one', '1 x one', 'o one', '# attempt 1'])('%j is no line of a log', (text) => {
  expect(parseLine(text)).toBeUndefined();
});
