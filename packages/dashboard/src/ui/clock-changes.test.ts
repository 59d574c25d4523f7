import { expect, test } from 'vitest';
import { isForward, nextClockChange } from './clock-changes.ts';

const NOV = Date.parse('2026-11-18T12:00:00Z');

test('the next change of a zone is found, with what it changes', () => {
  const spring = nextClockChange('Europe/Paris', NOV)!;
  expect(spring).toEqual({ at: new Date('2027-03-28T01:00:00Z'), before: '+01:00', after: '+02:00' });
  expect(isForward(spring)).toBe(true);
  const autumn = nextClockChange('Europe/Paris', spring.at.getTime())!;
  expect(autumn.at.toISOString()).toBe('2027-10-31T01:00:00.000Z');
  expect(isForward(autumn)).toBe(false);
  expect(nextClockChange('America/New_York', NOV)).toMatchObject({ before: '-05:00', after: '-04:00' });
});

test('there is none in a zone without changes, nor after the end of what was asked for', () => {
  expect(nextClockChange('UTC', NOV)).toBeUndefined();
  expect(nextClockChange('Asia/Tokyo', NOV)).toBeUndefined();
  expect(nextClockChange('Europe/Paris', NOV, Date.parse('2027-03-28T00:59:00Z'))).toBeUndefined();
});
