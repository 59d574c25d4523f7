import { expect, test } from 'vitest';
import { repeats } from './runs.ts';

const attempt = (run_id: string, attempt_number: number, epoch: number) => ({
  run_id,
  attempt_number,
  epoch,
});

test('an attempt that has the number of an earlier one of its run repeats it', () => {
  const attempts = [
    ...[attempt('a', 2, 4), attempt('a', 1, 3), attempt('a', 1, 2), attempt('a', 1, 1)],
    ...[attempt('b', 1, 2), attempt('c', 1, 1)],
  ];
  const isRepeated = repeats(attempts);
  expect(attempts.map(isRepeated)).toEqual([false, true, true, false, false, false]);
});
