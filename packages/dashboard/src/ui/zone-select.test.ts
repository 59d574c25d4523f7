import { expect, test } from 'vitest';
import { zoneOf } from './zone-select.tsx';

test.each([
  ['europe/berlin', 'Europe/Berlin'],
  ['Berlin', 'Europe/Berlin'],
  [' New York ', 'America/New_York'],
  ['utc', 'UTC'],
])('%j means %s', (typed, zone) => {
  expect(zoneOf(typed)).toBe(zone);
});

test.each(['Europe', 'berln', 'EST'])('%j is left to the server', (typed) => {
  expect(zoneOf(typed)).toBe(typed);
});
