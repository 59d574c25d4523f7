import { expect, test } from 'vitest';
import { HandlerError } from '../../handler.ts';
import { answerOf } from './script-end.ts';
import type { ScriptEnd } from './script-process.ts';

const LIMITS = { memoryBytes: 2 ** 20, cpuSeconds: 2, processes: 10, files: 10, fileBytes: 2 ** 20 };
const WORDS = { answer: undefined, failure: undefined, lastErrors: '' };
const end = (cpuSeconds: number | undefined): ScriptEnd => ({
  ...{ code: 0, signal: undefined, broken: undefined, sawOomKill: false, peakBytes: undefined, cpuSeconds },
});

test('a script whose processes the kernel stopped for their CPU time did not succeed, whatever its exit code', () => {
  const judged = () => answerOf(end(6), WORDS, LIMITS);
  expect(judged).toThrow(HandlerError);
  expect(judged).toThrow('more CPU time than it may');
});

test.each([undefined, 1.9, 2.9])('one that used %s of 2 seconds succeeded', (cpuSeconds) => {
  expect(answerOf(end(cpuSeconds), WORDS, LIMITS)).toEqual({ exit_code: 0 });
});
