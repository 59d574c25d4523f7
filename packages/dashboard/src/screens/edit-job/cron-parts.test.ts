import { parseCron } from '@carillon/domain';
import { expect, test } from 'vitest';
import { CRON_PRESETS, cronParts, withPart } from './cron-parts.ts';

test('five fields, six with seconds, and nicknames are taken apart', () => {
  expect(cronParts('0 9 * * 1-5')?.map(({ value }) => value)).toEqual(['0', '9', '*', '*', '1-5']);
  expect(cronParts('30 0 9 * * *')?.[0]).toMatchObject({ name: 'Second', value: '30' });
  expect(cronParts('@daily')?.map(({ value }) => value)).toEqual(['0', '0', '*', '*', '*']);
  expect(cronParts('0 9')).toBeUndefined();
});

test('one field is changed, and the others stay', () => {
  expect(withPart('0 9 * * 1-5', 1, '10')).toBe('0 10 * * 1-5');
  expect(withPart('0 9 * * 1-5', 4, '')).toBe('0 9 * * *');
  expect(withPart('0 9 * * *', 1, '9, 17')).toBe('0 9,17 * * *');
});

test('every preset is an expression that the server takes', () => {
  for (const { value } of CRON_PRESETS) expect(() => parseCron(value)).not.toThrow();
});
