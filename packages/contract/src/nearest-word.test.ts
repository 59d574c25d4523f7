import { expect, test } from 'vitest';
import { nearestWord } from './nearest-word.ts';

const KNOWN = ['port', 'host', 'executor-slots', 'log_level'];

test('finds the word that was meant', () => {
  expect(nearestWord('prot', KNOWN)).toBe('port');
  expect(nearestWord('pport', KNOWN)).toBe('port');
  expect(nearestWord('LogLevel', KNOWN)).toBe('log_level');
  expect(nearestWord('executor_slot', KNOWN)).toBe('executor-slots');
});

test('finds the one that has the word among its own', () => {
  const fields = [
    'max_retries',
    'retry',
    'timeout_seconds',
    'start_timeout_seconds',
    'spread_seconds',
    'key',
  ];
  expect(nearestWord('retries', fields)).toBe('max_retries');
  expect(nearestWord('timeout', fields)).toBe('timeout_seconds');
  expect(nearestWord('start-timeout', fields)).toBe('start_timeout_seconds');
  expect(nearestWord('retrie', fields)).toBe('retry');
  for (const vague of ['seconds', 'time', 'max', '____', '    '])
    expect(nearestWord(vague, fields)).toBeUndefined();
});

test('offers nothing when nothing is close', () => {
  expect(nearestWord('colour', KNOWN)).toBeUndefined();
  expect(nearestWord('', KNOWN)).toBeUndefined();
  expect(nearestWord('x'.repeat(1e6), KNOWN)).toBeUndefined();
});
