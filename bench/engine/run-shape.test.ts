import { expect, it } from 'vitest';
import { failIfPlanned, failsOnce, failuresAmong, resultOf } from './run-shape.ts';

it('a result is 200 bytes of JSON, whatever the run', () => {
  for (const index of [0, 7, 99_999_999]) expect(JSON.stringify(resultOf(index))).toHaveLength(200);
});

it('one run of twenty fails, at its first attempt only', () => {
  for (const jobs of [1, 20, 21, 1_000]) {
    const failing = Array.from({ length: jobs }, (_, index) => index).filter(failsOnce);
    expect(failing).toHaveLength(failuresAmong(jobs));
  }
  expect(() => failIfPlanned(20, { attempt: 1 })).toThrow('as planned');
  expect(() => failIfPlanned(20, { attempt: 2 })).not.toThrow();
  expect(() => failIfPlanned(21, { attempt: 1 })).not.toThrow();
});
