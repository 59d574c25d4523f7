/** Jobs for the suites: plain ones, with only what a test is about spelled out. Ids never repeat within a process. */
import {
  DEFAULT_DAYLIGHT_SAVING,
  defineJob,
  type Job,
  type JobId,
  type RecurringSchedule,
  shardOf,
} from '@carillon/domain';
import { SeededRandom } from '@carillon/foundation';
import { BASE_MS } from './storage-under-test.ts';

const random = new SeededRandom(20_300_101);

/** A new id, later in order than all before it; the caller says of what. */
export function newId<Id extends string>(): Id {
  return random.id() as Id;
}

export const EVERY_MINUTE: RecurringSchedule = {
  type: 'CRON',
  expression: '* * * * *',
  zone: 'UTC',
  daylightSaving: DEFAULT_DAYLIGHT_SAVING,
  spreadMs: 0,
};

export function sampleJob(over: Partial<Job> = {}): Job {
  const jobId = over.jobId ?? newId<JobId>();
  return {
    ...defineJob({ name: 'sample', handler: 'sample', payload: { n: 1 }, timeoutSeconds: 60 }, BASE_MS),
    handler: 'http',
    jobId,
    shard: shardOf(jobId),
    version: 1,
    status: 'SCHEDULED',
    createdAtMs: BASE_MS,
    updatedAtMs: BASE_MS,
    ...over,
  };
}

/** A job as the ports show it, ready to compare: JSON texts may be spelled differently by an adapter. */
export function comparable(job: Job | undefined): unknown {
  return job && { ...job, payload: JSON.parse(job.payload) };
}
