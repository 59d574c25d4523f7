import { expect, test } from 'vitest';
import { othersText, worstOf } from './others.ts';

test('others are told with their number, also where there are more', () => {
  expect(othersText({ count: 412, more: false })).toBe('412 others');
  expect(othersText({ count: 1_000, more: true })).toBe('1,000+ others');
  expect(othersText({ count: 60, more: false }, 'other jobs')).toBe('60 other jobs');
});

test('the worst instant is told of, unless all are harmless', () => {
  const others = [
    { at: 'a', count: 60, more: false },
    { at: 'b', count: 412, more: false },
    { at: 'c', count: 49, more: false },
  ];
  expect(worstOf(others)?.at).toBe('b');
  expect(worstOf(others.slice(2))).toBeUndefined();
});
