import fc from 'fast-check';
import { IANAZone } from 'luxon';
import { describe, expect, test } from 'vitest';
import { ALL_ZONES, anyInstant, anyZone, at } from './schedule-arbitraries.ts';
import { offsetAt, segmentAt } from './zone-segments.ts';

const HOUR_MS = 3_600_000;

describe('zone segments', () => {
  test('give the same offset as luxon, in all zones from 1970 to 2100', () => {
    fc.assert(
      fc.property(anyZone, anyInstant, (zone, instantMs) => {
        const minutes = IANAZone.create(zone).offset(instantMs);
        expect(offsetAt(zone, instantMs) / 60_000).toBeCloseTo(minutes, 6);
      }),
      { numRuns: 400 },
    );
  });

  test('hold their instant, have one offset throughout, and meet their neighbours', () => {
    fc.assert(
      fc.property(anyZone, anyInstant, (zone, instantMs) => {
        const segment = segmentAt(zone, instantMs);
        expect(segment.fromMs).toBeLessThanOrEqual(instantMs);
        expect(segment.toMs).toBeGreaterThan(instantMs);
        const next = segmentAt(zone, segment.toMs);
        expect(next.fromMs).toBe(segment.toMs);
        expect(next.offsetMs).toBe(segment.nextOffsetMs);
        expect(next.previousOffsetMs).toBe(segment.offsetMs);
        const luxon = IANAZone.create(zone);
        expect(luxon.offset(segment.fromMs)).toBe(luxon.offset(segment.toMs - 1));
      }),
      { numRuns: 300 },
    );
  });

  test('miss no change of 2026: they agree with luxon twice a day in a sixteenth of the zones', () => {
    for (const zone of ALL_ZONES.filter((_, index) => index % 16 === 0)) {
      const luxon = IANAZone.create(zone);
      for (
        let instantMs = at('2026-01-01T00:00Z');
        instantMs < at('2027-01-01T00:00Z');
        instantMs += 12 * HOUR_MS
      ) {
        if (Math.abs(offsetAt(zone, instantMs) / 60_000 - luxon.offset(instantMs)) > 1e-6) {
          expect.fail(`${zone} at ${instantMs}`);
        }
      }
    }
  });

  test('see a week of daylight saving, a half-hour jump, a lost day and offsets with seconds', () => {
    expect(segmentAt('Asia/Gaza', at('2040-10-22T00:00Z')).toMs).toBe(at('2040-10-26T23:00Z'));
    const lordHowe = segmentAt('Australia/Lord_Howe', at('2026-12-01T00:00Z'));
    expect(lordHowe.offsetMs - segmentAt('Australia/Lord_Howe', at('2026-07-01T00:00Z')).offsetMs).toBe(
      HOUR_MS / 2,
    );
    const apia = segmentAt('Pacific/Apia', at('2011-12-30T10:00Z'));
    expect(apia).toMatchObject({ previousOffsetMs: -10 * HOUR_MS, offsetMs: 14 * HOUR_MS });
    expect(offsetAt('Africa/Monrovia', 0)).toBe(-(44 * 60 + 30) * 1_000);
  });

  test('are the same objects under every name and spelling of a zone', () => {
    const segment = segmentAt('Europe/Kiev', at('2026-12-01T00:00Z'));
    for (const name of ['europe/kiev', 'EUROPE/KIEV', 'Europe/Kyiv'])
      expect(segmentAt(name, at('2026-12-01T00:00Z'))).toBe(segment);
  });

  test('refuse a zone the runtime does not know', () => {
    expect(() => segmentAt('Mars/Olympus', 0)).toThrow(RangeError);
  });
});
