/**
 * What INSERT_JOBS and its variants take, declared once for the statement and its parameters. Batches are mostly alike: then all
 * but the columns that differ from job to job are single values, sent and read once instead of once per job.
 */
import type { NewJob } from '../job-store.ts';
import { handlerKey, tenantOf } from '../lane.ts';
import { CURSOR_KIND, kindCode, priorityCode } from './codes.ts';
import { STORED } from './job-row.ts';

export type Value = string | number | boolean | undefined;

export interface InsertColumn {
  readonly name: string;
  readonly type: string;
  /** Of many values: words that need no quoting; any text; or lines, which are cheapest: no JSON text holds a line break. */
  readonly form: 'plain' | 'text' | 'lines';
  readonly of: (entry: NewJob) => Value;
}

const plain = (name: string, type: string, of: InsertColumn['of']): InsertColumn => ({
  name,
  type,
  form: 'plain',
  of,
});
const text = (name: string, of: InsertColumn['of']): InsertColumn => ({
  name,
  type: 'text',
  form: 'text',
  of,
});

/** Where all are undefined, no array is sent: the database reads NULLs. */
export const OWN_COLUMNS: readonly InsertColumn[] = [
  plain('job_id', 'uuid', ({ job }) => job.jobId),
  text('name', ({ job }) => job.name),
  { name: 'payload', type: 'text', form: 'lines', of: ({ job }) => job.payload },
  plain('shard', 'smallint', ({ job }) => job.shard),
  plain('schedule_time', 'bigint', ({ job }) => STORED.scheduleTimeMs(job)),
  plain('fire_at', 'bigint', ({ first }) =>
    first.kind === 'run' ? first.run.fireAtMs : first.cursor.fireAtMs,
  ),
  // NULL: as fire_at.
  plain('own_nominal_at', 'bigint', ({ first }) => {
    const { fireAtMs, nominalAtMs } = first.kind === 'run' ? first.run : first.cursor;
    return nominalAtMs === fireAtMs ? undefined : nominalAtMs;
  }),
  // NULL: as the job's.
  plain('own_run_id', 'uuid', ({ job, first }) => {
    if (first.kind !== 'run') return undefined;
    return (first.run.runId as string) === job.jobId ? undefined : first.run.runId;
  }),
  text('idempotency_key', ({ idempotency }) => idempotency?.key),
  text('request_hash', ({ idempotency }) => idempotency?.requestHash),
];

export const SHARED_COLUMNS: readonly InsertColumn[] = [
  text('user_id', ({ job }) => job.userId),
  plain('schedule_type', 'text', ({ job }) => job.schedule.type),
  plain('status', 'text', ({ job }) => job.status),
  text('cron_expression', ({ job }) => STORED.cronExpression(job)),
  text('time_zone', ({ job }) => STORED.timeZone(job)),
  text('schedule', ({ job }) => STORED.schedule(job)),
  text('misfire', ({ job }) => STORED.misfire(job)),
  text('handler', ({ job }) => job.handler),
  plain('priority', 'smallint', ({ job }) => priorityCode(job.priority)),
  plain('max_retries', 'int', ({ job }) => job.retry.maxRetries),
  text('retry', ({ job }) => STORED.retry(job)),
  plain('max_concurrency', 'int', ({ job }) => job.maxConcurrency),
  plain('overlap', 'text', ({ job }) => job.overlap),
  plain('timeout_ms', 'bigint', ({ job }) => job.timeoutMs),
  plain('start_timeout_ms', 'bigint', ({ job }) => job.startTimeoutMs),
  plain('kind', 'smallint', ({ first }) =>
    first.kind === 'run' ? kindCode(first.run.trigger) : CURSOR_KIND,
  ),
  plain('ends_job', 'boolean', ({ first }) => first.kind === 'run' && first.run.endsJob),
  plain('created_at', 'bigint', ({ job }) => job.createdAtMs),
  plain('updated_at', 'bigint', ({ job }) => job.updatedAtMs),
  plain('version', 'int', ({ job }) => job.version),
  text('namespace', ({ job }) => job.namespace),
  text('labels', ({ job }) => STORED.labels(job)),
  text('resources', ({ job }) => STORED.resources(job)),
  plain('handler_key', 'int', ({ job }) => handlerKey(job.handler)),
  plain('tenant', 'bigint', ({ job }) => tenantOf(job)),
];

/** Per row of the audit log: jobs from first to last, counted from 1, share it. after: of all of them, if they share that. */
export const AUDIT_COLUMNS = {
  at: 'bigint',
  actor_kind: 'text',
  actor_id: 'text',
  actor_name: 'text',
  action: 'text',
  namespace: 'text',
  address: 'text',
  user_agent: 'text',
  request_id: 'text',
  first: 'int',
  last: 'int',
  span_from: 'bigint',
  span_to: 'bigint',
  after: 'text',
} as const;
