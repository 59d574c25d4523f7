/** Statements of the counts of runs: adding what ended, and reading buckets of time by their key. */
import type { JobId, RunId } from '@carillon/domain';
import { type Statement, statement } from '../../postgres/database.ts';
import { NO_MESSAGE } from '../bound-failures.ts';
import type { Bucket, CountedAttempt, FailureGroup } from '../stats-store.ts';
import { UNOFFERED_SEEN_MAX, WAITING_SEEN_MAX } from '../stats-store.ts';
import { triggerWord } from './codes.ts';
import { exists, IS_SPREAD, isRepeat, timestampOf } from './fragments.sql.ts';
import { inLane, lanes, NAMESPACE_KEY, servesTenant } from './lane.sql.ts';
import { column, columns, ms, read } from './selection.ts';

/** One row, and none before anything was counted. */
export const COUNT_CURSOR = statement('count_cursor')`
  SELECT xid::text, seq FROM count_cursors WHERE name = 'runs'`;

/**
 * $1 and $2 the cursor, $3 rows at most. Rows that tell of something else are passed over, and move the cursor on. runs: how many of the
 * row have to be found in the history.
 */
export const UNCOUNTED = statement('uncounted')`
  SELECT e.xid::text, e.seq, e.counted,
    CASE WHEN e.kind = 'run.ended' AND e.counted IS NULL THEN coalesce(cardinality(e.ids), 0) ELSE 0 END
  FROM events e WHERE e.xid < event_horizon() AND (e.xid, e.seq) > ($1::xid8, $2::bigint)
  ORDER BY e.xid, e.seq LIMIT $3`;

/**
 * $1 xids and $2 seqs of rows without a text to count by: everything that did not end in the hands of the server that had claimed it.
 * Each run is found by its key. Of a job that was deleted nothing is known, and nothing is counted.
 */
export const ENDED_RECORDS = statement('ended_records')`
  SELECT j.namespace, j.handler, r.job_id, r.run_id, (extract(epoch FROM r.modified_time) * 1000)::float8, r.status,
    u.next_at IS NOT NULL, r.trigger, r.attempt_number, r.epoch, (extract(epoch FROM r.scheduled_at) * 1000)::float8, j.spread,
    (extract(epoch FROM r.start_time) * 1000)::float8, (extract(epoch FROM r.end_time) * 1000)::float8, left(r.error_message, 1000),
    r.occurrences, ${isRepeat('r.trigger', 'r.run_id')}
  FROM unnest($1::xid8[], $2::bigint[]) AS p(xid, seq)
  CROSS JOIN LATERAL (SELECT * FROM events e WHERE e.xid = p.xid AND e.seq = p.seq LIMIT 1) e
  CROSS JOIN LATERAL unnest(e.ids, e.epochs, e.claimed_ats, e.next_ats) AS u(id, epoch, claimed_at, next_at)
  CROSS JOIN LATERAL (
    SELECT * FROM job_runs r WHERE r.run_id = u.id AND r.epoch = u.epoch
      AND r.created_at = ${timestampOf('coalesce(u.claimed_at, e.claimed_ats[1])')} LIMIT 1
  ) r
  CROSS JOIN LATERAL (
    SELECT j.namespace, j.handler, CASE WHEN ${IS_SPREAD} THEN j.schedule::text END AS spread FROM jobs j WHERE j.job_id = r.job_id LIMIT 1
  ) j`;

/** $1 jobs. Those that spread their starts. */
export const SPREAD_SCHEDULES = statement('spread_schedules')`
  SELECT j.job_id, j.schedule::text FROM jobs j
  WHERE j.job_id = ANY($1::uuid[]) AND ${IS_SPREAD}`;

export const NAMESPACES_COUNTED = statement('namespaces_counted')`
  SELECT name FROM namespaces`;

