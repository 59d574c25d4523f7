/** Statements of the run store: what people read. Every one goes through an index of the table it touches. */
import {
  type JobId,
  type PendingRun,
  type PendingState,
  type RunProgress,
  type RunRepeat,
  type Schedule,
  WAITING_RUNS_MAX,
  type WaitCode,
  type WaitsFor,
} from '@carillon/domain';
import { statement } from '../../postgres/database.ts';
import type { RunRequest } from '../due.ts';
import { ROWS_SCANNED_MAX } from '../job-store.ts';
import {
  type DeadLetter,
  type DeadLetterCursor,
  type DeadLetterFilter,
  type JobActivity,
  type LatestAttempt,
  type RunView,
  WAITING_LISTED_MAX,
} from '../run-store.ts';
import { priorityWord, triggerWord } from './codes.ts';
import { exists, IS_SPREAD, isRepeat, msOf, pendingRun, timestampOf } from './fragments.sql.ts';
import { servesTenant, WAITING } from './lane.sql.ts';
import { column, columns, ms, optional, type Read, read } from './selection.ts';
import { seenBy } from './upcoming.sql.ts';

export const RESULT = 'coalesce(r.result_text, r.result::text)';

/** Only what a person asked for has a reason. */
function reasonOf(kind: string, runId: string): string {
  return `CASE WHEN ${kind} >= 3 THEN (SELECT q.reason FROM run_requests q WHERE q.run_id = ${runId}) END`;
}

/** Only the first attempt of an occurrence that began is measured by it. */
function spreadOf({ kind, attempt, jobId }: { kind: string; attempt: string; jobId: string }): string {
  return `CASE WHEN ${kind} = 2 AND ${attempt} = 1 AND r.start_time IS NOT NULL
    THEN (SELECT j.schedule::text FROM jobs j WHERE j.job_id = ${jobId} AND ${IS_SPREAD}) END`;
}

/** Undefined where the run said nothing. */
export const PROGRESS = optional(
  columns<RunProgress>({ percent: 'r.progress', message: 'r.progress_message' }),
);

const NOTHING = 'NULL::text';

/** A run of the history. */
export const RUN = columns<RunView>({
  runId: 'r.run_id',
  jobId: 'r.job_id',
  status: 'r.status',
  attempt: 'r.attempt_number',
  epoch: 'r.epoch',
  trigger: column('r.trigger', triggerWord),
  isRepeat: isRepeat('r.trigger', 'r.run_id'),
  scheduledAtMs: ms('r.scheduled_at'),
  createdAtMs: ms('r.created_at'),
  startedAtMs: ms('r.start_time'),
  endedAtMs: ms('r.end_time'),
  modifiedAtMs: ms('r.modified_time'),
  executorId: 'r.executor_id',
  error: 'r.error_message',
  reason: 'r.reason',
  result: RESULT,
  logUrl: 'r.log_url',
  jobVersion: 'r.job_version',
  occurrences: 'r.occurrences',
  lateReport: 'r.late_report',
  requestReason: reasonOf('r.trigger', 'r.run_id'),
  progress: PROGRESS,
  peakMemoryBytes: 'r.peak_memory_bytes::float8',
  cpuSeconds: 'r.cpu_seconds',
  spread: column(
    spreadOf({ kind: 'r.trigger', attempt: 'r.attempt_number', jobId: 'r.job_id' }),
    (text: string) => JSON.parse(text) as Schedule,
  ),
  waitsFor: optional(columns<WaitsFor>({ code: NOTHING, untilMs: 'NULL::float8', handler: NOTHING })),
});

const code = (word: WaitCode) => `'${word}'`;

/** What the run d waits for, by the names of WaitsFor. $2 now. */
const WAITS_FOR = `SELECT x.code, CASE x.code WHEN ${code('not_due')} THEN d.fire_at::float8 END AS until_at,
      CASE x.code WHEN ${code('no_worker')} THEN d.handler END AS handler
    FROM (SELECT CASE WHEN d.held THEN ${code('paused')} WHEN d.fire_at > $2::bigint THEN ${code('not_due')}
      WHEN d.blocked = ${WAITING} THEN ${code('at_limit')}
      WHEN NOT EXISTS (SELECT FROM workers w WHERE NOT w.dead AND d.handler = ANY(w.handlers) AND ${servesTenant('d.tenant')})
        THEN ${code('no_worker')}
      ELSE ${code('claimable')} END AS code) x`;
/** Beside the run d. */
export const WITH_WAITS_FOR = `CROSS JOIN LATERAL (${WAITS_FOR}) waits`;
const WAITS_FOR_COLUMNS = 'waits.code, waits.until_at, waits.handler';

