import type { JobVersion } from '@carillon/client';
import { expect, test } from 'vitest';
import { payloadOfVersion } from './payload-of-version.ts';

const version = (number: number | null, before?: unknown): JobVersion =>
  ({
    version: number,
    changes: before === undefined ? [] : [{ field: 'payload', before, after: null }],
  }) as unknown as JobVersion;

test('goes back through what was changed since, and says when that is not known', () => {
  const job = { payload: { n: 4 } } as never;
  const versions = [version(4, { n: 3 }), version(null), version(3), version(2, { n: 1 }), version(1)];
  expect(payloadOfVersion(job, versions, 4)).toEqual({ n: 4 });
  expect(payloadOfVersion(job, versions, 3)).toEqual({ n: 3 });
  expect(payloadOfVersion(job, versions, 2)).toEqual({ n: 3 });
  expect(payloadOfVersion(job, versions, 1)).toEqual({ n: 1 });
  expect(payloadOfVersion(job, versions.slice(0, 3), 1)).toBeUndefined();
});
