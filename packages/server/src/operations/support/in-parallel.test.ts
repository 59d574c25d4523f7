import { Refusal } from '@carillon/domain';
import { expect, test } from 'vitest';
import { mapInParallel, orRefused } from './in-parallel.ts';

const TEN = Array.from({ length: 10 }, (_, i) => i);

test('results stand in the order of the items, and at most four are worked on at once', async () => {
  let running = 0;
  let most = 0;
  const results = await mapInParallel(TEN, async (item) => {
    running += 1;
    most = Math.max(most, running);
    for (let turns = item % 3; turns >= 0; turns -= 1) await Promise.resolve();
    running -= 1;
    return item * 2;
  });
  expect(results).toEqual(TEN.map((item) => item * 2));
  expect(most).toBe(4);
});

test('refusals are results and do not stop the rest; faults do', async () => {
  const refuseOdd = async (item: number) => {
    if (item % 2 === 1) throw new Refusal('job_not_found', 'gone');
    return 'done';
  };
  const code = ({ code }: Refusal): string => code;
  const results = await mapInParallel([0, 1, 2], (item) => orRefused(() => refuseOdd(item), code));
  expect(results).toEqual(['done', 'job_not_found', 'done']);
  const fault = async () => {
    throw new Refusal('storage_unavailable', 'away');
  };
  await expect(orRefused<string>(fault, code)).rejects.toThrow('away');
});
