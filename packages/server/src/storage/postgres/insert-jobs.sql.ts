/**
 * New jobs with their first pending rows, their events and their entries of the audit log, in one statement: what was
 * accepted is on record, at no round trip of its own.
 */
import type { Statement } from '../../postgres/database.ts';
import { PART_COUNT } from '../lane.ts';
import { inlinePayload, timestampOf } from './fragments.sql.ts';
import { AUDIT_COLUMNS, type InsertColumn, OWN_COLUMNS, SHARED_COLUMNS } from './insert-columns.ts';
import { JOB_COLUMNS, stored } from './job-columns.ts';

const JOB_ID = '$1';
const AUDIT_FROM = OWN_COLUMNS.length + SHARED_COLUMNS.length + 1;
const AFTERS = `$${AUDIT_FROM + Object.keys(AUDIT_COLUMNS).length}`;
const REQUEST_IDS = `$${AUDIT_FROM + Object.keys(AUDIT_COLUMNS).length + 1}`;

const arrays = (
  columns: readonly (Pick<InsertColumn, 'type'> & { form?: InsertColumn['form'] })[],
  from: number,
) =>
  columns
    .map(({ type, form }, i) =>
      form === 'lines' ? `string_to_array($${from + i}::text, E'\\n')` : `$${from + i}::${type}[]`,
    )
    .join(', ');
const names = (columns: readonly Pick<InsertColumn, 'name'>[]) => columns.map(({ name }) => name).join(', ');

/** How a column is written in a statement over `data d`. */
type Field = (name: string) => string;

/** alike: the shared columns are single values, and not one element per job. They are not copied into each row of the data. */
function source(alike: boolean): { data: string; f: Field } {
  const columns = alike ? OWN_COLUMNS : [...OWN_COLUMNS, ...SHARED_COLUMNS];
  const data = `SELECT * FROM unnest(${arrays(columns, 1)}) AS d(${names(columns)})`;
  const single = new Map(
    SHARED_COLUMNS.map(({ name, type }, i) => [name, `$${OWN_COLUMNS.length + 1 + i}::${type}`]),
  );
  return { data, f: (name) => (alike && single.get(name)) || `d.${name}` };
}

const intoJobs = (f: Field) => `
  INSERT INTO jobs (${names(JOB_COLUMNS)}, idempotency_key, request_hash)
  SELECT ${JOB_COLUMNS.map((column) => stored(column, f(column.name))).join(', ')}, d.idempotency_key, d.request_hash
  FROM data d`;

/** The only run of a one-off: nothing limits it, so it is open from the start. */
const intoDue = (f: Field) => `
  INSERT INTO due (run_id, job_id, fire_at, lane_at, nominal_at, tenant, expires_at, timeout_ms, handler_key, job_version, shard, part,
    priority, kind, ends_job, held, handler, payload)
  SELECT coalesce(d.own_run_id, d.job_id), d.job_id, d.fire_at, d.fire_at, coalesce(d.own_nominal_at, d.fire_at), ${f('tenant')},
    d.fire_at + ${f('start_timeout_ms')}, ${f('timeout_ms')}, ${f('handler_key')}, ${f('version')}, d.shard, d.shard % ${PART_COUNT},
    ${f('priority')}, ${f('kind')}, ${f('ends_job')}, ${f('status')} = 'PAUSED', ${f('handler')}, ${inlinePayload('d.payload')}
  FROM data d`;

const intoCursors = (f: Field) => `
  INSERT INTO cursors (job_id, fire_at, nominal_at, job_version, shard, held)
  SELECT d.job_id, d.fire_at, coalesce(d.own_nominal_at, d.fire_at), ${f('version')}, d.shard, ${f('status')} = 'PAUSED'
  FROM data d`;

