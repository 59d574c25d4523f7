import type { JobVersion } from '@carillon/client';
import { expect, test } from 'vitest';
import { changesBetween } from './changes-between.ts';

const version = (number: number | null, ...changes: [field: string, before: unknown, after: unknown][]) =>
  ({
    version: number,
    changes: changes.map(([field, before, after]) => ({ field, before, after })),
  }) as unknown as JobVersion;

const versions = [
  version(4, ['handler', 'b', 'c']),
  version(3, ['handler', 'a', 'b'], ['priority', 'low', 'high']),
  version(null, ['timeout_ms', 1, 2]),
  version(2, ['payload', { n: 1 }, { n: 2 }]),
  version(1),
];

test('a field that was changed twice has its first and its last value', () => {
  expect(changesBetween(versions, 2, 4)).toEqual([
    { field: 'handler', before: 'a', after: 'c' },
    { field: 'priority', before: 'low', after: 'high' },
    { field: 'timeout_ms', before: 1, after: 2 },
  ]);
  expect(changesBetween(versions, 1, 2)).toEqual([{ field: 'payload', before: { n: 1 }, after: { n: 2 } }]);
  expect(changesBetween(versions, 3, 3)).toEqual([]);
  expect(changesBetween([], 1, 2)).toEqual([]);
});
