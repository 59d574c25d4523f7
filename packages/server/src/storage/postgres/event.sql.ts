/** Statements of the event store, and the one that records a single event. */
import {
  type EventJob,
  type EventKind,
  type EventRun,
  type JobId,
  type Labels,
  NO_LABELS,
} from '@carillon/domain';
import { type Statement, statement } from '../../postgres/database.ts';
import { triggerWord } from './codes.ts';
import { msOf, timestampOf } from './fragments.sql.ts';
import { PROGRESS } from './run.sql.ts';
import { column, columns, ms, optional, read } from './selection.ts';

/** Nothing at or after this transaction may be read yet: it, or one before it in this order, is still under way. */
const UNSETTLED = 'event_horizon()';

/** $1 kind, $2 job or NULL, $3 JSON or NULL. */
export const RECORD_EVENT = statement('record_event')`
  INSERT INTO events (kind, ids, data) VALUES ($1, CASE WHEN $2::uuid IS NOT NULL THEN ARRAY[$2::uuid] END, $3::jsonb)`;

export const EVENTS_END: Statement = { name: 'events_end', text: `SELECT ${UNSETTLED}::text` };

/** $1 names. */
export const NAMESPACES_BEGAN = statement('namespaces_began')`
  SELECT name, events_after FROM namespaces WHERE name = ANY($1::text[])`;

/** Ordered by the column: the same name stands for its text in the answer, of which 1000 comes before 999. */
export const OLDEST_EVENT = statement('oldest_event')`
  SELECT e.xid::text, e.seq FROM events e ORDER BY e.xid, e.seq LIMIT 1`;

/** One element of a row of `events`, with its details. */
export interface EventRow {
  readonly xid: number;
  readonly seq: number;
  readonly element: number;
  /** run.ended is how the end of a batch is recorded; which end it was, the history knows of each. */
  readonly kind: EventKind | 'run.ended';
  readonly atMs: number;
  /** JSON text. */
  readonly data: string | undefined;
  readonly run: EventRun | undefined;
  readonly jobId: JobId | undefined;
  readonly job: EventJob | undefined;
  /** JSON text: what is kept of a deleted job. */
  readonly gone: string | undefined;
}

const JOB_ID = `CASE WHEN p.kind LIKE 'job.%' THEN u.id ELSE r.job_id END`;
const EVENT = columns<EventRow>({
  xid: column('p.xid::text', Number),
  seq: 'p.seq',
  element: '(coalesce(u.ord, 1) - 1)::int',
  kind: 'p.kind',
  atMs: ms('p.at'),
  data: 'p.data::text',
  run: optional(
    columns<EventRun>({
      runId: 'r.run_id',
      jobId: 'r.job_id',
      retryAtMs: 'u.next_at',
      deadReason: 'u.dead_reason',
      status: 'r.status',
      attempt: 'r.attempt_number',
      epoch: 'r.epoch',
      trigger: column('r.trigger', triggerWord),
      scheduledAtMs: ms('r.scheduled_at'),
      startedAtMs: ms('r.start_time'),
      endedAtMs: ms('r.end_time'),
      executorId: 'r.executor_id',
      error: 'r.error_message',
      reason: 'r.reason',
      occurrences: 'r.occurrences',
      progress: PROGRESS,
    }),
  ),
  jobId: JOB_ID,
  job: optional(
    columns<EventJob>({
      jobId: 'j.job_id',
      name: 'j.name',
      namespace: 'j.namespace',
      userId: 'j.user_id',
      handler: 'j.handler',
      scheduleType: 'j.schedule_type',
      labels: column('j.labels::text', (labels: string) => JSON.parse(labels) as Labels, NO_LABELS),
    }),
  ),
  gone: 'gone.data::text',
});

/** $1 and $2 the position, $3 where counting ends. Batches are few where events are many. */
export const COUNT_EVENTS_AFTER = statement('count_events_after')`
  SELECT least($3::bigint, coalesce(sum(coalesce(cardinality(e.ids), 1)), 0))::int FROM (
    SELECT ids FROM events WHERE xid < ${UNSETTLED} AND (xid, seq) > ($1::xid8, $2::bigint)
    ORDER BY xid, seq LIMIT $3::bigint
  ) e`;

/** $1 and $2 the position: when the first event after it was recorded, also one that is held back. */
export const RECORDED_AFTER = statement('event_recorded_after')`
  SELECT ${msOf('at')} FROM events WHERE (xid, seq) > ($1::xid8, $2::bigint) ORDER BY xid, seq LIMIT 1`;

/**
 * $1 and $2 the position after which to read, $3 events, $4 rows at most: rows until that many events are reached. Each detail is
 * found by its key (LIMIT 1 keeps the planner from joining entire tables).
 */
export const READ_EVENTS = read('read_events', EVENT)`
  WITH picked AS MATERIALIZED (
    SELECT * FROM (
      SELECT e.*, sum(coalesce(cardinality(e.ids), 1)) OVER (ORDER BY e.xid, e.seq ROWS UNBOUNDED PRECEDING)
        - coalesce(cardinality(e.ids), 1) AS before
      FROM (
        SELECT * FROM events
        WHERE xid < ${UNSETTLED} AND (xid, seq) > ($1::xid8, $2::bigint)
        ORDER BY xid, seq LIMIT $4
      ) e
    ) e WHERE before < $3
  )
  SELECT ${EVENT.sql}
  FROM picked p
  LEFT JOIN LATERAL unnest(p.ids, p.epochs, p.claimed_ats, p.next_ats, p.dead_reasons) WITH ORDINALITY
    AS u(id, epoch, claimed_at, next_at, dead_reason, ord) ON true
  LEFT JOIN LATERAL (
    SELECT * FROM job_runs r WHERE p.kind LIKE 'run.%' AND r.run_id = u.id AND r.epoch = u.epoch
      AND r.created_at = ${timestampOf('coalesce(u.claimed_at, p.claimed_ats[1])')} LIMIT 1
  ) r ON true
  LEFT JOIN LATERAL (
    SELECT * FROM jobs j WHERE j.job_id = ${JOB_ID} LIMIT 1
  ) j ON true
  LEFT JOIN LATERAL (
    SELECT t.data FROM events t WHERE j.job_id IS NULL AND t.kind = 'job.deleted'
      AND t.ids = ARRAY[${JOB_ID}] LIMIT 1
  ) gone ON true
  ORDER BY p.xid, p.seq, u.ord`;