/** Whether the waiting run d is shown: once its instant has come, or when it is a retry. */
const IS_SHOWN = '(d.fire_at <= $2::bigint OR d.epoch > 1)';

/** The columns of RUN for a waiting run d WITH_WAITS_FOR. $2 now: nothing about it has happened later. */
export const QUEUED_COLUMNS = `d.run_id, d.job_id, 'QUEUED', d.attempt::int, d.epoch, d.kind,
  ${isRepeat('d.kind', 'd.run_id')}, d.nominal_at::float8,
  least(d.fire_at, $2::bigint)::float8, NULL::float8, NULL::float8, least(d.fire_at, $2::bigint)::float8, NULL::text, NULL::text,
  NULL::text, NULL::text, NULL::text, d.job_version, 1, NULL::text, ${reasonOf('d.kind', 'd.run_id')},
  NULL::float8, NULL::text, NULL::float8, NULL::float8, NULL::text, ${WAITS_FOR_COLUMNS}`;

export const LIVING_STATUS = `CASE WHEN (u.ord - 1)::smallint = ANY(l.cancelled) THEN 'CANCELLING'
    WHEN r.status IS NULL THEN 'CLAIMED' ELSE 'RUNNING' END`;

/** The columns of RUN for a run under a lease, with when it started once that was shown. */
export const LIVING_COLUMNS = `u.run_id, u.job_id, ${LIVING_STATUS}, u.attempt::int, u.epoch, u.kind,
  ${isRepeat('u.kind', 'u.run_id')}, u.nominal_at::float8, l.claimed_at::float8, ${msOf('r.start_time')}, NULL::float8,
  coalesce(${msOf('r.modified_time')}, l.claimed_at::float8), l.worker_id, NULL::text, NULL::text, NULL::text,
  NULL::text, u.job_version, 1, NULL::text, ${reasonOf('u.kind', 'u.run_id')},
  ${PROGRESS.sql}, NULL::float8, NULL::float8,
  ${spreadOf({ kind: 'u.kind', attempt: 'u.attempt', jobId: 'u.job_id' })}, NULL::text, NULL::float8, NULL::text`;

export const LEASED_RUNS = `leases l CROSS JOIN LATERAL unnest(l.run_ids, l.job_ids, l.attempts, l.epochs, l.kinds, l.nominal_ats,
    l.job_versions) WITH ORDINALITY AS u(run_id, job_id, attempt, epoch, kind, nominal_at, job_version, ord)
  LEFT JOIN LATERAL (
    SELECT r.status, r.start_time, r.modified_time, r.progress, r.progress_message FROM job_runs r
    WHERE (u.ord - 1)::smallint = ANY(l.shown) AND r.run_id = u.run_id AND r.epoch = u.epoch
      AND r.created_at = ${timestampOf('l.claimed_at')} LIMIT 1
  ) r ON true`;
const LATEST_FIRST = 'ORDER BY l.claimed_at DESC, u.run_id DESC';

export const OPEN = `NOT ((u.ord - 1)::smallint = ANY(l.closed))`;

/** By the number in `blocked`. */
const PENDING_STATES: readonly PendingState[] = ['open', 'planned', 'waiting'];

const PENDING = columns<PendingRun>({
  jobId: 'd.job_id',
  runId: 'd.run_id',
  shard: 'd.shard',
  priority: column('d.priority', priorityWord),
  fireAtMs: 'd.fire_at',
  nominalAtMs: 'd.nominal_at',
  trigger: column('d.kind', triggerWord),
  attempt: 'd.attempt',
  handler: 'd.handler',
  expiresAtMs: 'd.expires_at',
  state: column('d.blocked', (blocked: number) => PENDING_STATES[blocked]!),
  held: 'd.held',
});

/** $1 job, $2 limit. */
export const PENDING_OF_JOB = read('pending_of_job', PENDING)`
  SELECT ${PENDING.sql}
  FROM due d WHERE d.job_id = $1::uuid ORDER BY d.fire_at, d.nominal_at, d.run_id LIMIT $2`;

/** $1 job, $2 now, $3 limit. One statement: a run that is claimed at this moment is seen on one side or on the other. */
export const ALIVE_OF_JOB = read('alive_of_job', RUN)`
  (SELECT ${LIVING_COLUMNS} FROM ${LEASED_RUNS}
    WHERE l.job_ids @> ARRAY[$1::uuid] AND u.job_id = $1::uuid AND ${OPEN} ${LATEST_FIRST})
  UNION ALL (SELECT ${QUEUED_COLUMNS} FROM due d ${WITH_WAITS_FOR}
    WHERE d.job_id = $1::uuid AND ${IS_SHOWN}
    ORDER BY d.fire_at DESC, d.run_id DESC LIMIT $3)`;

