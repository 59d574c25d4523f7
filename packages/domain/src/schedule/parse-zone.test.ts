import { describe, expect, test } from 'vitest';
import { Refusal } from '../errors/refusal.ts';
import { parseZone } from './parse-zone.ts';
import { ALL_ZONES } from './schedule-arbitraries.ts';

describe('parseZone', () => {
  test('accepts every zone of the runtime, old names too, in the spelling given', () => {
    for (const zone of ALL_ZONES.filter((_, index) => index % 10 === 0)) expect(parseZone(zone)).toBe(zone);
    for (const zone of ['UTC', 'Etc/GMT-2', 'US/Pacific', 'Asia/Calcutta', 'europe/paris'])
      expect(parseZone(zone)).toBe(zone);
    expect(parseZone(' Europe/Paris ')).toBe('Europe/Paris');
  });

  test.each(['', ' ', 'Mars/Olympus', 'Europe', '+02:00', '-05:00', 'Europe/Paris; DROP', 'x'.repeat(500)])(
    'refuses %j',
    (zone) => {
      let refusal: unknown;
      try {
        parseZone(zone, { field: 'zone' });
      } catch (error) {
        refusal = error;
      }
      expect(refusal).toBeInstanceOf(Refusal);
      expect(refusal).toMatchObject({ code: 'zone_unknown', field: 'zone' });
    },
  );

  test('says that an offset is not a zone', () => {
    expect(() => parseZone('+02:00')).toThrow('is an offset');
  });
});