/** $1 and $2 the cursor before, $3 and $4 the next, $5 now. A row: it moved. Another server was first: none. */
export const MOVE_COUNT_CURSOR = statement('move_count_cursor')`
  INSERT INTO count_cursors AS c (name, xid, seq, counted_at) VALUES ('runs', $3::xid8, $4::bigint, ${timestampOf('$5')})
  ON CONFLICT (name) DO UPDATE SET xid = excluded.xid, seq = excluded.seq, counted_at = excluded.counted_at
    WHERE c.xid = $1::xid8 AND c.seq = $2::bigint
  RETURNING 1`;

const NUMBERS = ['started', 'succeeded', 'failed', 'timed_out', 'cancelled', 'skipped', 'retried', 'lost'];
const HISTOGRAMS = ['delays', 'durations'];

const TABLES: Record<Bucket, string> = { minute: 'run_minutes', hour: 'run_hours' };

/** $1 namespaces, $2 handlers, $3 instants, $4…$11 counts, $12 and $13 histograms, each an array literal. */
const addCounts = (bucket: Bucket): Statement => ({
  name: `add_${TABLES[bucket]}`,
  text: `
    INSERT INTO ${TABLES[bucket]} AS c (namespace, handler, at, ${NUMBERS.join(', ')}, ${HISTOGRAMS.join(', ')})
    SELECT namespace, handler, ${timestampOf('at')}, ${NUMBERS.join(', ')}, delays::int[], durations::int[]
    FROM unnest($1::text[], $2::text[], $3::bigint[], ${NUMBERS.map((_, i) => `$${i + 4}::bigint[]`).join(', ')}, $12::text[], $13::text[])
      AS n(namespace, handler, at, ${NUMBERS.join(', ')}, delays, durations)
    ON CONFLICT (namespace, handler, at) DO UPDATE SET
      ${NUMBERS.map((name) => `${name} = c.${name} + excluded.${name}`).join(', ')},
      ${HISTOGRAMS.map(
        (name) => `${name} = ARRAY(SELECT coalesce(x.a, 0) + coalesce(x.b, 0)
        FROM unnest(c.${name}, excluded.${name}) WITH ORDINALITY AS x(a, b, ord) ORDER BY x.ord)`,
      ).join(', ')}`,
});
export const ADD_COUNTS: Record<Bucket, Statement> = { minute: addCounts('minute'), hour: addCounts('hour') };

/**
 * $1 namespaces, $2 handler, $3 from, $4 to. A namespace that was made again does not have the counts of the one before it; nor has
 * one that is gone any.
 */
const readCounts = (bucket: Bucket): Statement => ({
  name: `read_${TABLES[bucket]}`,
  text: `
    SELECT (extract(epoch FROM c.at) * 1000)::float8, ${NUMBERS.map((name) => `c.${name}`).join(', ')}, c.delays::text, c.durations::text
    FROM unnest($1::text[]) AS n(name)
    CROSS JOIN LATERAL (
      SELECT coalesce((SELECT date_trunc('${bucket}', m.created_at) FROM namespaces m WHERE m.name = n.name),
        CASE WHEN n.name = '*' THEN '-infinity'::timestamptz END) AS began
    ) b
    CROSS JOIN LATERAL (
      SELECT * FROM ${TABLES[bucket]} c WHERE c.namespace = n.name AND c.handler = $2::text
        AND c.at >= ${timestampOf('$3')} AND c.at < ${timestampOf('$4')} AND c.at >= b.began
      ORDER BY c.at LIMIT 10000
    ) c`,
});
export const READ_COUNTS: Record<Bucket, Statement> = {
  minute: readCounts('minute'),
  hour: readCounts('hour'),
};

/** $1 namespaces, $2 hours, in parallel: the groups that they have, as far as they are needed to add to them. */
export const KNOWN_FAILURES = statement('known_failures')`
  SELECT q.namespace, q.at, f.fingerprint, f.job_ids::text
  FROM unnest($1::text[], $2::bigint[]) AS q(namespace, at)
  CROSS JOIN LATERAL (
    SELECT * FROM failure_hours f WHERE f.namespace = q.namespace AND f.at = ${timestampOf('q.at')} ORDER BY f.fingerprint LIMIT 1000
  ) f`;

