import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { Refusal } from '../errors/refusal.ts';
import { canonicalZone, parseZone } from './parse-zone.ts';
import { ALL_ZONES, anyZone, ODD_ZONES } from './schedule-arbitraries.ts';

describe('parseZone', () => {
  test('accepts every zone of the runtime in its own spelling', () => {
    for (const zone of ALL_ZONES) expect(parseZone(zone)).toBe(zone);
    for (const zone of ['UTC', 'Etc/GMT-2']) expect(parseZone(zone)).toBe(zone);
    expect(parseZone(' Europe/Paris ')).toBe('Europe/Paris');
  });

  test('gives the name that Intl has in its spelling, and others as they were written', () => {
    expect(parseZone('europe/PARIS')).toBe('Europe/Paris');
    for (const alias of ['US/Pacific', 'Asia/Kolkata', 'Europe/Kyiv']) expect(parseZone(alias)).toBe(alias);
  });

  test('reads any mix of upper and lower case as the same zone, and asks Intl about it once', () => {
    for (const zone of [...ALL_ZONES, ...ODD_ZONES]) parseZone(zone);
    const asked = vi.spyOn(Intl, 'DateTimeFormat');
    const anyCase = anyZone.chain((zone) =>
      fc.tuple(
        fc.constant(zone),
        fc
          .array(fc.boolean(), { minLength: zone.length, maxLength: zone.length })
          .map((upper) => [...zone].map((c, i) => (upper[i] ? c.toUpperCase() : c.toLowerCase())).join('')),
      ),
    );
    try {
      fc.assert(fc.property(anyCase, ([zone, spelling]) => canonicalZone(spelling) === canonicalZone(zone)));
      expect(asked).not.toHaveBeenCalled();
    } finally {
      asked.mockRestore();
    }
  });

  test.each([
    ...['', ' ', 'Mars/Olympus', 'Europe', '+02:00', '-05:00', 'Europe/Paris; DROP', 'x'.repeat(500)],
    // The sign of Kelvin, which is a k in lower case.
    'Asia/\u212Aolkata',
  ])('refuses %j', (zone) => {
    parseZone('Asia/Kolkata');
    let refusal: unknown;
    try {
      parseZone(zone, { field: 'zone' });
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toBeInstanceOf(Refusal);
    expect(refusal).toMatchObject({ code: 'zone_unknown', field: 'zone' });
  });

  test('says that an offset is not a zone', () => {
    expect(() => parseZone('+02:00')).toThrow('is an offset');
  });

  test('the name of an unknown zone is a RangeError where nobody waits for a refusal', () => {
    expect(() => canonicalZone('Mars/Olympus')).toThrow(RangeError);
  });
});
