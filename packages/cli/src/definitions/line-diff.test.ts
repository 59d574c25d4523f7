import fc from 'fast-check';
import { expect, test } from 'vitest';
import { unifiedDiff } from './line-diff.ts';

test('shows what was taken away and added, with a few lines around', () => {
  const before = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'].join('\n');
  const after = ['a', 'b', 'c', 'd', 'E', 'f', 'g', 'h', 'i', 'j', 'k'].join('\n');
  expect(unifiedDiff(before, after)).toEqual([
    ...['@@ -2,9 +2,10 @@', ' b', ' c', ' d', '-e', '+E', ' f', ' g', ' h', ' i', ' j', '+k'],
  ]);
});

test('parts that lie far from each other have headings of their own', () => {
  const lines = Array.from({ length: 30 }, (_, i) => `line ${i}`);
  const changed = lines.map((line, i) => (i === 2 || i === 25 ? `${line}!` : line));
  const headings = unifiedDiff(lines.join('\n'), changed.join('\n')).filter((line) => line.startsWith('@@'));
  expect(headings).toEqual(['@@ -1,6 +1,6 @@', '@@ -23,7 +23,7 @@']);
});

test('of nothing and of everything', () => {
  expect(unifiedDiff('', '')).toEqual([]);
  expect(unifiedDiff('a\n', 'a\n')).toEqual([]);
  expect(unifiedDiff('', 'a\nb\n')).toEqual(['@@ -0,0 +1,2 @@', '+a', '+b']);
  expect(unifiedDiff('a\n', '')).toEqual(['@@ -1,1 +0,0 @@', '-a']);
});

test('what it shows turns one text into the other', () => {
  const text = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 12 }).map((lines) => lines.join('\n'));
  fc.assert(
    fc.property(text, text, (before, after) => {
      const marked = unifiedDiff(before, after).filter((line) => !line.startsWith('@@'));
      const count = (mark: string) => marked.filter((line) => line.startsWith(mark)).length;
      const lengthOf = (one: string) => (one === '' ? 0 : one.split('\n').length);
      expect(lengthOf(before) - count('-') + count('+')).toBe(lengthOf(after));
    }),
  );
});