/** $1 namespaces, $2 hours, $3 fingerprints, $4 handlers, $5 messages, $6 counts, $7 first, $8 last, $9 runs, $10 their jobs, $11 all jobs. */
export const ADD_FAILURES = statement('add_failures')`
  INSERT INTO failure_hours AS f (namespace, at, fingerprint, handler, message, count, first_at, last_at, run_id, job_id, job_ids)
  SELECT namespace, ${timestampOf('at')}, fingerprint, handler,
    -- Of a job that was removed before its failures were counted, nothing is quoted.
    CASE WHEN EXISTS (SELECT FROM jobs j WHERE j.job_id = n.job_id) THEN message ELSE '${NO_MESSAGE}' END,
    count, ${timestampOf('first_at')}, ${timestampOf('last_at')},
    run_id, job_id, job_ids::uuid[]
  FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], $9::uuid[],
      $10::uuid[], $11::text[])
    AS n(namespace, at, fingerprint, handler, message, count, first_at, last_at, run_id, job_id, job_ids)
  ON CONFLICT (namespace, at, fingerprint) DO UPDATE SET count = f.count + excluded.count,
    first_at = least(f.first_at, excluded.first_at), last_at = greatest(f.last_at, excluded.last_at), run_id = excluded.run_id,
    job_id = excluded.job_id, message = excluded.message, job_ids = excluded.job_ids`;

/** $1 job. The rows count as before. */
export const FORGET_FAILURES = statement('forget_failures')`
  UPDATE failure_hours SET message = '${NO_MESSAGE}' WHERE job_id = $1::uuid`;

/** Made by whoever needs it first; nothing is answered to whoever came at the same moment. 244 random bits. */
export const FINGERPRINT_KEY = statement('fingerprint_key')`
  WITH made AS (
    INSERT INTO fingerprint_key (key) SELECT gen_random_uuid()::text || gen_random_uuid()::text
    WHERE NOT EXISTS (SELECT FROM fingerprint_key) ON CONFLICT DO NOTHING RETURNING key)
  SELECT key FROM fingerprint_key UNION ALL SELECT key FROM made LIMIT 1`;

export interface FailureHour extends Omit<FailureGroup, 'jobs' | 'handler' | 'sampleJobName'> {
  readonly handler: string;
  readonly jobIds: readonly string[];
}

const FAILURE = columns<FailureHour>({
  fingerprint: 'f.fingerprint',
  handler: 'f.handler',
  namespace: 'f.namespace',
  message: 'f.message',
  count: 'f.count',
  jobIds: column('f.job_ids::text', (ids: string) => ids.slice(1, -1).split(',')),
  firstAtMs: ms('f.first_at'),
  lastAtMs: ms('f.last_at'),
  sampleRunId: column('f.run_id', (id: RunId) => id),
  sampleJobId: column('f.job_id', (id: JobId) => id),
});

/** $1 from, $2 to, $3 rows at most: the newest hours of all namespaces. */
export const READ_ALL_FAILURES = read('read_all_failures', FAILURE)`
  SELECT ${FAILURE.sql} FROM failure_hours f
  WHERE f.at > ${timestampOf('$1')} - interval '1 hour' AND f.at < ${timestampOf('$2')}
  ORDER BY f.at DESC LIMIT $3`;

/** $1 namespaces, $2 from, $3 to, $4 rows of each at most. */
export const READ_FAILURES = read('read_failures', FAILURE)`
  SELECT ${FAILURE.sql} FROM unnest($1::text[]) AS n(name)
  JOIN namespaces m ON m.name = n.name
  CROSS JOIN LATERAL (
    SELECT * FROM failure_hours f WHERE f.namespace = n.name AND f.at > ${timestampOf('$2')} - interval '1 hour'
      AND f.at < ${timestampOf('$3')} AND f.at >= date_trunc('hour', m.created_at) AND f.first_at >= m.created_at
    ORDER BY f.at DESC LIMIT $4
  ) f`;

