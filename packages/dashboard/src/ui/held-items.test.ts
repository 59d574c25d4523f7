import { describe, expect, test } from 'vitest';
import { holdItems } from './held-items.ts';

const list = (...words: string[]) => words.map((word) => ({ id: word[0]!, text: word }));
const idOf = ({ id }: { id: string }) => id;
const held = (shown: string[], fresh: string[]) => {
  const { items, waiting } = holdItems(list(...shown), list(...fresh), { idOf });
  return { items: items.map(({ text }) => text), waiting };
};

describe('a list that somebody is at', () => {
  test('changes its rows in place and lets new ones wait', () => {
    expect(held(['b1', 'a1'], ['d1', 'c1', 'b2', 'a1'])).toEqual({ items: ['b2', 'a1'], waiting: 2 });
  });

  test('goes on with the rows of further pages', () => {
    expect(held(['c', 'b'], ['d', 'c', 'b', 'a'])).toEqual({ items: ['c', 'b', 'a'], waiting: 1 });
  });

  test('keeps a row that is not in the list any more', () => {
    expect(held(['c', 'b', 'a'], ['d', 'c', 'a'])).toEqual({ items: ['c', 'b', 'a'], waiting: 1 });
  });

  test('lets go of rows behind the last that is there, where more would follow', () => {
    const shown = list('c', 'b', 'a');
    const { items } = holdItems(shown, list('d', 'c'), { idOf, hasMore: true });
    expect(items.map(({ text }) => text)).toEqual(['c']);
  });

  test('shows everything of a list that has nothing in common with it', () => {
    expect(held(['a'], ['x', 'y'])).toEqual({ items: ['x', 'y'], waiting: 0 });
    expect(held([], ['x'])).toEqual({ items: ['x'], waiting: 0 });
  });
});
