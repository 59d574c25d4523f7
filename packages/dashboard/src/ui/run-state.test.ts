import { expect, test } from 'vitest';
import { endedBeforeDue, isAgain } from './run-state.ts';

test('an attempt that was lost and taken over is made again, one that follows a failure is not', () => {
  expect(isAgain({ attempt_number: 1, epoch: 1 })).toBe(false);
  expect(isAgain({ attempt_number: 2, epoch: 2 })).toBe(false);
  expect(isAgain({ attempt_number: 1, epoch: 2 })).toBe(true);
  expect(isAgain({ attempt_number: 2, epoch: 4 })).toBe(true);
});

test('after a restore of the database epochs count on from a high number', () => {
  expect(isAgain({ attempt_number: 1, epoch: 2 ** 19 })).toBe(false);
  expect(isAgain({ attempt_number: 1, epoch: 2 ** 19 + 1 })).toBe(true);
});

test('what was cancelled before its time is due no more', () => {
  const due = '2030-01-02T08:00:00.000Z';
  expect(endedBeforeDue({ scheduled_at: due, ended_at: '2030-01-02T07:59:36.000Z' })).toBe(true);
  expect(endedBeforeDue({ scheduled_at: due, ended_at: '2030-01-02T08:00:01.000Z' })).toBe(false);
  expect(endedBeforeDue({ scheduled_at: due, ended_at: null })).toBe(false);
});
