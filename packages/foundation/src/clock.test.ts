import { describe, expect, test, vi } from 'vitest';
import { sleep, systemClock } from './clock.ts';
import { ManualClock } from './manual-clock.ts';

const turns = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('sleep', () => {
  test('lasts as long as it is told to', async () => {
    const clock = new ManualClock();
    let awake = false;
    void sleep(clock, 100).then(() => {
      awake = true;
    });
    clock.advance(99);
    await turns();
    expect(awake).toBe(false);
    clock.advance(1);
    await turns();
    expect(awake).toBe(true);
  });

  test('ends at once when its signal aborts, and leaves no timer behind', async () => {
    const clock = new ManualClock();
    const controller = new AbortController();
    const sleeping = sleep(clock, 100, controller.signal);
    controller.abort();
    await sleeping;
    expect(clock.untilNextTimer()).toBeUndefined();
  });

  test('does not begin when its signal has aborted before', async () => {
    const clock = new ManualClock();
    await sleep(clock, 100, AbortSignal.abort());
    expect(clock.untilNextTimer()).toBeUndefined();
  });

  test('that has ended listens to its signal no longer', async () => {
    const clock = new ManualClock();
    const { signal } = new AbortController();
    const removed = vi.spyOn(signal, 'removeEventListener');
    const sleeping = sleep(clock, 100, signal);
    clock.advance(100);
    await sleeping;
    expect(removed).toHaveBeenCalledTimes(1);
  });

  test('is not cut short or drawn out by a step of the wall clock (hazard 7)', async () => {
    const clock = new ManualClock();
    let awake = false;
    void sleep(clock, 100).then(() => {
      awake = true;
    });
    clock.step(3_600_000);
    await turns();
    expect(awake).toBe(false);
    clock.step(-7_200_000);
    clock.advance(100);
    await turns();
    expect(awake).toBe(true);
  });
});

describe('the clock of the system', () => {
  test('tells whole milliseconds UTC, and a time that never goes back', () => {
    expect(Number.isInteger(systemClock.now())).toBe(true);
    const readings = Array.from({ length: 1_000 }, () => systemClock.monotonic());
    expect(readings).toEqual(readings.toSorted((a, b) => a - b));
  });

  test('calls back once, and not at all when called off', async () => {
    const called = vi.fn();
    systemClock.timer(0, called)();
    await new Promise<void>((resolve) => systemClock.timer(0, resolve));
    expect(called).not.toHaveBeenCalled();
  });

  test.each([-1, 0])('takes a delay of %d as now', async (delayMs) => {
    await new Promise<void>((resolve) => systemClock.timer(delayMs, resolve));
  });

  test('takes a delay of a year without waking at once', async () => {
    const called = vi.fn();
    const callOff = systemClock.timer(365 * 24 * 3_600_000, called);
    await new Promise<void>((resolve) => systemClock.timer(0, resolve));
    expect(called).not.toHaveBeenCalled();
    callOff();
  });
});
