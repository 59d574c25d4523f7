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

  test('lets no other row move to the place of one that its own button took out of the list', () => {
    const after = (shown: string[], fresh: string[], hasMore = false) => {
      const { items, waiting } = holdItems(list(...shown), list(...fresh), {
        ...{ idOf, hasMore, ended: new Set(['b']) },
      });
      return { items: items.map(({ text }) => text), waiting };
    };
    // The last that was read, and the next is read in its place.
    expect(after(['c', 'b'], ['c', 'a'], true)).toEqual({ items: ['c', 'b', 'a'], waiting: 0 });
    // The only one, and another has come meanwhile.
    expect(after(['b'], ['d'])).toEqual({ items: ['b'], waiting: 1 });
    expect(after(['b'], [])).toEqual({ items: ['b'], waiting: 0 });
  });

  test('shows everything of a list that has nothing in common with it', () => {
    expect(held(['a'], ['x', 'y'])).toEqual({ items: ['x', 'y'], waiting: 0 });
    expect(held([], ['x'])).toEqual({ items: ['x'], waiting: 0 });
  });
});
