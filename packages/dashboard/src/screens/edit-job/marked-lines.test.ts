import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Line, markedLines } from './marked-lines.ts';

const SIGNS = { same: ' ', removed: '-', added: '+' };
/** Such as `-"a": [1]`: with a sign, and brackets around what changed within the line. */
const shown = (lines: readonly Line[]) =>
  lines.map(
    ({ kind, parts }) =>
      SIGNS[kind] + parts.map(({ text, changed }) => (changed ? `[${text}]` : text)).join(''),
  );
const compared = (before: string, after: string) => {
  const marked = markedLines(before, after);
  return [shown(marked.before), shown(marked.after)];
};

describe('two texts', () => {
  test('mark the lines that differ, and what differs within them', () => {
    expect(compared('{\n "a": 1,\n "b": "x"\n}', '{\n "a": 2,\n "b": "x"\n}')).toEqual([
      [' {', '- "a": [1],', '  "b": "x"', ' }'],
      [' {', '+ "a": [2],', '  "b": "x"', ' }'],
    ]);
    expect(compared('https://example.org/?page=1', 'https://example.org/?page=12')).toEqual([
      ['-https://example.org/?page=1'],
      ['+https://example.org/?page=1[2]'],
    ]);
  });

  test('that share nothing are marked as lines alone', () => {
    expect(compared('high', 'low')).toEqual([['-high'], ['+low']]);
  });

  test('keep what stayed between lines that came and went', () => {
    expect(compared('a\nb\nc\nd', 'b\nx\nd\ne')).toEqual([
      ['-a', ' b', '-c', ' d'],
      [' b', '+x', ' d', '+e'],
    ]);
  });

  const text = fc
    .array(fc.constantFrom('a', 'b', 'ab', 'abc', ''), { maxLength: 12 })
    .map((l) => l.join('\n'));

  test('are told without loss, and what both show as the same is the same', () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const marked = markedLines(before, after);
        const textOf = (lines: readonly Line[]) =>
          lines.map(({ parts }) => parts.map((part) => part.text).join('')).join('\n');
        expect([textOf(marked.before), textOf(marked.after)]).toEqual([before, after]);
        const same = (lines: readonly Line[]) => lines.filter(({ kind }) => kind === 'same');
        expect(textOf(same(marked.before))).toBe(textOf(same(marked.after)));
        if (before === after) expect(marked.before.every(({ kind }) => kind === 'same')).toBe(true);
      }),
    );
  });

  test('that are long are compared in bounded time', () => {
    const lines = (name: string) => Array.from({ length: 50_000 }, (_, i) => `${name} ${i}`).join('\n');
    const { before, after } = markedLines(`a\n${lines('x')}\nz`, `a\n${lines('y')}\nz`);
    expect([before.length, after.length]).toEqual([50_002, 50_002]);
    expect([before[0]!.kind, before[1]!.kind, before.at(-1)!.kind]).toEqual(['same', 'removed', 'same']);
  });
});
