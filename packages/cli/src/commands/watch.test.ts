import type { RunWithAttempts } from '@carillon/client';
import { isFinal, RUN_STATUSES } from '@carillon/domain';
import { expect, test } from 'vitest';
import { handedOutAgain, isAlive, outcomeText } from './watch.ts';

test.each([
  [{ error_message: 'refused', reason: null, occurrences: 1 }, 'refused'],
  [{ error_message: null, reason: 'paused', occurrences: 12 }, 'paused, 12 occurrences'],
  [{ error_message: null, reason: null, occurrences: 1 }, ''],
])('%j is told as "%s"', (run, words) => {
  expect(outcomeText(run)).toBe(words);
});

test('a run that is run again tells why', () => {
  const attempts = (...errors: (string | null)[]) =>
    errors.map((error_message) => ({ error_message })) as unknown as RunWithAttempts['attempts'];
  const lost = attempts(null, 'worker w was lost');
  expect(handedOutAgain({ status: 'RUNNING', attempts: lost })).toBe('again, because worker w was lost');
  expect(handedOutAgain({ status: 'SUCCESS', attempts: lost })).toBe('');
  expect(handedOutAgain({ status: 'RUNNING', attempts: attempts(null) })).toBe('');
});

test.each(RUN_STATUSES)(
  'a run that is %s counts as alive exactly while the server has not ended it',
  (status) => {
    expect(isAlive(status)).toBe(!isFinal(status));
  },
);
