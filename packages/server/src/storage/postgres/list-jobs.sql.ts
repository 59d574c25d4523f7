/**
 * Statements that list jobs. Each is driven by the index that narrows it most, walks it in the order of the answer, and
 * reads a bounded number of rows: a filter that no index serves costs the same on millions of jobs as on
 * thousands, and the answer says where the search stopped.
 */
import { textArray } from '../../postgres/array-literal.ts';
import { type Statement, statement } from '../../postgres/database.ts';
import { type JobFilter, NO_PAYLOAD, ROWS_SCANNED_MAX } from '../job-store.ts';
import { priorityCode } from './codes.ts';
import { timestampOf } from './fragments.sql.ts';
import { JOB, JOB_STATUS } from './job-row.ts';

/**
 * key: all jobs. userId, namespace, status: the index of that name (status: of what is not SCHEDULED). labels, jobKey,
 * jobKeyPrefix: few enough to be sorted. due: what waits or is alive, for SCHEDULED jobs among millions that have ended. live: what is
 * alive.
 */
export type Drive = 'key' | 'userId' | 'namespace' | 'status' | 'ownStatus' | FewDrive | 'due' | 'live';
/** The most narrow one first. */
export const FEW_DRIVES = ['jobKey', 'jobKeyPrefix', 'labels'] as const;
export type FewDrive = (typeof FEW_DRIVES)[number];

export function isFewDrive(drive: Drive): drive is FewDrive {
  return (FEW_DRIVES as readonly Drive[]).includes(drive);
}

interface SqlFilter<Value> {
  /** at: its parameter. */
  readonly sql: (at: string) => string;
  /** The parameter, where that is not the value itself. */
  readonly parameter?: (value: Value) => unknown;
}

/** What each filter means. */
export const FILTERS: {
  readonly [Name in keyof JobFilter]-?: SqlFilter<NonNullable<JobFilter[Name]>>;
} = {
  status: { sql: (at) => `${SHOWN_STATUS} = ${at}` },
  ownStatus: { sql: (at) => `${LISTED_STATUS} = ${at}` },
  scheduleTypes: { sql: (at) => `j.schedule_type = ANY(${at}::text[])`, parameter: textArray },
  priority: { sql: (at) => `j.priority = ${at}`, parameter: priorityCode },
  userId: { sql: (at) => `j.user_id = ${at}` },
  namespace: { sql: (at) => `j.namespace = ${at}` },
  handler: { sql: (at) => `j.handler = ${at}` },
  labels: { sql: (at) => `j.labels @> ${at}::jsonb AND j.labels IS NOT NULL`, parameter: JSON.stringify },
  jobName: { sql: (at) => `j.name = ${at}` },
  jobKey: { sql: (at) => `j.key = ${at}` },
  // A range of the index: "~" comes after every character of a key.
  jobKeyPrefix: { sql: (at) => `j.key >= ${at}::text AND j.key < ${at}::text || '~'` },
  text: { sql: (at) => `strpos(lower(j.name), lower(${at})) > 0` },
  createdFromMs: { sql: (at) => `j.created_at >= ${timestampOf(at)}` },
  createdToMs: { sql: (at) => `j.created_at < ${timestampOf(at)}` },
};
export type FilterName = keyof JobFilter;

/** Runs under a lease, read once per list instead of once per job. */
export const LIVE = `live AS MATERIALIZED (
    SELECT DISTINCT u.job_id, u.kind = 1 AS once
    FROM leases l CROSS JOIN LATERAL unnest(l.job_ids, l.kinds) WITH ORDINALITY AS u(job_id, kind, ord)
    WHERE NOT ((u.ord - 1)::smallint = ANY(l.closed))
  )`;

/**
 * As JOB_STATUS composes it, over the leases that were read once. Pending rows are read one by one on purpose: of an
 * EXISTS the planner may make a hash of all of them, a million rows to list fifty jobs.
 */
