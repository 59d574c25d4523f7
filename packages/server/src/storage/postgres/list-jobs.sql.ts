/**
 * Statements that list jobs. Each is driven by the index that narrows it most, walks it in the order of the answer, and
 * looks through a bounded number of rows: a filter that no index serves costs the same on millions of jobs as on
 * thousands, and the answer says where looking stopped.
 */
import type { Statement } from '../../postgres/database.ts';
import { LOOKED_THROUGH_MAX } from '../job-store.ts';
import { JOB_COLUMNS, JOB_STATUS } from './job-row.ts';

/**
 * key: all jobs. user, namespace, status: the index of that name (status: of what is not SCHEDULED). labels: few enough to
 * be sorted. due: what waits or is alive, for SCHEDULED jobs among millions that have ended.
 */
export type Drive = 'key' | 'user' | 'namespace' | 'status' | 'labels' | 'due';
export const FILTERS = {
  status: (at: string) => `${LISTED_STATUS} = ${at}`,
  types: (at: string) => `j.schedule_type = ANY(${at}::text[])`,
  priority: (at: string) => `j.priority = ${at}`,
  user: (at: string) => `j.user_id = ${at}`,
  namespace: (at: string) => `j.namespace = ${at}`,
  handler: (at: string) => `j.handler = ${at}`,
  labels: (at: string) => `j.labels @> ${at}::jsonb AND j.labels IS NOT NULL`,
  text: (at: string) => `strpos(lower(j.name), lower(${at})) > 0`,
  from: (at: string) => `j.created_at >= to_timestamp(${at}::float8 / 1000)`,
  to: (at: string) => `j.created_at < to_timestamp(${at}::float8 / 1000)`,
} as const;
export type FilterName = keyof typeof FILTERS;

/** Runs under a lease, read once per list instead of once per job. */
const LIVE = `live AS MATERIALIZED (
    SELECT DISTINCT u.job_id, u.kind = 1 AS once
    FROM leases l CROSS JOIN LATERAL unnest(l.job_ids, l.kinds) WITH ORDINALITY AS u(job_id, kind, ord)
    WHERE NOT ((u.ord - 1)::smallint = ANY(l.closed))
  )`;

/**
 * As JOB_STATUS composes it, over the leases that were read once. Pending rows are looked up one by one on purpose: of an
 * EXISTS the planner may make a hash of all of them, a million rows to list fifty jobs.
 */
const LISTED_STATUS = `CASE WHEN j.schedule_type IN ('IMMEDIATE', 'FUTURE') AND j.status IN ('SCHEDULED', 'PAUSED')
    AND (SELECT d.kind FROM due d WHERE d.job_id = j.job_id AND d.kind = 1 LIMIT 1) IS NULL
    AND NOT (j.job_id IN (SELECT live.job_id FROM live WHERE live.once))
    THEN 'COMPLETED' ELSE j.status END`;
const LISTED_COLUMNS = JOB_COLUMNS.replace(JOB_STATUS, LISTED_STATUS);
const NO_JOB = Array.from({ length: 23 }, () => 'NULL').join(', ');

/** What the drive itself demands; the words after <> let the planner prove that a partial index holds all of it. */
const DRIVEN_BY: Record<Exclude<Drive, 'key' | 'due' | 'labels'>, (at: string) => string> = {
  user: (at) => `j.user_id = ${at}`,
  namespace: (at) => `j.namespace = ${at} AND j.namespace <> 'default'`,
  status: (at) => `j.status = ${at} AND j.status <> 'SCHEDULED'`,
};

export interface ListShape {
  readonly drive: Drive;
  /** In the order of their parameters, the drive's own filter included. */
  readonly filters: readonly FilterName[];
  readonly order: 'newest' | 'oldest';
  readonly continued: boolean;
}

/** One parameter per filter, then the job to continue after where there is one, then limit and offset. */
export function listStatement({ drive, filters, order, continued }: ListShape): Statement {
  const at = (name: FilterName) => `$${filters.indexOf(name) + 1}`;
  const direction = order === 'newest' ? 'DESC' : 'ASC';
  const past = continued ? `${order === 'newest' ? '<' : '>'} $${filters.length + 1}::uuid` : 'IS NOT NULL';
  const limit = `$${filters.length + (continued ? 2 : 1)}`;
  const offset = `$${filters.length + (continued ? 3 : 2)}`;
  const inOrder = `ORDER BY job_id ${direction}`;

  let ids: string | undefined;
  let jobs: string;
  if (drive === 'labels') {
    jobs = `SELECT j.* FROM labelled j WHERE j.job_id ${past}`;
  } else if (drive === 'due') {
    ids = `SELECT job_id FROM (
        (SELECT DISTINCT d.job_id FROM due d WHERE d.job_id ${past} ${inOrder} LIMIT ${LOOKED_THROUGH_MAX})
        UNION SELECT live.job_id FROM live WHERE live.job_id ${past}) waiting ${inOrder}`;
    jobs = `SELECT j.* FROM (${ids} LIMIT ${LOOKED_THROUGH_MAX}) waiting JOIN jobs j USING (job_id)`;
  } else {
    const narrowed = drive === 'key' ? '' : ` AND ${DRIVEN_BY[drive](at(drive))}`;
    ids = `SELECT j.job_id FROM jobs j WHERE j.job_id ${past}${narrowed} ${inOrder}`;
    jobs = `${ids.replace('SELECT j.job_id', 'SELECT j.*')} LIMIT ${LOOKED_THROUGH_MAX}`;
  }
  const labelled =
    drive === 'labels'
      ? `, labelled AS MATERIALIZED (SELECT j.* FROM jobs j WHERE ${FILTERS.labels(at('labels'))})`
      : '';
  const place = ids ? `(${ids} OFFSET ${LOOKED_THROUGH_MAX - 1} LIMIT 1)` : 'NULL::uuid';
  const rest = filters.map((name) => FILTERS[name](at(name)));
  return {
    // Not prepared: thousands of shapes, each kept by every connection, would be the caller's to fill its memory with.
    name: '',
    text: `WITH ${LIVE}${labelled}, page AS MATERIALIZED (
        SELECT ${LISTED_COLUMNS} FROM (${jobs}) j ${rest.length > 0 ? `WHERE ${rest.join(' AND ')}` : ''}
        ORDER BY j.job_id ${direction} LIMIT ${limit} OFFSET ${offset}
      )
      SELECT * FROM page
      UNION ALL SELECT ${place}, ${NO_JOB} WHERE (SELECT count(*) FROM page) < ${limit}::bigint`,
  };
}

/** Whether a label is rare enough to sort all that have it. $1 labels. */
export const COUNT_LABELLED: Statement = {
  name: 'count_labelled',
  text: `SELECT count(*)::int FROM (
    SELECT FROM jobs j WHERE j.labels @> $1::jsonb AND j.labels IS NOT NULL LIMIT ${LOOKED_THROUGH_MAX + 1}) labelled`,
};
