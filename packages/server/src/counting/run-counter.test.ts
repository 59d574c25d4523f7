import { ManualClock, SeededRandom, silentLog } from '@carillon/foundation';
import { expect, it } from 'vitest';
import { RunCounter } from './run-counter.ts';

const counterOf = (left: number) => {
  let calls = 0;
  const store = {
    countEnded: async () => {
      calls += 1;
      return { more: calls < left };
    },
  };
  const clock = new ManualClock();
  const counter = new RunCounter({ store, clock, random: new SeededRandom(1), log: silentLog });
  return { counter, calls: () => calls };
};

it('goes on until everything is counted, then waits', async () => {
  const { counter, calls } = counterOf(5);
  expect(await counter.runOnce()).toBeUndefined();
  expect(calls()).toBe(5);
});

it('makes room for others where there is very much, and goes on soon', async () => {
  const { counter, calls } = counterOf(1_000);
  expect(await counter.runOnce()).toBeLessThan(1_000);
  expect(calls()).toBeLessThan(100);
});