const ACTIVITY = columns<JobActivity>({
  isRunning:
    exists(`SELECT FROM leases l CROSS JOIN LATERAL unnest(l.job_ids) WITH ORDINALITY AS u(job_id, ord)
    WHERE l.job_ids @> ARRAY[$1::uuid] AND u.job_id = $1::uuid AND ${OPEN}`),
  isWaiting: exists('SELECT FROM due d WHERE d.job_id = $1::uuid'),
  waitingRuns: `(SELECT count(*)::int FROM (
    SELECT FROM due d WHERE d.job_id = $1::uuid AND ${IS_SHOWN} LIMIT ${WAITING_RUNS_MAX}) w)`,
  waitsFor: optional(
    columns<WaitsFor>({ code: 'waits.code', untilMs: 'waits.until_at', handler: 'waits.handler' }),
  ),
});

/** $1 job, $2 now. */
export const ACTIVITY_OF_JOB = read('activity_of_job', ACTIVITY)`
  SELECT ${ACTIVITY.sql} FROM (SELECT) one LEFT JOIN LATERAL (
    SELECT ${WAITS_FOR_COLUMNS} FROM (
      SELECT * FROM due d WHERE d.job_id = $1::uuid AND ${IS_SHOWN} ORDER BY d.fire_at, d.run_id LIMIT 1
    ) d ${WITH_WAITS_FOR}
  ) waits ON true`;

interface WaitingOfJob extends Pick<JobActivity, 'waitingRuns' | 'waitsFor'> {
  readonly jobId: JobId;
}
const WAITING_OF_JOB = columns<WaitingOfJob>({
  jobId: 'q.job_id',
  waitingRuns: 'w.runs',
  waitsFor: optional(
    columns<WaitsFor>({ code: 'waits.code', untilMs: 'waits.until_at', handler: 'waits.handler' }),
  ),
});

/** $1 jobs, $2 now. */
export const WAITING_OF_JOBS = read('waiting_of_jobs', WAITING_OF_JOB)`
  SELECT ${WAITING_OF_JOB.sql} FROM unnest($1::uuid[]) AS q(job_id) CROSS JOIN LATERAL (
    SELECT count(*)::int
    FROM (SELECT FROM due d WHERE d.job_id = q.job_id AND ${IS_SHOWN} ORDER BY d.run_id LIMIT ${WAITING_LISTED_MAX}) d
  ) AS w(runs) LEFT JOIN LATERAL (
    SELECT ${WAITS_FOR_COLUMNS} FROM (
      SELECT * FROM (
        SELECT * FROM due d WHERE d.job_id = q.job_id AND ${IS_SHOWN} ORDER BY d.run_id LIMIT ${WAITING_LISTED_MAX}
      ) d ORDER BY d.fire_at, d.run_id LIMIT 1
    ) d ${WITH_WAITS_FOR}
  ) waits ON true WHERE w.runs > 0`;

/** $1 jobs. Living attempts, and of each job the one that ended last; without results, which may be large. */
export const LAST_OF_JOBS = read('last_of_jobs', RUN)`
  (SELECT ${LIVING_COLUMNS} FROM ${LEASED_RUNS}
    WHERE l.job_ids && $1::uuid[] AND u.job_id = ANY($1::uuid[]) AND ${OPEN} ${LATEST_FIRST})
  UNION ALL SELECT h.* FROM unnest($1::uuid[]) AS q(job_id) CROSS JOIN LATERAL (
    SELECT ${RUN.sql.replace(RESULT, 'NULL::text')} FROM job_runs r WHERE r.job_id = q.job_id AND r.status <> 'RUNNING'
    ORDER BY r.created_at DESC, r.run_id DESC, r.epoch DESC LIMIT 1) h`;

/** What has ended: what is shown as RUNNING is alive, and stands before. */
export const HISTORY_OF_JOB = read('history_of_job', RUN)`
  SELECT ${RUN.sql.replace(RESULT, `CASE WHEN $6::int > 0 THEN left(${RESULT}, $6::int) END`)} FROM job_runs r
  WHERE r.job_id = $1::uuid AND r.status <> 'RUNNING' AND r.created_at <= ${timestampOf('$2::bigint')}
    AND (r.created_at, r.run_id) < (${timestampOf('$2::bigint')}, $5::uuid)
  ORDER BY r.created_at DESC, r.run_id DESC, r.epoch DESC LIMIT $3 OFFSET $4`;