const LISTED_STATUS = `CASE WHEN j.schedule_type IN ('IMMEDIATE', 'FUTURE') AND j.status IN ('SCHEDULED', 'PAUSED')
    AND (SELECT d.kind FROM due d WHERE d.job_id = j.job_id AND (d.kind = 1 OR (d.held AND j.status = 'PAUSED')) LIMIT 1) IS NULL
    AND NOT (j.job_id IN (SELECT live.job_id FROM live WHERE live.once))
    THEN 'COMPLETED' ELSE j.status END`;
/** As shownStatus of the domain composes it. */
const SHOWN_STATUS = `CASE WHEN (${LISTED_STATUS}) IN ('PAUSED', 'CANCELLED') THEN j.status
    WHEN j.job_id IN (SELECT live.job_id FROM live) THEN 'RUNNING'
    WHEN (SELECT d.kind FROM due d WHERE d.job_id = j.job_id LIMIT 1) IS NOT NULL THEN 'SCHEDULED'
    ELSE (${LISTED_STATUS}) END`;
/**
 * A job, and behind it its status as it is shown. payloads: false leaves them where they are: unpacking one may cost more than all
 * else of a job.
 */
export function listedColumns(payloads: boolean): string {
  const listed = JOB.sql.replace(JOB_STATUS, LISTED_STATUS);
  const read = payloads ? listed : listed.replace('j.payload::text', `'${NO_PAYLOAD}'`);
  return `${read}, ${SHOWN_STATUS} AS shown_status`;
}
const NO_JOB = Array.from({ length: JOB.length }, () => 'NULL').join(', ');

/** The drives that are an index on one column and the id. only: its predicate, by which the planner knows that it holds all of it. */
const DRIVEN = {
  userId: { column: 'j.user_id', only: 'j.user_id IS NOT NULL' },
  namespace: { column: 'j.namespace', only: `j.namespace <> 'default'` },
  status: { column: 'j.status', only: `j.status <> 'SCHEDULED'` },
  ownStatus: { column: 'j.status', only: `j.status <> 'SCHEDULED'` },
} as const;
export type ColumnDrive = keyof typeof DRIVEN;
const FIRST_ID = `'00000000-0000-0000-0000-000000000000'::uuid`;
const LAST_ID = `'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid`;

export interface Walk {
  readonly order: 'newest' | 'oldest';
  /** The parameter with the job to continue after. */
  readonly after?: string | undefined;
}

/**
 * Jobs with this value, in the order of their ids. Compared as rows, in the order of the index: with an equality the
 * planner would rather walk through all jobs in the order of the ids, where few values are shared by many jobs, and look
 * through millions for the few of a small one.
 */
export function driven(drive: ColumnDrive, value: string, { order, after }: Walk) {
  const { column, only } = DRIVEN[drive];
  const row = `(${column}, j.job_id)`;
  const from =
    order === 'oldest' && after ? `> (${value}::text, ${after}::uuid)` : `>= (${value}::text, ${FIRST_ID})`;
  const to =
    order === 'newest' && after ? `< (${value}::text, ${after}::uuid)` : `<= (${value}::text, ${LAST_ID})`;
  const direction = order === 'newest' ? 'DESC' : 'ASC';
  return {
    where: `${only} AND ${row} ${from} AND ${row} ${to}`,
    orderBy: `${column} ${direction}, j.job_id ${direction}`,
  };
}

export interface ListShape {
  readonly drive: Drive;
  /** In the order of their parameters, the drive's own filter included. */
  readonly filters: readonly FilterName[];
  readonly order: 'newest' | 'oldest';
  readonly continued: boolean;
  readonly payloads: boolean;
}

