import { beforeEach, expect, test } from 'vitest';
import { LastingCondition } from './lasting-condition.ts';
import { ManualClock } from './manual-clock.ts';

let clock: ManualClock;
let condition: LastingCondition;

beforeEach(() => {
  clock = new ManualClock();
  condition = new LastingCondition({ clock });
});

/** Noticed every second; answers after how many seconds it was told of. */
function noticeFor(seconds: number): number[] {
  const told: number[] = [];
  for (let second = 0; second < seconds; second += 1) {
    if (condition.notice()) told.push(second);
    clock.advance(1_000);
  }
  return told;
}

test('a condition that lasts is told of when it begins and every 30 s', () => {
  expect(noticeFor(100)).toEqual([0, 30, 60, 90]);
});

test('its end is told of once, with how long it lasted', () => {
  noticeFor(10);
  expect(condition.end()).toBe(10_000);
  expect(condition.end()).toBeUndefined();
});

test('one that comes again soon is told of no more often, and its end only if its beginning was', () => {
  noticeFor(10);
  condition.end();
  expect(noticeFor(10)).toEqual([]);
  expect(condition.end()).toBeUndefined();
  expect(noticeFor(20)).toEqual([10]);
});
