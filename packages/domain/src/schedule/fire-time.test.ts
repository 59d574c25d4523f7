import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fireTime } from './fire-time.ts';
import { nextFire } from './next-fires.ts';
import { anyCron, anyInstant, anyZone, at, cron } from './schedule-arbitraries.ts';

const HOUR_MS = 3_600_000;
const jobIds = Array.from(
  { length: 20_000 },
  (_, index) => `0199b2c4-7e00-7000-8000-${String(index).padStart(12, '0')}`,
);

describe('fireTime', () => {
  test('is the nominal instant without a spread, and for one-off jobs', () => {
    expect(fireTime({ schedule: cron('@daily'), jobId: 'a', nominalMs: 5 })).toBe(5);
    expect(fireTime({ schedule: { type: 'FUTURE', atMs: 7 }, jobId: 'a', nominalMs: 7 })).toBe(7);
    expect(fireTime({ schedule: { type: 'IMMEDIATE' }, jobId: 'a', nominalMs: 7 })).toBe(7);
  });

  test('hazard 24: the midnight herd spreads evenly over its bound, though the ids nearly are the same', () => {
    const schedule = cron('@daily', 'Europe/Paris', { spreadMs: HOUR_MS });
    const nominalMs = at('2026-01-01T23:00Z');
    const perMinute = new Array<number>(60).fill(0);
    for (const jobId of jobIds) {
      const delayMs = fireTime({ schedule, jobId, nominalMs }) - nominalMs;
      expect(delayMs).toBeGreaterThanOrEqual(0);
      const minute = Math.floor(delayMs / 60_000);
      perMinute[minute] = (perMinute[minute] ?? 0) + 1;
    }
    // 333 are expected per minute; 5 standard deviations are 91.
    expect(perMinute).toHaveLength(60);
    expect(Math.min(...perMinute)).toBeGreaterThan(240);
    expect(Math.max(...perMinute)).toBeLessThan(430);
  });

  test('hazard 24: the spread never reaches the next occurrence', () => {
    fc.assert(
      fc.property(
        anyCron,
        anyZone,
        anyInstant,
        fc.string(),
        fc.integer({ min: 1, max: 100 * HOUR_MS }),
        (expression, zone, afterMs, jobId, spreadMs) => {
          const schedule = cron(expression, zone, { spreadMs });
          let nominalMs: number | undefined;
          try {
            nominalMs = nextFire(schedule, afterMs);
          } catch {
            return; // a date no year has
          }
          if (nominalMs === undefined) return;
          const firesMs = fireTime({ schedule, jobId, nominalMs });
          expect(firesMs).toBeGreaterThanOrEqual(nominalMs);
          expect(firesMs - nominalMs).toBeLessThan(spreadMs);
          expect(firesMs).toBeLessThan(nextFire(schedule, nominalMs) ?? Number.POSITIVE_INFINITY);
        },
      ),
      { numRuns: 200 },
    );
  });

  test('hazard 24: a job keeps its delay wherever the distance to the next occurrence allows it', () => {
    const schedule = cron('0 9,10 * * *', 'UTC', { spreadMs: 4 * HOUR_MS });
    for (const jobId of jobIds.slice(0, 200)) {
      const nineMs = at('2026-01-01T09:00Z');
      const tenMs = at('2026-01-01T10:00Z');
      const delayMs = fireTime({ schedule, jobId, nominalMs: tenMs }) - tenMs;
      const shortMs = fireTime({ schedule, jobId, nominalMs: nineMs }) - nineMs;
      expect(shortMs).toBe(delayMs % HOUR_MS);
      if (delayMs < HOUR_MS) expect(shortMs).toBe(delayMs);
    }
  });

  test('hazard 24: the last occurrence of a schedule is spread like the others', () => {
    const schedule = cron('@daily', 'UTC', { spreadMs: HOUR_MS, endMs: at('2026-01-02T00:00Z') });
    const delays = ['2026-01-01T00:00Z', '2026-01-02T00:00Z'].map(
      (time) => fireTime({ schedule, jobId: 'job', nominalMs: at(time) }) - at(time),
    );
    expect(delays[0]).toBe(delays[1]);
  });
});
