/** The handler by itself: what Carillon gives to a run is easy to stand in for. */
import { expect, test } from 'vitest';
import countWords from './index.js';

function runWith(payload, { options, signal = new AbortController().signal } = {}) {
  const lines = [];
  const log = { info: (line) => lines.push(line) };
  const result = countWords(options).run({ payload, signal, log, progress: () => undefined });
  return { result, lines };
}

test('counts words, and says so in the log', () => {
  expect(runWith({ text: 'One, two: three!' })).toEqual({ result: { words: 3 }, lines: ['3 words'] });
});

test('words are those of the language of the options', () => {
  expect(runWith({ text: '日本語の文' }, { options: { locale: 'ja' } }).result.words).toBeGreaterThan(1);
});

test('too few words are a failure that is not tried again', () => {
  expect(() => runWith({ text: 'one', at_least: 2 })).toThrow(
    expect.objectContaining({ message: 'only 1 of 2 words', retryable: false }),
  );
});

test('stops when it is told to', () => {
  const signal = AbortSignal.abort(new Error('no longer wanted'));
  expect(() => runWith({ text: 'one' }, { signal })).toThrow('no longer wanted');
});
