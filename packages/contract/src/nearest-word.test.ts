import { expect, test } from 'vitest';
import { nearestWord } from './nearest-word.ts';

const KNOWN = ['port', 'host', 'executor-slots', 'log_level'];

test('finds the word that was meant', () => {
  expect(nearestWord('prot', KNOWN)).toBe('port');
  expect(nearestWord('pport', KNOWN)).toBe('port');
  expect(nearestWord('LogLevel', KNOWN)).toBe('log_level');
  expect(nearestWord('executor_slot', KNOWN)).toBe('executor-slots');
});

test('offers nothing when nothing is close', () => {
  expect(nearestWord('colour', KNOWN)).toBeUndefined();
  expect(nearestWord('', KNOWN)).toBeUndefined();
  expect(nearestWord('x'.repeat(1e6), KNOWN)).toBeUndefined();
});
