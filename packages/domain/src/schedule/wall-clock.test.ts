import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyInstant, anyTransition, anyZone, at } from './schedule-arbitraries.ts';
import { instantsShowing, resolveWallClock, toLocal } from './wall-clock.ts';

const paris = 'Europe/Paris';

describe('the wall clock', () => {
  test('shows each instant at a local time that leads back to it, in all zones', () => {
    fc.assert(
      fc.property(anyZone, anyInstant, (zone, instantMs) => {
        expect(instantsShowing(zone, toLocal(zone, instantMs)).instants).toContain(instantMs);
      }),
      { numRuns: 150 },
    );
  });

  test('shows what it says around every change: each answer shows the local time, and a gap has none', () => {
    fc.assert(
      fc.property(anyTransition, fc.integer({ min: -2_000, max: 2_000 }), ({ zone, changeMs }, minutes) => {
        const localMs = toLocal(zone, changeMs) + minutes * 60_000;
        const { instants, afterGapMs } = instantsShowing(zone, localMs);
        for (const instantMs of instants) expect(toLocal(zone, instantMs)).toBe(localMs);
        expect(instants.length === 0).toBe(afterGapMs !== undefined);
        if (afterGapMs !== undefined) {
          expect(toLocal(zone, afterGapMs)).toBeGreaterThan(localMs);
          expect(toLocal(zone, afterGapMs - 1)).toBeLessThan(localMs);
        }
      }),
      { numRuns: 150 },
    );
  });

  test('follows the policy in a gap and in an overlap', () => {
    const inGap = at('2026-03-29T02:30Z');
    expect(resolveWallClock(paris, inGap, { gap: 'run_after', overlap: 'first' })).toEqual([
      at('2026-03-29T01:00Z'),
    ]);
    expect(resolveWallClock(paris, inGap, { gap: 'skip', overlap: 'first' })).toEqual([]);
    const twice = at('2026-10-25T02:30Z');
    const first = at('2026-10-25T00:30Z');
    const second = at('2026-10-25T01:30Z');
    expect(resolveWallClock(paris, twice, { gap: 'skip', overlap: 'first' })).toEqual([first]);
    expect(resolveWallClock(paris, twice, { gap: 'skip', overlap: 'second' })).toEqual([second]);
    expect(resolveWallClock(paris, twice, { gap: 'skip', overlap: 'both' })).toEqual([first, second]);
  });
});
