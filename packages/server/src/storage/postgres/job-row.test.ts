import { expect, test } from 'vitest';
import { JOB } from './job-row.ts';

test('a job from before a column was there has the default of its field', () => {
  const row = Array.from({ length: JOB.length }, () => null);
  const scheduleType = JOB.sql.split(',').findIndex((column) => column.trim() === 'j.schedule_type');
  const job = JOB.from(row.with(scheduleType, 'IMMEDIATE' as never), 0);
  expect(job).toMatchObject({ maxConcurrency: 1, overlap: 'queue', timeoutMs: 300_000, labels: {} });
  expect(job.startTimeoutMs).toBeUndefined();
});
