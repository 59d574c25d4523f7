import { expect, test } from 'vitest';
import { readStoredResult, writeStoredResult } from './stored-result.ts';

test('what stands for a stored result says where it is', () => {
  const stored = { bytes: 70_000, day: '2030-01-31', server: 'one' };
  expect(readStoredResult(writeStoredResult(stored))).toEqual(stored);
  const shared = { bytes: 70_000, day: '2030-01-31' };
  expect(readStoredResult(writeStoredResult(shared))).toEqual({ ...shared, server: undefined });
  const writer = '01893f2e-7c12-7d01-8e11-b0b1b2b3b4b5';
  const written = { ...shared, server: undefined, writer };
  expect(readStoredResult(writeStoredResult(written))).toEqual(written);
  // As PostgreSQL writes it.
  expect(readStoredResult('{"$stored": {"day": "2030-01-31", "bytes": 1}}')?.bytes).toBe(1);
});

test.each([
  undefined,
  'null',
  '"$stored"',
  '{"$stored":null}',
  '{"$stored":{}}',
  '{"$stored":{"bytes":"1","day":"2030-01-31"}}',
  '{"$stored":{"bytes":-1,"day":"2030-01-31"}}',
  '{"$stored":{"bytes":1,"day":"../../../x"}}',
  '{"$stored":{"bytes":1,"day":"2030-01-31","server":7}}',
  '{"$stored":{"bytes":1,"day":"2030-01-31","writer":7}}',
  '{"$stored":{"bytes":1,"day":"2030-01-31","writer":"1/../../other/1"}}',
  `{"$stored":{"bytes":1,"day":"2030-01-31"},"more":"${'x'.repeat(300)}"}`,
])('%s is a result itself', (text) => {
  expect(readStoredResult(text)).toBeUndefined();
});
