import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Refusal } from '../errors/refusal.ts';
import { parseInstant } from './parse-instant.ts';
import { anyInstant, anyZone, at } from './schedule-arbitraries.ts';
import { instantsShowing, toLocal } from './wall-clock.ts';

describe('parseInstant', () => {
  test.each<[string | number, string]>([
    ['2027-03-01T09:00:00Z', '2027-03-01T09:00Z'],
    ['2027-03-01t09:00z', '2027-03-01T09:00Z'],
    [' 2027-03-01 09:00:00 +02:00 ', '2027-03-01T07:00Z'],
    ['2027-03-01T09:00:00-0530', '2027-03-01T14:30Z'],
    ['2027-03-01T09:00:00+02', '2027-03-01T07:00Z'],
    ['2027-03-01T09:00:00.1239Z', '2027-03-01T09:00:00.123Z'],
    ['2027-03-01T09:00:00,5Z', '2027-03-01T09:00:00.500Z'],
    ['2028-02-29T00:00:00Z', '2028-02-29T00:00Z'],
    [1_800_000_000, '2027-01-15T08:00Z'],
    ['1800000000', '2027-01-15T08:00Z'],
    [1_800_000_000.25, '2027-01-15T08:00:00.250Z'],
    [1_800_000_000_000, '2027-01-15T08:00Z'],
    ['1800000000000', '2027-01-15T08:00Z'],
    [0, '1970-01-01T00:00Z'],
    ['2100-12-31T23:59:59Z', '2100-12-31T23:59:59Z'],
  ])('reads %j', (input, expected) => {
    expect(parseInstant(input)).toBe(at(expected));
  });

  test.each<[string | number, string, string]>([
    ['2027-03-01T09:00:00', 'time_invalid', 'has no offset: end it with Z'],
    ['2026-02-30T00:00:00Z', 'time_invalid', 'names day 30'],
    ['2026-02-29T00:00:00Z', 'time_invalid', 'names day 29'],
    ['2026-04-31T00:00:00Z', 'time_invalid', 'names day 31'],
    ['2026-13-01T00:00:00Z', 'time_invalid', 'has no month 13'],
    ['2026-00-01T00:00:00Z', 'time_invalid', 'has no month 0'],
    ['2026-01-00T00:00:00Z', 'time_invalid', 'names day 0'],
    ['2026-01-01T25:00:00Z', 'time_invalid', 'has hour 25'],
    ['2026-01-01T24:00:00Z', 'time_invalid', 'has hour 24'],
    ['2026-01-01T12:60:00Z', 'time_invalid', 'has minute 60'],
    ['2026-01-01T12:00:60Z', 'time_invalid', 'has second 60'],
    ['2026-01-01T12:00:00+15:00', 'time_invalid', 'impossible offset'],
    ['2026-01-01T12:00:00+02:75', 'time_invalid', 'impossible offset'],
    ['2026-01-01', 'time_invalid', 'no time of day'],
    ['tomorrow', 'time_invalid', 'neither ISO 8601'],
    ['', 'time_invalid', 'neither ISO 8601'],
    ['March 1, 2027 09:00', 'time_invalid', 'neither ISO 8601'],
    ['2027-3-1T9:00Z', 'time_invalid', 'neither ISO 8601'],
    [Number.NaN, 'time_invalid', 'not a number'],
    [Number.POSITIVE_INFINITY, 'time_invalid', 'not a number'],
    ['1969-12-31T23:59:59Z', 'time_out_of_range', '1970 to 2100'],
    ['2101-01-01T00:00:00Z', 'time_out_of_range', '1970 to 2100'],
    ['1970-01-01T00:00:00+02:00', 'time_out_of_range', '1970 to 2100'],
    [-1, 'time_out_of_range', '1970 to 2100'],
    ['-1', 'time_out_of_range', '1970 to 2100'],
    [9_999_999_999, 'time_out_of_range', '1970 to 2100'],
    [1e300, 'time_out_of_range', '1970 to 2100'],
  ])('refuses %j', (input, code, reason) => {
    let refusal: unknown;
    try {
      parseInstant(input, { field: 'run_at' });
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toBeInstanceOf(Refusal);
    expect(refusal).toMatchObject({ code, field: 'run_at', message: expect.stringContaining(reason) });
  });

  test('reads back what toISOString writes, whatever the offset', () => {
    fc.assert(
      fc.property(anyInstant, fc.integer({ min: -12 * 60, max: 14 * 60 }), (instantMs, offsetMinutes) => {
        fc.pre(instantMs + offsetMinutes * 60_000 >= 0);
        const local = new Date(instantMs + offsetMinutes * 60_000).toISOString().slice(0, -1);
        const distance = Math.abs(offsetMinutes);
        const two = (value: number) => String(value).padStart(2, '0');
        const offset = `${offsetMinutes < 0 ? '-' : '+'}${two(Math.floor(distance / 60))}:${two(distance % 60)}`;
        expect(parseInstant(local + offset)).toBe(instantMs);
      }),
    );
  });

  test('reads a time without offset in the zone the caller names', () => {
    fc.assert(
      fc.property(anyZone, anyInstant, (zone, instantMs) => {
        const localMs = toLocal(zone, instantMs);
        fc.pre(localMs >= 0);
        const [firstMs] = instantsShowing(zone, localMs).instants;
        expect(parseInstant(new Date(localMs).toISOString().slice(0, -1), { zone })).toBe(firstMs);
      }),
      { numRuns: 100 },
    );
  });

  test('in a zone, a time inside a gap is the first instant after it, and an offset still wins', () => {
    const zone = 'Europe/Paris';
    expect(parseInstant('2026-03-29T02:30:00', { zone })).toBe(at('2026-03-29T01:00Z'));
    expect(parseInstant('2026-10-25T02:30:00', { zone })).toBe(at('2026-10-25T00:30Z'));
    expect(parseInstant('2026-07-01T09:00:00Z', { zone })).toBe(at('2026-07-01T09:00Z'));
  });
});
