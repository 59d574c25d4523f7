import { expect, test } from 'vitest';
import { instantOfCursor } from './cursor-instant.ts';

test('a cursor of a list by time tells how far back it was read', () => {
  const at = '2030-01-02T14:02:11.123Z';
  expect(instantOfCursor(`${at}_01893f2e-7c12-7d01-8e11-b0b1b2b3b4b5_3`)).toBe(at);
  expect(instantOfCursor('01893f2e-7c12-7d01-8e11-b0b1b2b3b4b5')).toBeUndefined();
  expect(instantOfCursor(undefined)).toBeUndefined();
});
