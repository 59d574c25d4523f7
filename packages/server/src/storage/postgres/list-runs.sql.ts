/**
 * Statements that list runs across jobs, newest first, one for each table and index that runs are read from. Each looks through
 * ROWS_SCANNED_MAX rows at most; its last row, which has no status, says where it stopped.
 *
 * The parameters are those of all of them: $1 limit, $2 now, $3 whether results are read, the cursor ($4 instant, $5 run, $6 epoch),
 * $7 the earliest instant, $8 and $9 the owners that are visible, $10 to $17 the filters, NULL: any, $18 the job, $19 whether each run is
 * listed once, by its last attempt, and $20 whether one that waits counts as its last.
 */
import { statement } from '../../postgres/database.ts';
import { ROWS_SCANNED_MAX } from '../job-store.ts';
import { type ListedRun, MAY_FOLLOW, type RunView } from '../run-store.ts';
import { msOf, pendingRun, timestampOf } from './fragments.sql.ts';
import {
  LEASED_RUNS,
  LIVING_COLUMNS,
  LIVING_STATUS,
  OPEN,
  QUEUED_COLUMNS,
  RESULT,
  RUN,
  WITH_WAITS_FOR,
} from './run.sql.ts';
import { columns, optional, type Read } from './selection.ts';
import { seenBy } from './upcoming.sql.ts';

/** The types are told once: not every statement uses every parameter. */
const GIVEN = `given AS (SELECT $1::bigint, $2::bigint, $3::boolean, $4::bigint, $5::uuid, $6::int, $7::bigint, $8::text[], $9::text[],
    $10::text[], $11::text, $12::text, $13::text, $14::text, $15::text, $16::text, $17::bigint, $18::uuid, $19::boolean, $20::boolean)`;

const JOB_OF_RUN = columns<NonNullable<ListedRun['job']>>({
  name: 'j.name',
  namespace: 'j.namespace',
  userId: 'j.user_id',
  handler: 'j.handler',
});
/** atMs: the instant of its cursor. Of the row that says where a statement stopped, what that row knows. */
export interface RunRow {
  readonly run: RunView;
  readonly job: ListedRun['job'];
  readonly triedAgain: boolean;
  readonly atMs: number;
}
const ROW = columns<RunRow>({ run: RUN, job: optional(JOB_OF_RUN), triedAgain: 'again', atMs: 'at' });
const row = (run: string, at: string, again = 'false') => `${run}, ${JOB_OF_RUN.sql}, ${again}, ${at}`;

/** Ended so, the run r may have been tried again. */
const MAY_BE_FOLLOWED = `r.status IN (${MAY_FOLLOW.map((status) => `'${status}'`).join(', ')})`;
/** An hour of slack: clocks of databases may be set back. The leases are read once for all rows. */
const HANDED_OUT_AGAIN = `(EXISTS (SELECT FROM job_runs n WHERE n.run_id = r.run_id AND n.epoch > r.epoch
      AND n.created_at >= r.created_at - interval '1 hour')
    OR r.run_id IN (SELECT u.run_id FROM leases l CROSS JOIN LATERAL unnest(l.run_ids) WITH ORDINALITY AS u(run_id, ord)
      WHERE ${OPEN}))`;
const WAITS_AGAIN = `EXISTS (SELECT FROM ${pendingRun('r.run_id')} w)`;
const IS_LAST = `($19::boolean IS NOT TRUE OR NOT ${MAY_BE_FOLLOWED} OR NOT (${HANDED_OUT_AGAIN} OR ($20::boolean AND ${WAITS_AGAIN})))`;

const ENDED_COLUMNS = row(
  RUN.sql.replace(RESULT, `CASE WHEN $3::boolean THEN ${RESULT} END`),
  msOf('r.created_at'),
  `${MAY_BE_FOLLOWED} AND (${HANDED_OUT_AGAIN} OR ${WAITS_AGAIN})`,
);

/** The columns of a row that has no status: run, job, epoch, and the instant. */
const stopped = (of: { run: string; job?: string; epoch?: string; at: string }) =>
  `${of.run}, ${of.job ?? 'NULL'}, NULL, NULL, ${of.epoch ?? 'NULL'}, ${'NULL, '.repeat(ROW.length - 6)}${of.at}`;

/** By its key for each run, however many jobs there are. */
const jobOf = (run: string) =>
  `LEFT JOIN LATERAL (SELECT * FROM jobs j WHERE j.job_id = ${run}.job_id LIMIT 1) j ON true`;

