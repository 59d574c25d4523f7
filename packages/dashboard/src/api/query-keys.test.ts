import { expect, test } from 'vitest';
import { ABOUT_RUNS, queryKeys } from './query-keys.ts';

test('lists are told apart from single ones by their second word, whatever they are about', () => {
  for (const key of [
    queryKeys.jobs(),
    queryKeys.runs('waiting'),
    queryKeys.deadLetters(),
    queryKeys.workers(),
  ])
    expect([ABOUT_RUNS.includes(key[0] as never), key[1]]).toEqual([true, 'list']);
  expect(queryKeys.ofJob('j', 'why').slice(0, 2)).toEqual(queryKeys.job('j'));
});
