import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { ManualClock } from './manual-clock.ts';

let clock: ManualClock;
let called: string[];

beforeEach(() => {
  clock = new ManualClock(1_000_000);
  called = [];
});

const note = (name: string) => () => void called.push(`${name}@${clock.monotonic()}`);

describe('time', () => {
  test('stands still until it is moved', () => {
    expect([clock.now(), clock.monotonic()]).toEqual([1_000_000, 0]);
    clock.advance(250);
    expect([clock.now(), clock.monotonic()]).toEqual([1_000_250, 250]);
  });

  test('of the wall can be stepped alone, and no timer notices (hazard 7)', () => {
    clock.timer(100, note('timer'));
    clock.step(-3_600_000);
    expect([clock.now(), clock.monotonic()]).toEqual([1_000_000 - 3_600_000, 0]);
    clock.step(7_200_000);
    expect(called).toEqual([]);
    clock.advance(100);
    expect(called).toEqual(['timer@100']);
  });
});

describe('timers', () => {
  test('are called in the order of their instants, each at its own', () => {
    clock.timer(30, note('late'));
    clock.timer(10, note('early'));
    clock.timer(20, note('middle'));
    clock.advance(100);
    expect(called).toEqual(['early@10', 'middle@20', 'late@30']);
    expect(clock.monotonic()).toBe(100);
  });

  test('of one instant are called in the order they were set', () => {
    for (const name of ['a', 'b', 'c']) clock.timer(10, note(name));
    clock.advance(10);
    expect(called).toEqual(['a@10', 'b@10', 'c@10']);
  });

  test('fall due at their instant, not before', () => {
    clock.timer(10, note('timer'));
    clock.advance(9);
    expect(called).toEqual([]);
    clock.advance(1);
    expect(called).toEqual(['timer@10']);
  });

  test('called off are not called, also by another timer on the way', () => {
    const callOff = clock.timer(20, note('never'));
    clock.timer(10, callOff);
    clock.advance(100);
    expect(called).toEqual([]);
  });

  test('set by a timer are called in the same move when they fall into it', () => {
    clock.timer(10, () => clock.timer(5, note('inner')));
    clock.advance(15);
    expect(called).toEqual(['inner@15']);
  });

  test('set for the past fall due now', () => {
    clock.timer(-5, note('past'));
    expect(clock.untilNextTimer()).toBe(0);
    clock.advance(0);
    expect(called).toEqual(['past@0']);
  });

  test('tell how long nothing will happen', () => {
    expect(clock.untilNextTimer()).toBeUndefined();
    const callOff = clock.timer(10, note('a'));
    clock.timer(30, note('b'));
    expect(clock.untilNextTimer()).toBe(10);
    callOff();
    expect(clock.untilNextTimer()).toBe(30);
  });
});

test('however time is cut into moves, the same timers are called at the same instants', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(100)), fc.array(fc.nat(50)), (delays, moves) => {
      const total = moves.reduce((sum, move) => sum + move, 0);
      const run = (steps: number[]) => {
        const own = new ManualClock();
        const seen: [number, number][] = [];
        delays.forEach((delay, i) => void own.timer(delay, () => seen.push([i, own.monotonic()])));
        for (const step of steps) own.advance(step);
        return seen;
      };
      expect(run(moves)).toEqual(moves.length > 0 ? run([total]) : []);
    }),
  );
});
