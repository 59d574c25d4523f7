import { ManualClock } from '@carillon/foundation';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import type { MemberStore } from './member-store.ts';
import { StorageClock } from './storage-clock.ts';

const HOUR_MS = 3_600_000;

let local: ManualClock;
let clock: StorageClock;
/** The clock of the database, and how long it takes to read it. */
let aheadMs: number;
let roundTripMs: number[];
let readings: number;

beforeEach(() => {
  local = new ManualClock();
  aheadMs = 0;
  roundTripMs = [];
  readings = 0;
  clock = new StorageClock(local);
});

/** What the database's clock shows. Steps of the local wall clock do not reach it. */
const START_MS = Date.UTC(2030, 0, 1);
const serverNow = () => START_MS + local.monotonic() + aheadMs;

const members = {
  async serverTimeMs() {
    const halfMs = (roundTripMs[readings] ?? 0) / 2;
    readings += 1;
    local.advance(halfMs);
    const now = serverNow();
    local.advance(halfMs);
    return now;
  },
} as Pick<MemberStore, 'serverTimeMs'> as MemberStore;

describe('the storage clock', () => {
  test('follows the database, however far off this machine is (hazard 7)', async () => {
    for (const off of [HOUR_MS, -2 * HOUR_MS]) {
      aheadMs = off;
      await clock.sync(members);
      expect(clock.now()).toBe(serverNow());
    }
  });

  test('goes on by monotonic time between two readings', async () => {
    aheadMs = HOUR_MS;
    await clock.sync(members);
    local.advance(1_234);
    expect(clock.now()).toBe(serverNow());
  });

  test('does not notice when the wall clock of this machine is set (hazard 7)', async () => {
    await clock.sync(members);
    for (const step of [HOUR_MS, -5 * HOUR_MS]) {
      local.step(step);
      expect(clock.now()).toBe(serverNow());
    }
  });

  test('is never ahead of the database, and behind it by no more than the quickest round trip', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(3_000), { minLength: 1, maxLength: 20 }), async (trips) => {
        clock = new StorageClock(local);
        readings = 0;
        roundTripMs = trips;
        let quickest = Number.POSITIVE_INFINITY;
        while (readings < trips.length) {
          const from = readings;
          await clock.sync(members);
          quickest = Math.min(quickest, ...trips.slice(from, readings));
          expect(clock.now()).toBeLessThanOrEqual(serverNow());
          expect(clock.now()).toBeGreaterThanOrEqual(Math.floor(serverNow() - quickest - 1));
          local.advance(5_000);
        }
      }),
    );
  });

  test('holds on to nothing that it told before the first reading', async () => {
    local.step(700);
    clock.now();
    await clock.sync(members);
    expect(clock.now()).toBe(serverNow());
  });

  test('stands still while the database is a little behind, and never repeats itself', async () => {
    await clock.sync(members);
    local.advance(10_000);
    const before = clock.now();
    aheadMs = -400;
    await clock.sync(members);
    expect(clock.now()).toBe(before);
    local.advance(399);
    expect(clock.now()).toBe(before);
    local.advance(2);
    expect(clock.now()).toBe(before + 1);
  });

  test('follows a database that was set back, or nothing would be due until it has caught up (hazard 7)', async () => {
    await clock.sync(members);
    clock.now();
    aheadMs = -HOUR_MS;
    await clock.sync(members);
    expect(clock.now()).toBe(serverNow());
  });

  test('follows a database that was set forward at once', async () => {
    await clock.sync(members);
    clock.now();
    aheadMs = HOUR_MS;
    await clock.sync(members);
    expect(clock.now()).toBe(serverNow());
  });

  test('is not led astray by a reading that took long', async () => {
    await clock.sync(members);
    roundTripMs = [0, 9_000];
    await clock.sync(members);
    expect(clock.now()).toBe(serverNow());
  });

  test('believes the best of a few slow readings at first: anything is better than the clock of this machine', async () => {
    aheadMs = HOUR_MS;
    roundTripMs = [9_000, 2_000, 5_000, 8_000, 3_000];
    await clock.sync(members);
    expect(readings).toBe(5);
    expect(clock.now()).toBe(serverNow() - 1_000);
  });

  test('stops at the first good reading', async () => {
    roundTripMs = [9_000, 10, 10];
    await clock.sync(members);
    expect(readings).toBe(2);
  });

  test('tells how far this machine is off, for people to see', async () => {
    aheadMs = -HOUR_MS;
    await clock.sync(members);
    expect(clock.skewMs).toBe(HOUR_MS);
    local.step(-HOUR_MS);
    await clock.sync(members);
    expect(clock.skewMs).toBe(0);
  });

  test('waits by monotonic time only', () => {
    const called: number[] = [];
    clock.timer(100, () => called.push(clock.monotonic()));
    local.step(HOUR_MS);
    local.advance(100);
    expect(called).toEqual([100]);
  });

  test('keeps what it knew when the database does not answer', async () => {
    aheadMs = HOUR_MS;
    await clock.sync(members);
    const down = {
      serverTimeMs: () => Promise.reject(new Error('down')),
    } as Partial<MemberStore> as MemberStore;
    await expect(clock.sync(down)).rejects.toThrow('down');
    expect(clock.now()).toBe(serverNow());
  });
});
