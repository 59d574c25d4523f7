/** A job as a row of `jobs`, both ways. Policies that are the defaults are stored as NULL: most rows stay narrow. */
import {
  DEFAULT_MISFIRE,
  DEFAULT_RETRY,
  isRecurring,
  type Job,
  type JobId,
  type JobStatus,
  type Labels,
  type MisfirePolicy,
  NO_LABELS,
  NO_RESOURCES,
  type RecurringSchedule,
  type RetryPolicy,
  type Schedule,
  type ScheduleType,
} from '@carillon/domain';
import { priorityWord } from './codes.ts';
import { exists } from './exists.sql.ts';
import { msOf } from './instant.sql.ts';

/**
 * The status of a job j, composed: success of a one-off is written nowhere (it would cost the hot path an update of a wide
 * row per run), it follows from nothing of it being pending or alive any more. A pause that holds back runs is not over by that:
 * they could never be resumed.
 */
export const JOB_STATUS = `CASE WHEN j.schedule_type IN ('IMMEDIATE', 'FUTURE') AND j.status IN ('SCHEDULED', 'PAUSED')
    AND NOT ${exists(`SELECT FROM due d WHERE d.job_id = j.job_id AND (d.kind = 1 OR (d.held AND j.status = 'PAUSED'))`)}
    AND NOT EXISTS (SELECT FROM leases l CROSS JOIN LATERAL unnest(l.job_ids, l.kinds) WITH ORDINALITY AS u(job_id, kind, ord)
      WHERE l.job_ids @> ARRAY[j.job_id] AND u.job_id = j.job_id AND u.kind = 1 AND NOT ((u.ord - 1)::smallint = ANY(l.closed)))
    THEN 'COMPLETED' ELSE j.status END`;

/** The select list that jobFromRow reads. */
export const JOB_COLUMNS = `j.job_id, j.name, j.user_id, j.schedule_type, ${JOB_STATUS},
  ${msOf('j.schedule_time')}, j.schedule::text, j.misfire::text, j.handler, j.payload::text,
  j.priority, j.max_retries, j.retry::text, j.max_concurrency, j.overlap, j.timeout_ms, j.start_timeout_ms, j.shard,
  j.version, ${msOf('j.created_at')}, ${msOf('j.updated_at')},
  j.namespace, j.labels::text, j.resources::text`;

export type JobRow = readonly [
  jobId: JobId,
  name: string,
  userId: string | null,
  scheduleType: ScheduleType,
  status: JobStatus,
  scheduleTimeMs: number | null,
  schedule: string | null,
  misfire: string | null,
  handler: string,
  payload: string,
  priority: number,
  maxRetries: number,
  retry: string | null,
  maxConcurrency: number,
  overlap: Job['overlap'],
  timeoutMs: number,
  startTimeoutMs: number | null,
  shard: number,
  version: number,
  createdAtMs: number,
  updatedAtMs: number,
  namespace: string,
  labels: string | null,
  resources: string | null,
];

export function jobFromRow(row: JobRow): Job {
  return {
    jobId: row[0],
    name: row[1],
    userId: row[2] ?? undefined,
    status: row[4],
    schedule: scheduleFrom(row[3], row[5], row[6]),
    misfire: misfireFrom(row[7]),
    handler: row[8],
    payload: row[9],
    priority: priorityWord(row[10]),
    retry: retryFrom(row[12], row[11]),
    maxConcurrency: row[13],
    overlap: row[14],
    timeoutMs: row[15],
    startTimeoutMs: row[16] ?? undefined,
    shard: row[17],
    version: row[18],
    createdAtMs: Math.round(row[19]),
    updatedAtMs: Math.round(row[20]),
    namespace: row[21],
    labels: row[22] === null ? NO_LABELS : (JSON.parse(row[22]) as Labels),
    resources: row[23] === null ? NO_RESOURCES : (JSON.parse(row[23]) as Job['resources']),
  };
}

function scheduleFrom(type: ScheduleType, atMs: number | null, rule: string | null): Schedule {
  if (type === 'IMMEDIATE') return { type };
  if (type === 'FUTURE') return { type, atMs: Math.round(atMs ?? 0) };
  return recurringFrom(rule!);
}

/** Herds of jobs share their rules, so the few distinct texts are parsed once. */
const RULES_MAX = 10_000;
const rules = new Map<string, RecurringSchedule>();

export function recurringFrom(text: string): RecurringSchedule {
  let rule = rules.get(text);
  if (!rule) {
    if (rules.size >= RULES_MAX) rules.clear();
    rule = JSON.parse(text) as RecurringSchedule;
    rules.set(text, rule);
  }
  return rule;
}

export function misfireFrom(text: string | null): MisfirePolicy {
  return text === null ? DEFAULT_MISFIRE : (JSON.parse(text) as MisfirePolicy);
}

export function retryFrom(text: string | null, maxRetries: number): RetryPolicy {
  if (text === null)
    return maxRetries === DEFAULT_RETRY.maxRetries ? DEFAULT_RETRY : { ...DEFAULT_RETRY, maxRetries };
  const stored = JSON.parse(text) as Omit<RetryPolicy, 'maxRetries' | 'deadlineMs'> & { deadlineMs?: number };
  return { ...stored, deadlineMs: stored.deadlineMs, maxRetries };
}

/** The parts of a job that are stored in a form of their own, or as NULL where they are the default. */
export const STORED = {
  scheduleTimeMs: ({ schedule }: Job) => (schedule.type === 'FUTURE' ? schedule.atMs : undefined),
  cronExpression: ({ schedule }: Job) => (schedule.type === 'CRON' ? schedule.expression : undefined),
  timeZone: ({ schedule }: Job) => (isRecurring(schedule) ? schedule.zone : undefined),
  schedule: ({ schedule }: Job) => (isRecurring(schedule) ? JSON.stringify(schedule) : undefined),
  misfire: ({ misfire }: Job) => (misfire === DEFAULT_MISFIRE ? undefined : JSON.stringify(misfire)),
  retry: ({ retry }: Job) =>
    isDefaultRetry(retry) ? undefined : JSON.stringify({ ...retry, maxRetries: undefined }),
  labels: ({ labels }: Job) => (labels === NO_LABELS ? undefined : JSON.stringify(labels)),
  resources: ({ resources }: Job) => (resources === NO_RESOURCES ? undefined : JSON.stringify(resources)),
};

function isDefaultRetry(retry: RetryPolicy): boolean {
  return (
    retry.strategy === DEFAULT_RETRY.strategy &&
    retry.delayMs === DEFAULT_RETRY.delayMs &&
    retry.delayMsMax === DEFAULT_RETRY.delayMsMax &&
    retry.jitter === DEFAULT_RETRY.jitter &&
    retry.deadlineMs === undefined
  );
}