interface Of {
  readonly status: string;
  readonly worker: string;
  readonly error: string;
}
const OF_HISTORY: Of = { status: 'r.status', worker: 'r.executor_id', error: 'r.error_message' };
const conditions = ({ status, worker, error }: Of) =>
  [
    `($10::text[] IS NULL OR ${status} = ANY($10::text[]))`,
    '($11::text IS NULL OR j.namespace = $11::text)',
    '($12::text IS NULL OR j.user_id = $12::text)',
    '($13::text IS NULL OR j.handler = $13::text)',
    '($14::text IS NULL OR j.labels @> $14::text::jsonb)',
    `($15::text IS NULL OR ${worker} = $15::text)`,
    `($16::text IS NULL OR strpos(lower(${error}), lower($16::text)) > 0)`,
    seenBy('$8', '$9'),
  ].join(' AND ');
const SINCE = `($17::bigint IS NULL OR r.created_at >= ${timestampOf('$17::bigint')}
    OR (r.status <> 'SUCCESS' AND r.modified_time >= ${timestampOf('$17::bigint')}))`;

const BEFORE = `r.created_at >= ${timestampOf('$7::bigint')} AND r.created_at <= ${timestampOf('$4::bigint')}
    AND (r.created_at, r.run_id, r.epoch) < (${timestampOf('$4::bigint')}, $5::uuid, $6::int)`;
const NEWEST_FIRST = 'ORDER BY r.created_at DESC, r.run_id DESC, r.epoch DESC';

/** of: rows of the history in order. */
const ended = (name: string, of: string): Read<RunRow> => ({
  name,
  row: ROW,
  text: `WITH ${GIVEN}, page AS MATERIALIZED (
    SELECT ${ENDED_COLUMNS} FROM (${of} LIMIT ${ROWS_SCANNED_MAX}) r ${jobOf('r')}
    WHERE ${conditions(OF_HISTORY)} AND ${SINCE} AND ${IS_LAST} ${NEWEST_FIRST} LIMIT $1
  )
  SELECT * FROM page
  UNION ALL SELECT ${stopped({ run: 'stop.run_id', epoch: 'stop.epoch', at: msOf('stop.created_at') })}
    FROM (${of} OFFSET ${ROWS_SCANNED_MAX - 1} LIMIT 1) stop WHERE (SELECT count(*) FROM page) < $1`,
});

/** By the index of those that did not succeed. */
export const NOT_SUCCEEDED_RUNS = ended(
  'not_succeeded_runs',
  `SELECT r.* FROM job_runs r WHERE r.status <> 'SUCCESS' AND r.status <> 'RUNNING' AND ${BEFORE} ${NEWEST_FIRST}`,
);

export const ENDED_RUNS_OF_JOB = ended(
  'ended_runs_of_job',
  `SELECT r.* FROM job_runs r WHERE r.job_id = $18::uuid AND r.status <> 'RUNNING' AND ${BEFORE} ${NEWEST_FIRST}`,
);

/**
 * Successes come by the thousands each second where much runs, each of a job of its own that has to be looked up, and a list that finds
 * little of what it looks for is to be answered soon even then.
 */
export const SUCCESSES_SCANNED_MAX = 5_000;

/** isRead: whether the window is read; where it is not, its runs are counted alone. */
const succeeded = (name: string, order: string, isRead: string): Read<RunRow> => ({
  name,
  row: ROW,
  text: `WITH ${GIVEN}, scanned AS MATERIALIZED (
    SELECT r.run_id, r.epoch, r.created_at, r.job_id, r.status, r.executor_id FROM job_runs r
    WHERE r.status = 'SUCCESS' AND ${BEFORE} ${order} LIMIT ${SUCCESSES_SCANNED_MAX + 1}
  ), page AS MATERIALIZED (
    SELECT r.run_id, r.epoch, r.created_at FROM (SELECT * FROM scanned r ${NEWEST_FIRST} OFFSET 0) r ${jobOf('r')}
    WHERE ${isRead} AND ${conditions({ ...OF_HISTORY, error: 'NULL::text' })} ${NEWEST_FIRST} LIMIT $1
  ), last AS MATERIALIZED (
    SELECT * FROM scanned r ORDER BY r.created_at, r.run_id, r.epoch LIMIT 1
  )
  SELECT ${ENDED_COLUMNS} FROM page CROSS JOIN LATERAL (
    SELECT r.* FROM job_runs r WHERE r.run_id = page.run_id AND r.epoch = page.epoch AND r.created_at = page.created_at LIMIT 1
  ) r ${jobOf('r')}
  UNION ALL SELECT (SELECT run_id FROM last), NULL, NULL, (SELECT count(*) FROM scanned)::int, (SELECT epoch FROM last),
    ${'NULL, '.repeat(ROW.length - 6)}(SELECT ${msOf('created_at')} FROM last)`,
});

