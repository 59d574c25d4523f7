/**
 * What INSERT_JOBS and its variants take, declared once for the statement and its parameters. Batches are mostly alike: then all
 * but the columns that differ from job to job are single values, sent and read once instead of once per job.
 */
import type { NewJob } from '../job-store.ts';
import { handlerKey, tenantOf } from '../lane.ts';
import { CURSOR_KIND, kindCode } from './codes.ts';
import { JOB_COLUMNS, type JobColumn, sentType, type Value } from './job-columns.ts';

export interface InsertColumn extends Pick<JobColumn, 'name' | 'form'> {
  /** As it is sent. */
  readonly type: string;
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
const sent = (columns: readonly JobColumn[]): InsertColumn[] =>
  columns.map((column) => ({ ...column, type: sentType(column) }));

/** Where all are undefined, no array is sent: the database reads NULLs. The id comes first. */
export const OWN_COLUMNS: readonly InsertColumn[] = [
  ...sent(JOB_COLUMNS.filter(({ differs }) => differs)),
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
  ...sent(JOB_COLUMNS.filter(({ differs }) => !differs)),
  plain('kind', 'smallint', ({ first }) =>
    first.kind === 'run' ? kindCode(first.run.trigger) : CURSOR_KIND,
  ),
  plain('ends_job', 'boolean', ({ first }) => first.kind === 'run' && first.run.endsJob),
  plain('handler_key', 'int', ({ job }) => handlerKey(job.handler)),
  plain('tenant', 'bigint', ({ job }) => tenantOf(job)),
];

/**
 * Per row of the audit log: jobs from first to last, counted from 1, share it. after and request_id: of all of them, if they share
 * that.
 */
export const AUDIT_COLUMNS = {
  at: 'bigint',
  actor_kind: 'text',
  actor_id: 'text',
  actor_name: 'text',
  via_kind: 'text',
  via_id: 'text',
  via_name: 'text',
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