/** $1 run, $2 now: the latest first. One statement, so that a run on its way from one table to the next is not missed. */
export const ATTEMPTS_OF_RUN = read('attempts_of_run', RUN)`
  SELECT ${LIVING_COLUMNS} FROM ${LEASED_RUNS}
    WHERE l.run_ids @> ARRAY[$1::uuid] AND u.run_id = $1::uuid AND ${OPEN}
  UNION ALL SELECT ${QUEUED_COLUMNS} FROM ${pendingRun('$1::uuid')} d ${WITH_WAITS_FOR}
    WHERE ${IS_SHOWN}
  UNION ALL SELECT ${RUN.sql} FROM job_runs r WHERE r.run_id = $1::uuid AND r.status <> 'RUNNING'
  ORDER BY 5 DESC`;

const LATEST_ATTEMPT = columns<LatestAttempt>({
  runId: 'x.run_id',
  jobId: 'x.job_id',
  status: 'x.status',
  epoch: 'x.epoch',
  trigger: column('x.kind', triggerWord),
  scheduledAtMs: column('x.nominal_at', Math.round),
  job: optional(
    columns<NonNullable<LatestAttempt['job']>>({ namespace: 'j.namespace', userId: 'j.user_id' }),
  ),
});

/** $1 runs, $2 now. Joined, not compared with the array: with many runs each element would be compared with each. */
export const LATEST_OF_RUNS = read('latest_of_runs', LATEST_ATTEMPT)`
  WITH asked AS MATERIALIZED (SELECT DISTINCT t.run_id FROM unnest($1::uuid[]) AS t(run_id)),
  found AS (
    SELECT u.run_id, u.job_id, CASE WHEN (u.ord - 1)::smallint = ANY(l.cancelled) THEN 'CANCELLING'
        WHEN (u.ord - 1)::smallint = ANY(l.shown) THEN 'RUNNING' ELSE 'CLAIMED' END AS status,
      u.epoch, u.kind, u.nominal_at::float8 AS nominal_at
    FROM leases l CROSS JOIN LATERAL unnest(l.run_ids, l.job_ids, l.epochs, l.kinds, l.nominal_ats) WITH ORDINALITY
      AS u(run_id, job_id, epoch, kind, nominal_at, ord)
    JOIN asked ON asked.run_id = u.run_id WHERE ${OPEN}
    UNION ALL SELECT d.run_id, d.job_id, 'QUEUED', d.epoch, d.kind, d.nominal_at::float8
    FROM asked CROSS JOIN LATERAL ${pendingRun('asked.run_id')} d WHERE ${IS_SHOWN}
    UNION ALL SELECT h.* FROM asked CROSS JOIN LATERAL (
      SELECT r.run_id, r.job_id, r.status, r.epoch, r.trigger, ${msOf('r.scheduled_at')} FROM job_runs r
      WHERE r.run_id = asked.run_id AND r.status <> 'RUNNING' ORDER BY r.epoch DESC LIMIT 1) h
  ), x AS (SELECT DISTINCT ON (run_id) * FROM found ORDER BY run_id, epoch DESC)
  SELECT ${LATEST_ATTEMPT.sql} FROM x LEFT JOIN jobs j ON j.job_id = x.job_id`;

export const LIVING_ON_WORKER = read('living_on_worker', RUN)`
  SELECT ${LIVING_COLUMNS} FROM ${LEASED_RUNS} WHERE l.worker_id = $1 AND ${OPEN} ${LATEST_FIRST} LIMIT $2 OFFSET $3`;

const LETTER = columns<DeadLetter>({
  runId: 'x.run_id',
  jobId: 'x.job_id',
  jobName: 'j.name',
  namespace: 'j.namespace',
  userId: 'j.user_id',
  reason: 'x.reason',
  error: 'x.error_message',
  attempts: 'x.attempts',
  scheduledAtMs: ms('x.scheduled_at'),
  diedAtMs: ms('x.died_at'),
  redrivenAs: 'x.redriven_as',
  resolvedBy: 'x.resolved_by',
});

/** The row after the page: where the search stopped. */
interface Stop extends DeadLetterCursor {
  readonly jobId: undefined;
}

