import type { Run } from '@carillon/client';
import { expect, test } from 'vitest';
import { attemptName, chosenAttempt, searchFor } from './chosen-attempt.ts';

const attempt = (number: number, epoch: number) => ({ attempt_number: number, epoch }) as Run;
const [first, lost, again, last] = [attempt(1, 1), attempt(2, 2), attempt(2, 4), attempt(3, 5)];
const attempts = [last, again, lost, first];

test('an attempt is named by its number, and by its epoch where two have it', () => {
  expect(searchFor(attempts, first)).toEqual({ attempt: 1, epoch: undefined });
  expect(searchFor(attempts, lost)).toEqual({ attempt: 2, epoch: 2 });
  expect(searchFor(attempts, undefined)).toEqual({ attempt: undefined, epoch: undefined });
  for (const one of attempts) expect(chosenAttempt(attempts, searchFor(attempts, one))).toBe(one);
});

test('a number alone means the latest that has it; nothing, and what is not there, means none', () => {
  expect(chosenAttempt(attempts, { attempt: 2 })).toBe(again);
  expect(chosenAttempt(attempts, { epoch: 5 })).toBe(last);
  expect(chosenAttempt(attempts, {})).toBeUndefined();
  expect(chosenAttempt(attempts, { attempt: 7 })).toBeUndefined();
});

test('the one after an interrupted attempt has its number again', () =>
  expect(attempts.map((one) => attemptName(attempts, one))).toEqual(['3', '2 (again)', '2', '1']));
