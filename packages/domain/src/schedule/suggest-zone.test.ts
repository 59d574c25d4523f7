import { expect, test } from 'vitest';
import { parseZone } from './parse-zone.ts';
import { fixedOffsetWarning, suggestZone } from './suggest-zone.ts';

test.each([
  ['America/NewYork', 'America/New_York'],
  ['america new york', 'America/New_York'],
  ['NewYork', 'America/New_York'],
  ['Paris', 'Europe/Paris'],
  ['Europe/Pari', 'Europe/Paris'],
  ['Amercia/New_York', 'America/New_York'],
  ['Europe/Berln', 'Europe/Berlin'],
  ['Berlni', 'Europe/Berlin'],
  ['Mars/Olympus', undefined],
  ['', undefined],
  ['x'.repeat(500), undefined],
])('%j is probably meant as %j', (name, zone) => {
  expect(suggestZone(name)).toBe(zone);
});

test('a refusal names the zone that was probably meant', () => {
  expect(() => parseZone('America/NewYork')).toThrow(
    'No time zone is called "America/NewYork": did you mean America/New_York?',
  );
  expect(() => parseZone('Mars/Olympus')).toThrow('No time zone is called "Mars/Olympus".');
});

test('winter time is warned of, zones with summers and offsets that say so are not', () => {
  expect(fixedOffsetWarning('EST')).toMatch(/always UTC-05:00 .* America\/New_York/);
  expect(fixedOffsetWarning('mst')).toContain('America/Denver');
  for (const zone of ['UTC', 'CET', 'EST5EDT', 'America/New_York', 'Etc/GMT+5', 'constructor'])
    expect(fixedOffsetWarning(zone)).toBeUndefined();
});
