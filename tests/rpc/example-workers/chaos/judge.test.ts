/** The judge of the chaos test finds what it looks for. */
import { expect, test } from 'vitest';
import { judge } from './judge.ts';
import type { Attempt, Word } from './visits.ts';

type Said = readonly [word: Word['word'], at: number, heardAt: number, refused?: 'refused'];

const attempt = (epoch: number, closedAt: number, ...said: readonly Said[]): Attempt => ({
  ...{ runId: 'r', visitor: 'go', epoch, closedAt },
  words: said.map(([word, at, heardAt, refused]) => ({ word, at, heardAt, refused: refused === 'refused' })),
});
const stoppedAt = (fromMs: number, toMs: number) => [{ language: 'go', stops: [{ fromMs, toMs }] }];
const SAVED: readonly Said[] = [
  ['begin', 0, 10],
  ['step', 1, 20],
  ['saved', 1, 30],
];

test('one attempt after the other, from the checkpoint on, is right', () => {
  const next = attempt(2, 90, ['begin', 1, 60], ['step', 2, 70], ['saved', 2, 75], ['end', 2, 80]);
  expect(judge([attempt(1, 50, ...SAVED), next], [])).toEqual({ wrong: [], resumed: 1, fenced: 0 });
});

test('two at once are wrong, unless the older one stood still since its last word', () => {
  const both = [attempt(1, 65, ...SAVED), attempt(2, 90, ['begin', 1, 60])];
  expect(judge(both, []).wrong).toHaveLength(1);
  expect(judge(both, stoppedAt(5, 15)).wrong).toHaveLength(1);
  expect(judge(both, stoppedAt(40, 64)).wrong).toEqual([]);
});

test('a word after a newer attempt has begun is wrong, unless it is one that was about to be said before a stop', () => {
  const late = (...said: readonly Said[]) => [
    attempt(1, 80, ...SAVED, ...said),
    attempt(2, 90, ['begin', 1, 60]),
  ];
  const one = late(['step', 2, 70, 'refused']);
  expect(judge(one, []).wrong).not.toEqual([]);
  expect(judge(one, stoppedAt(40, 69))).toMatchObject({ wrong: [], fenced: 1 });
  const two = late(['step', 2, 70, 'refused'], ['step', 3, 75, 'refused']);
  expect(judge(two, stoppedAt(40, 69)).wrong).not.toEqual([]);
});

test('one epoch twice, a start over and a saved step done again are wrong', () => {
  const first = attempt(1, 50, ...SAVED);
  expect(judge([first, attempt(1, 90, ['begin', 1, 60])], []).wrong).toHaveLength(1);
  expect(judge([first, attempt(2, 90, ['begin', 0, 60])], []).wrong).toHaveLength(1);
  expect(judge([first, attempt(2, 90, ['begin', 1, 60], ['step', 1, 70])], []).wrong).toHaveLength(1);
});