/** named: of the row g of the audit log, the ids of its jobs and the content of each. */
const intoAudit = (named: string) => `
  INSERT INTO audit_log (at, actor_kind, actor_id, actor_name, action, namespace, subject_kind, subject_id, subject_count, subject_ids,
    subject_span, after, afters, address, user_agent, request_id, request_ids, via_kind, via_id, via_name)
  SELECT ${timestampOf('g.at')}, g.actor_kind, g.actor_id, g.actor_name, g.action, g.namespace, 'job',
    CASE WHEN n.count = 1 THEN n.ids[1]::text END, n.count, CASE WHEN n.count > 1 THEN n.ids END,
    CASE WHEN n.count > 1 THEN int8range(g.span_from, g.span_to, '[]') END,
    CASE WHEN n.count = 1 THEN coalesce(g.after, n.afters[1]) ELSE g.after END::jsonb,
    CASE WHEN n.count > 1 AND g.after IS NULL THEN n.afters END, g.address, g.user_agent,
    CASE WHEN n.count = 1 THEN coalesce(g.request_id, n.request_ids[1]) ELSE g.request_id END,
    CASE WHEN n.count > 1 AND g.request_id IS NULL THEN n.request_ids END,
    g.via_kind, g.via_id, g.via_name
  FROM unnest(${arrays(
    Object.values(AUDIT_COLUMNS).map((type) => ({ type })),
    AUDIT_FROM,
  )}) AS g(${Object.keys(AUDIT_COLUMNS).join(', ')})
  CROSS JOIN LATERAL (${named}) n`;

const ALL_NAMED = `SELECT (${JOB_ID}::uuid[])[g.first:g.last] AS ids, (${AFTERS}::text[])[g.first:g.last] AS afters,
  (${REQUEST_IDS}::text[])[g.first:g.last] AS request_ids, g.last - g.first + 1 AS count`;

const SAVED_NAMED = `
    SELECT array_agg(u.job_id ORDER BY u.ord) AS ids, array_agg(u.after ORDER BY u.ord) AS afters,
      array_agg(u.request_id ORDER BY u.ord) AS request_ids, count(*)::int AS count
    FROM unnest((${JOB_ID}::uuid[])[g.first:g.last], (${AFTERS}::text[])[g.first:g.last], (${REQUEST_IDS}::text[])[g.first:g.last])
      WITH ORDINALITY AS u(job_id, after, request_id, ord)
    WHERE u.job_id IN (SELECT job_id FROM saved) HAVING count(*) > 0`;

const insertJobs = (name: string, { alike }: { alike: boolean }): Statement => {
  const { data, f } = source(alike);
  return {
    name,
    text: `WITH data AS MATERIALIZED (${data}), saved AS (${intoJobs(f)}), event AS (
    INSERT INTO events (kind, ids) VALUES ('job.created', ${JOB_ID}::uuid[])
  ), audit AS (${intoAudit(ALL_NAMED)}
  ), planned AS (${intoCursors(f)} WHERE ${f('kind')} = 0) ${intoDue(f)} WHERE ${f('kind')} > 0`,
  };
};

export const INSERT_JOBS: Statement = insertJobs('insert_jobs', { alike: false });
export const INSERT_ALIKE_JOBS: Statement = insertJobs('insert_alike_jobs', { alike: true });

/** An idempotency key or a key that is already there wins; the answer tells which jobs are new. */
const insertKeyedJobs = (name: string, { alike }: { alike: boolean }): Statement => {
  const { data, f } = source(alike);
  return {
    name,
    text: `WITH data AS MATERIALIZED (${data}), saved AS (
    ${intoJobs(f)} ON CONFLICT DO NOTHING RETURNING job_id
  ), event AS (
    INSERT INTO events (kind, ids) SELECT 'job.created', array_agg(job_id) FROM saved HAVING count(*) > 0
  ), audit AS (${intoAudit(SAVED_NAMED)}
  ), planned AS (${intoCursors(f)} JOIN saved USING (job_id) WHERE ${f('kind')} = 0
  ), queued AS (${intoDue(f)} JOIN saved USING (job_id) WHERE ${f('kind')} > 0)
  SELECT job_id FROM saved`,
  };
};

export const INSERT_KEYED_JOBS: Statement = insertKeyedJobs('insert_keyed_jobs', { alike: false });
export const INSERT_ALIKE_KEYED_JOBS: Statement = insertKeyedJobs('insert_alike_keyed_jobs', { alike: true });
