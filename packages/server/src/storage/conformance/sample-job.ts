/** Jobs for the suites: plain ones, with only what a test is about spelled out. Ids never repeat within a process. */
import {
  DEFAULT_DAYLIGHT_SAVING,
  DEFAULT_MISFIRE,
  DEFAULT_RETRY,
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
    jobId,
    shard: shardOf(jobId),
    version: 1,
    status: 'SCHEDULED',
    createdAtMs: BASE_MS,
    updatedAtMs: BASE_MS,
    name: 'sample',
    userId: undefined,
    handler: 'http',
    payload: '{"n":1}',
    schedule: { type: 'IMMEDIATE' },
    misfire: DEFAULT_MISFIRE,
    priority: 'medium',
    maxConcurrency: 1,
    overlap: 'queue',
    retry: DEFAULT_RETRY,
    timeoutMs: 60_000,
    startTimeoutMs: undefined,
    namespace: 'default',
    labels: {},
    resources: {},
    ...over,
  };
}

/** A job as the ports show it, ready to compare: JSON texts may be spelled differently by an adapter. */
export function comparable(job: Job | undefined): unknown {
  return job && { ...job, payload: JSON.parse(job.payload) };
}