/** One parameter per filter, then the job to continue after where there is one, then limit and offset. */
export function listStatement({ drive, filters, order, continued, payloads }: ListShape): Statement {
  const at = (name: FilterName) => `$${filters.indexOf(name) + 1}`;
  const direction = order === 'newest' ? 'DESC' : 'ASC';
  const past = continued ? `${order === 'newest' ? '<' : '>'} $${filters.length + 1}::uuid` : 'IS NOT NULL';
  const limit = `$${filters.length + (continued ? 2 : 1)}`;
  const offset = `$${filters.length + (continued ? 3 : 2)}`;
  const inOrder = `ORDER BY job_id ${direction}`;
  const after = continued ? `$${filters.length + 1}` : undefined;

  let ids: string | undefined;
  let jobs: string;
  let pageOrder = `j.job_id ${direction}`;
  if (isFewDrive(drive)) {
    jobs = `SELECT j.* FROM few j WHERE j.job_id ${past}`;
  } else if (drive === 'due') {
    ids = `SELECT job_id FROM (
        (SELECT DISTINCT d.job_id FROM due d WHERE d.job_id ${past} ${inOrder} LIMIT ${ROWS_SCANNED_MAX})
        UNION (SELECT c.job_id FROM cursors c WHERE c.job_id ${past} ${inOrder} LIMIT ${ROWS_SCANNED_MAX})
        UNION SELECT live.job_id FROM live WHERE live.job_id ${past}) waiting ${inOrder}`;
    jobs = `SELECT j.* FROM (${ids} LIMIT ${ROWS_SCANNED_MAX}) waiting JOIN jobs j USING (job_id)`;
  } else if (drive === 'live') {
    ids = `SELECT DISTINCT live.job_id FROM live WHERE live.job_id ${past} ${inOrder}`;
    jobs = `SELECT j.* FROM (${ids} LIMIT ${ROWS_SCANNED_MAX}) living JOIN jobs j USING (job_id)`;
  } else if (drive === 'key') {
    ids = `SELECT j.job_id FROM jobs j WHERE j.job_id ${past} ${inOrder}`;
    jobs = `${ids.replace('SELECT j.job_id', 'SELECT j.*')} LIMIT ${ROWS_SCANNED_MAX}`;
  } else {
    const { where, orderBy } = driven(drive, at(drive), { order, after });
    ids = `SELECT j.job_id FROM jobs j WHERE ${where} ORDER BY ${orderBy}`;
    jobs = `${ids.replace('SELECT j.job_id', 'SELECT j.*')} LIMIT ${ROWS_SCANNED_MAX}`;
    pageOrder = orderBy;
  }
  const few = isFewDrive(drive)
    ? `, few AS MATERIALIZED (SELECT j.* FROM jobs j WHERE ${FILTERS[drive].sql(at(drive))})`
    : '';
  const cursor = ids ? `(${ids} OFFSET ${ROWS_SCANNED_MAX - 1} LIMIT 1)` : 'NULL::uuid';
  const rest = restOf(drive, filters).map((name) => FILTERS[name].sql(at(name)));
  return {
    // Not prepared: thousands of shapes, each kept by every connection, would be the caller's to fill its memory with.
    name: '',
    text: `WITH ${LIVE}${few}, page AS MATERIALIZED (
        SELECT ${listedColumns(payloads)} FROM (${jobs}) j ${rest.length > 0 ? `WHERE ${rest.join(' AND ')}` : ''}
        ORDER BY ${pageOrder} LIMIT ${limit} OFFSET ${offset}
      )
      SELECT * FROM page
      UNION ALL SELECT ${cursor}, ${NO_JOB} WHERE (SELECT count(*) FROM page) < ${limit}::bigint`,
  };
}

/** The filters that the drive has not applied yet; of the status it knows only what is written, not what is shown. */
export function restOf(drive: Drive, filters: readonly FilterName[]): FilterName[] {
  return filters.filter((name) => name !== drive || drive === 'status' || drive === 'ownStatus');
}

/** For one transaction. Sessions have them turned off, and nothing else can read the index of labels. */
export const ALLOW_BITMAP_SCANS = statement('allow_bitmap_scans')`
  SELECT set_config('enable_bitmapscan', 'on', true)`;

const countFew = (name: string, drive: FewDrive) => statement(name)`
  SELECT count(*)::int FROM (SELECT FROM jobs j WHERE ${FILTERS[drive].sql('$1')} LIMIT ${ROWS_SCANNED_MAX + 1}) few`;

/** Whether a value is rare enough to sort all that have it. $1 the value. */
export const COUNT_LABELLED = countFew('count_labelled', 'labels');
export const COUNT_KEYED = countFew('count_keyed', 'jobKey');
export const COUNT_KEY_PREFIX = countFew('count_key_prefix', 'jobKeyPrefix');
