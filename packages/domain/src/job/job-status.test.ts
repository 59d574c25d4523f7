import { describe, expect, test } from 'vitest';
import { canMoveJob, JOB_STATUSES, type JobStatus } from './job-status.ts';

const movesFrom = (from: JobStatus): JobStatus[] => JOB_STATUSES.filter((to) => canMoveJob(from, to));

describe('a job', () => {
  test('that is cancelled stays cancelled', () => {
    expect(movesFrom('CANCELLED')).toEqual([]);
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