/** What each filter means; that of the job chooses the statement. */
export const LETTER_FILTERS: {
  readonly [Name in Exclude<keyof DeadLetterFilter, 'jobId'>]-?: readonly [
    type: string,
    sql: (at: string) => string,
  ];
} = {
  reason: ['text', (at) => `x.reason = ${at}`],
  handler: ['text', (at) => `j.handler = ${at}`],
  namespace: ['text', (at) => `j.namespace = ${at}`],
  userId: ['text', (at) => `j.user_id = ${at}`],
  handled: ['boolean', (at) => `(x.redriven_as IS NOT NULL OR x.resolved_by IS NOT NULL) = ${at}`],
  error: ['text', (at) => `strpos(lower(x.error_message), lower(${at})) > 0`],
  diedFromMs: ['float8', (at) => `x.died_at >= ${timestampOf(at)}`],
  diedToMs: ['float8', (at) => `x.died_at < ${timestampOf(at)}`],
};
const LETTER_CONDITIONS = Object.values(LETTER_FILTERS).map(
  ([type, sql], i) => `($${i + 6}::${type} IS NULL OR ${sql(`$${i + 6}`)})`,
);

/**
 * $1 and $2 the cursor, $3 limit, $4 and $5 the owners that are visible, then the filters; NULL: any. The last row says where the
 * search stopped.
 */
const letters = (of: string) => `WITH page AS MATERIALIZED (
    SELECT ${LETTER.sql} FROM (${of} LIMIT ${ROWS_SCANNED_MAX}) x JOIN jobs j USING (job_id)
    WHERE ${LETTER_CONDITIONS.join(' AND ')} AND ${seenBy('$4', '$5')}
    ORDER BY x.died_at DESC, x.run_id DESC LIMIT $3
  )
  SELECT * FROM page
  UNION ALL SELECT stop.run_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, ${msOf('stop.died_at')}, NULL, NULL
    FROM (${of} OFFSET ${ROWS_SCANNED_MAX - 1} LIMIT 1) stop WHERE (SELECT count(*) FROM page) < $3::bigint`;

const BEFORE = `x.died_at <= ${timestampOf('$1')} AND (x.died_at, x.run_id) < (${timestampOf('$1')}, $2::uuid)`;

export const DEAD_LETTERS: Read<DeadLetter | Stop> = {
  name: 'dead_letters',
  row: LETTER,
  text: letters(`SELECT x.* FROM dead_letters x WHERE ${BEFORE} ORDER BY x.died_at DESC, x.run_id DESC`),
};

/** The last parameter is the job. */
export const DEAD_LETTERS_OF_JOB: Read<DeadLetter | Stop> = {
  name: 'dead_letters_of_job',
  row: LETTER,
  text: letters(
    `SELECT x.* FROM dead_letters x WHERE x.job_id = $${LETTER_CONDITIONS.length + 6}::uuid AND ${BEFORE} ORDER BY x.died_at DESC, x.run_id DESC`,
  ),
};

export const DEAD_LETTER = read('dead_letter', LETTER)`
  SELECT ${LETTER.sql} FROM dead_letters x LEFT JOIN jobs j USING (job_id) WHERE x.run_id = $1::uuid`;

export const MARK_REDRIVEN = statement('mark_redriven')`
  UPDATE dead_letters SET redriven_as = $2::uuid WHERE run_id = $1::uuid AND redriven_as IS NULL
  RETURNING job_id, ${msOf('scheduled_at')}`;

/** $1 run: one request at a time may ask whether it is there. */
export const LOCK_RUN = statement('lock_run')`SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`;

/** $1 run: it waits, is alive or has ended. Selects the hash of the request for it. */
export const RUN_IS_KNOWN = statement('run_is_known')`
  SELECT (SELECT q.request_hash FROM run_requests q WHERE q.run_id = $1::uuid)
  WHERE EXISTS (SELECT FROM ${pendingRun('$1::uuid')} d)
  OR EXISTS (SELECT FROM leases l WHERE l.run_ids @> ARRAY[$1::uuid])
  OR EXISTS (SELECT FROM job_runs r WHERE r.run_id = $1::uuid)`;

const REQUEST = columns<RunRequest>({
  reason: 'q.reason',
  input: 'q.input',
  payload: 'q.payload',
  requestHash: 'q.request_hash',
  originRunId: 'q.origin_run_id',
  requestedBy: 'q.requested_by',
});

export const REQUEST_OF_RUN = read('request_of_run', REQUEST)`
  SELECT ${REQUEST.sql} FROM run_requests q WHERE q.run_id = $1::uuid`;

const REPEAT = columns<RunRepeat>({
  runId: 'q.run_id',
  requestedBy: 'q.requested_by',
  requestedAtMs: ms('q.requested_at'),
});

/** $1 run, $2 limit. */
export const REPEATS_OF_RUN = read('repeats_of_run', REPEAT)`
  SELECT ${REPEAT.sql} FROM run_requests q WHERE q.origin_run_id = $1::uuid
  ORDER BY q.requested_at DESC, q.run_id LIMIT $2`;
