import { expect, test } from 'vitest';
import { NAMED_RANGE, rangeChoice, rangeWords } from './run-range.ts';

const FROM = '2030-01-02T14:02:00Z';

test('a length that can be chosen is chosen, and a range that an address names is one more choice', () => {
  expect(rangeChoice({}, 'UTC').value).toBeUndefined();
  expect(rangeChoice({ since: '1h' }, 'UTC').value).toBe('1h');
  const { value, options } = rangeChoice({ since: FROM, until: '2030-01-02T14:20:00Z' }, 'UTC');
  expect(value).toBe(NAMED_RANGE);
  expect(options.at(-1)).toEqual({ value: NAMED_RANGE, label: 'Wed 2 Jan 14:02 – 14:20' });
});

test('a range is told in the zone that was chosen', () => {
  expect(rangeWords({ since: FROM, until: '2030-01-02T23:30:00Z' }, 'Asia/Tokyo')).toBe(
    'Wed 2 Jan 23:02 – Thu 3 Jan 08:30',
  );
  expect(rangeWords({ since: FROM }, 'UTC')).toBe('from Wed 2 Jan 14:02');
  expect(rangeWords({ until: FROM }, 'UTC')).toBe('until Wed 2 Jan 14:02');
  expect(rangeWords({ since: '3d', until: '1d' }, 'UTC')).toBe('3d ago – 1d ago');
});
