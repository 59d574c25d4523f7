import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JobId } from '../ids.ts';
import { canMoveJob, JOB_STATUSES, type JobStatus, SHARD_COUNT, shardOf } from './job.ts';

const ids = fc.uuid().map((id) => id as JobId);

test('every job has a shard, and always the same', () => {
  fc.assert(
    fc.property(ids, (jobId) => {
      const shard = shardOf(jobId);
      expect(Number.isInteger(shard)).toBe(true);
      expect(shard).toBeGreaterThanOrEqual(0);
      expect(shard).toBeLessThan(SHARD_COUNT);
      expect(shardOf(jobId)).toBe(shard);
    }),
  );
});

test('the shard of an id is part of the stored data: these must never change', () => {
  expect(SHARD_COUNT).toBe(64);
  const known = [
    '00000000-0000-0000-0000-000000000000',
    '018f3c5e-7b2a-7c11-8a52-3f1d2e4b5a69',
    '0193e4a0-0000-7000-8000-000000000001',
    'ffffffff-ffff-ffff-ffff-ffffffffffff',
  ];
  expect(known.map((id) => shardOf(id as JobId))).toEqual([22, 29, 63, 25]);
});

test('ids made one after the other are spread over all shards', () => {
  const counts = new Array<number>(SHARD_COUNT).fill(0);
  for (let i = 0; i < 6_400; i += 1) {
    const id = `0193e4a0-0000-7000-8000-${i.toString(16).padStart(12, '0')}` as JobId;
    counts[shardOf(id)]! += 1;
  }
  expect(Math.min(...counts)).toBeGreaterThan(50);
  expect(Math.max(...counts)).toBeLessThan(200);
});

const movesFrom = (from: JobStatus): JobStatus[] => JOB_STATUSES.filter((to) => canMoveJob(from, to));

describe('a job', () => {
  test('that is cancelled comes back only by being applied again', () => {
    expect(movesFrom('CANCELLED')).toEqual(['SCHEDULED']);
  });

  test.each(JOB_STATUSES.filter((status) => status !== 'CANCELLED'))(
    'that is %s can be cancelled',
    (status) => {
      expect(canMoveJob(status, 'CANCELLED')).toBe(true);
    },
  );

  test('is paused only while it is scheduled, and resumed from a pause', () => {
    expect(JOB_STATUSES.filter((from) => canMoveJob(from, 'PAUSED'))).toEqual(['SCHEDULED']);
    expect(canMoveJob('PAUSED', 'SCHEDULED')).toBe(true);
  });

  test('ends from a pause too: what ran when it was paused may be its last', () => {
    expect(movesFrom('PAUSED')).toEqual(['SCHEDULED', 'CANCELLED', 'COMPLETED', 'FAILED']);
  });

  test.each(['COMPLETED', 'FAILED'] as const)('that is %s comes back only with a new schedule', (status) => {
    expect(movesFrom(status)).toEqual(['SCHEDULED', 'CANCELLED']);
  });

  test('never moves to where it is', () => {
    for (const status of JOB_STATUSES) expect(canMoveJob(status, status)).toBe(false);
  });
});
