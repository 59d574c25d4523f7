import { ManualClock, SeededRandom, silentLog } from '@carillon/foundation';
import { describe, expect, it } from 'vitest';
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

describe('for a reader', () => {
  const counterWith = (countEnded: () => Promise<{ more: boolean }>) => {
    let calls = 0;
    const clock = new ManualClock();
    const store = {
      countEnded: () => {
        calls += 1;
        return countEnded();
      },
    };
    const counter = new RunCounter({ store, clock, random: new SeededRandom(1), log: silentLog });
    return { counter, clock, calls: () => calls };
  };

  it('counts at once, and once for all who ask within a second', async () => {
    const { counter, clock, calls } = counterWith(async () => ({ more: false }));
    await Promise.all([counter.countSoon(), counter.countSoon()]);
    await counter.countSoon();
    expect(calls()).toBe(1);
    clock.advance(1_001);
    await counter.countSoon();
    expect(calls()).toBe(2);
  });

  it('a count that fails fails no reader, and is tried again', async () => {
    const { counter, calls } = counterWith(() => Promise.reject(new Error('the disk is full')));
    await counter.countSoon();
    await counter.countSoon();
    expect(calls()).toBe(2);
  });

  it('waits for a bounded time', async () => {
    const { counter, clock, calls } = counterWith(() => new Promise(() => undefined));
    const read = counter.countSoon();
    clock.advance(1_000);
    await read;
    const next = counter.countSoon();
    clock.advance(1_000);
    await next;
    expect(calls()).toBe(1);
  });
});

it('makes room for others where there is very much, and goes on soon', async () => {
  const { counter, calls } = counterOf(1_000);
  expect(await counter.runOnce()).toBeLessThan(1_000);
  expect(calls()).toBeLessThan(100);
});