/**
 * The successes of a window of time ($7 to $4), by the summary of instants. Its last row counts in place of the attempt how many there
 * are: more than SUCCESSES_SCANNED_MAX are not in order, and the window has to be narrower.
 */
export const SUCCEEDED_RUNS = succeeded(
  'succeeded_runs',
  '',
  `(SELECT count(*) FROM scanned) <= ${SUCCESSES_SCANNED_MAX}`,
);

/** The same in order, for one millisecond that holds more than that. */
export const SUCCEEDED_RUNS_IN_ORDER = succeeded('succeeded_runs_in_order', NEWEST_FIRST, 'true');

const LIVING: Of = {
  status: LIVING_STATUS,
  worker: 'l.worker_id',
  error: 'NULL::text',
};

/** Of $18, or of all jobs. Leases are few. */
export const LIVING_RUNS: Read<RunRow> = {
  name: 'living_runs',
  row: ROW,
  text: `WITH ${GIVEN}
  SELECT ${row(LIVING_COLUMNS, 'l.claimed_at::float8')} FROM ${LEASED_RUNS} ${jobOf('u')}
  WHERE ${OPEN} AND ($18::uuid IS NULL OR u.job_id = $18::uuid)
    AND (l.claimed_at, u.run_id, u.epoch) < ($4::bigint, $5::uuid, $6::int) AND ${conditions(LIVING)}
  ORDER BY l.claimed_at DESC, u.run_id DESC, u.epoch DESC LIMIT $1`,
};

const QUEUED: Of = { status: `'QUEUED'`, worker: 'NULL::text', error: 'NULL::text' };
/** What was never handed out and whose instant lies ahead is a plan, not a run. */
const IS_SHOWN = '(d.fire_at <= $2::bigint OR d.epoch > 1)';

/** Of $18. $7: those that are not to be shown before this instant. */
export const WAITING_RUNS_OF_JOB: Read<RunRow> = {
  name: 'waiting_runs_of_job',
  row: ROW,
  text: `WITH ${GIVEN}
  SELECT ${row(QUEUED_COLUMNS, 'd.fire_at::float8')} FROM due d ${WITH_WAITS_FOR} ${jobOf('d')}
  WHERE d.job_id = $18::uuid AND ${IS_SHOWN} AND (d.fire_at, d.run_id, d.epoch) < ($4::bigint, $5::uuid, $6::int)
    AND ${conditions(QUEUED)}
  ORDER BY d.fire_at DESC, d.run_id DESC, d.epoch DESC LIMIT $1`,
};

const ALL_WAITING = `SELECT d.* FROM due d WHERE (d.job_id, d.run_id) < ($18::uuid, $5::uuid) ORDER BY d.job_id DESC, d.run_id DESC`;

/** Of all jobs, by the key: the runs of the newest job first. The cursor is $18 and $5. */
export const WAITING_RUNS: Read<RunRow> = {
  name: 'waiting_runs',
  row: ROW,
  text: `WITH ${GIVEN}, page AS MATERIALIZED (
    SELECT ${row(QUEUED_COLUMNS, 'd.fire_at::float8')} FROM (${ALL_WAITING} LIMIT ${ROWS_SCANNED_MAX}) d ${WITH_WAITS_FOR} ${jobOf('d')}
    WHERE ${IS_SHOWN} AND least(d.fire_at, $2::bigint) < $4::bigint AND ${conditions(QUEUED)}
    ORDER BY d.job_id DESC, d.run_id DESC LIMIT $1
  )
  SELECT * FROM page
  UNION ALL SELECT ${stopped({ run: 'stop.run_id', job: 'stop.job_id', at: 'NULL' })}
    FROM (${ALL_WAITING} OFFSET ${ROWS_SCANNED_MAX - 1} LIMIT 1) stop WHERE (SELECT count(*) FROM page) < $1`,
};

/** For one transaction: sessions have them turned off, and nothing else can read a summary. */
export const READ_SUMMARIES = statement('read_summaries')`
  SELECT set_config('enable_bitmapscan', 'on', true), set_config('enable_indexscan', 'off', true)`;