export const JOB_NAMES = statement('job_names')`
  SELECT job_id, name FROM jobs WHERE job_id = ANY($1::uuid[])`;

const ATTEMPT = columns<CountedAttempt>({
  runId: 'r.run_id',
  status: 'r.status',
  attempt: 'r.attempt_number',
  epoch: 'r.epoch',
  trigger: column('r.trigger', triggerWord),
  isRepeat: isRepeat('r.trigger', 'r.run_id'),
  scheduledAtMs: ms('r.scheduled_at'),
  startedAtMs: ms('r.start_time'),
  endedAtMs: ms('r.end_time'),
  recordedAtMs: ms('r.modified_time'),
  error: 'left(r.error_message, 1000)',
  occurrences: 'r.occurrences',
  isRetried: `r.status IN ('FAILED', 'TIMED_OUT') AND NOT ${exists(`SELECT FROM dead_letters d
    WHERE d.run_id = r.run_id AND d.attempts <= r.attempt_number`)}`,
});

/** $1 job, $2 from, $3 to, $4 limit. By when they were claimed: what took long is found where it began. */
export const ATTEMPTS_OF_JOB = read('attempts_of_job', ATTEMPT)`
  SELECT ${ATTEMPT.sql} FROM (
    SELECT * FROM job_runs r WHERE r.job_id = $1::uuid AND r.created_at >= ${timestampOf('$2')} AND r.created_at < ${timestampOf('$3')}
    ORDER BY r.created_at DESC LIMIT $4
  ) r WHERE r.status <> 'RUNNING'`;

const LANES_SEEN_MAX = 1_000;
const WAITING = `SELECT min(w.lane_at), count(*)::int FROM (
    SELECT d.lane_at FROM seen lane CROSS JOIN LATERAL (
      SELECT due.lane_at FROM due WHERE ${inLane('lane')} AND due.lane_at <= $1::bigint
      ORDER BY due.lane_at, due.run_id LIMIT ${WAITING_SEEN_MAX}
    ) d LIMIT ${WAITING_SEEN_MAX}
  ) w`;

/** $1 now, $2 numbers of namespaces, or NULL: all. The first run of a lane has waited for longest in it; of very many lanes only some are looked at. */
export const WAITING_NOW = statement('waiting_now')`
  WITH RECURSIVE ${lanes({ first: ['due.lane_at'], also: ['due.handler'] })}, seen AS MATERIALIZED (
    SELECT * FROM (SELECT * FROM lane LIMIT ${LANES_SEEN_MAX}) lane
    WHERE lane.lane_at <= $1::bigint AND ($2::int[] IS NULL OR ${NAMESPACE_KEY('lane.tenant')}::int = ANY($2::int[]))
    ORDER BY lane.lane_at
  )
  SELECT w.count, (SELECT min(lane_at) FROM seen), ARRAY(
      SELECT DISTINCT seen.handler FROM seen
      WHERE NOT EXISTS (SELECT FROM workers w WHERE NOT w.dead AND seen.handler = ANY(w.handlers) AND ${servesTenant('seen.tenant')})
      ORDER BY seen.handler LIMIT ${UNOFFERED_SEEN_MAX}
    )
  FROM (${WAITING}) AS w(first, count)`;

/** $1 before. */
const drop = (table: string): Statement => ({
  name: `drop_${table}`,
  text: `WITH gone AS (
      DELETE FROM ${table} WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM ${table} WHERE at < ${timestampOf('$1')} ORDER BY at LIMIT 5000)) RETURNING 1
    )
    SELECT count(*)::int FROM gone`,
});
export const DROP_MINUTES: Statement = drop('run_minutes');
export const DROP_HOURS: Statement = drop('run_hours');
export const DROP_FAILURES: Statement = drop('failure_hours');
