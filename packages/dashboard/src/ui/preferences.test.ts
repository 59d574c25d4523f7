/** Whatever a browser or a server has kept, the page shows times: what it cannot use is as if it had never been chosen. */
import { expect, test } from 'vitest';
import { nextZone, preferencesNow, setPreferences, usablePreferences } from './preferences.tsx';

test.each([
  [{ zone: 'Nowhere/Land', shortcuts: false }, { shortcuts: false }],
  [
    { zone: 'Asia/Tokyo', live: false },
    { zone: 'Asia/Tokyo', live: false },
  ],
  [{ zone: 'local' }, { zone: 'local' }],
  [{ zone: 'job' }, { zone: 'job' }],
  [{ zone: '', shortcuts: 'no', live: 1, other: true }, {}],
  [{ zone: 5 }, {}],
  [{ zone: null, shortcuts: null }, {}],
  [null, {}],
  ['text', {}],
  [undefined, {}],
])('of %j, %j is used', (given, used) => {
  expect(usablePreferences(given)).toEqual(used);
});

test('a zone that is not known changes nothing', () => {
  setPreferences({ zone: 'Asia/Tokyo' });
  setPreferences({ zone: 'Nowhere/Land', shortcuts: false });
  expect(preferencesNow()).toMatchObject({ zone: 'Asia/Tokyo', shortcuts: false });
});

test('the key t goes round the zones that there are to choose from', () => {
  expect(nextZone({ zone: 'local' })).toBe('UTC');
  expect(nextZone({ zone: 'UTC' })).toBe('local');
  expect(nextZone({ zone: 'UTC', otherZone: 'Asia/Tokyo' })).toBe('Asia/Tokyo');
  expect(nextZone({ zone: 'Asia/Tokyo', otherZone: 'Asia/Tokyo' })).toBe('local');
});
