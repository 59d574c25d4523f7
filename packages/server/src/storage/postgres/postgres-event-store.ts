/** Reading events from PostgreSQL: rows of batches become single events, with the details that are joined on the way. */
import {
  type EventJob,
  type EventKind,
  type EventMember,
  type EventPlace,
  type EventRun,
  type JobId,
  kindOfEnd,
  type Labels,
  NO_LABELS,
  type NodeId,
  type RecordedEvent,
  type RunId,
  type RunStatus,
  type ScheduleType,
  WHOLE_ROW,
  type WorkerId,
} from '@carillon/domain';
import type { Database } from '../../postgres/database.ts';
import type { EventPage, EventStore } from '../event-store.ts';
import { triggerWord } from './codes.ts';
import { EVENTS_END, OLDEST_EVENT, READ_EVENTS } from './event.sql.ts';

/** run.ended is how the end of a batch is recorded; which end it was, the history knows of each. */
type RecordedKind = EventKind | 'run.ended';

type EventRow = readonly [
  xid: string,
  seq: number,
  element: number,
  kind: RecordedKind,
  atMs: number,
  data: string | null,
  runId: RunId | null,
  nextAtMs: number | null,
  deadReason: string | null,
  status: RunStatus,
  attempt: number,
  epoch: number,
  trigger: number,
  scheduledAtMs: number,
  startedAtMs: number | null,
  endedAtMs: number | null,
  executorId: string | null,
  error: string | null,
  reason: string | null,
  occurrences: number,
  jobId: JobId | null,
  name: string | null,
  namespace: string,
  userId: string | null,
  handler: string,
  scheduleType: ScheduleType,
  labels: string | null,
  gone: string | null,
];

/** Rows are small where events are few; where they are many, the limit on events comes first. */
const ROWS_MAX = 200;
const LAST_SEQ = 999_999_999_999_999;

export class PostgresEventStore implements EventStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async end(): Promise<EventPlace> {
    const [row] = await this.#database.query<readonly [string]>(EVENTS_END, []);
    return { xid: Number(row![0]) - 1, seq: LAST_SEQ, index: WHOLE_ROW };
  }

  async oldest(): Promise<EventPlace | undefined> {
    const [row] = await this.#database.query<readonly [string, number]>(OLDEST_EVENT, []);
    return row && { xid: Number(row[0]), seq: row[1], index: 0 };
  }

  async read(after: EventPlace, limit: number): Promise<EventPage> {
    const { xid, seq, index } = after;
    // What was read of a row is left out below; to see the rest of it, the row is read again.
    const from = [String(xid), index === WHOLE_ROW ? seq : seq - 1];
    const rows = await this.#database.query<EventRow>(READ_EVENTS, [...from, limit, ROWS_MAX]);
    const last = rows.at(-1);
    if (!last) return { events: [], through: after, hasMore: false };
    const events = rows.flatMap(eventsOfRow);
    const isPartRead = index !== WHOLE_ROW && Number(rows[0]![0]) === xid && rows[0]![1] === seq;
    return {
      events: isPartRead ? events.filter(({ place }) => isAfter(place, after)) : events,
      through: { xid: Number(last[0]), seq: last[1], index: WHOLE_ROW },
      hasMore: rows.length >= Math.min(limit, ROWS_MAX),
    };
  }
}

function isAfter(place: EventPlace, after: EventPlace): boolean {
  return place.xid !== after.xid || place.seq !== after.seq || place.index > after.index;
}

/** One element of a row: what happened, and that the run was given up, if it was. */
function eventsOfRow(row: EventRow): RecordedEvent[] {
  const kind = row[3];
  const base = { atMs: Math.round(row[4]), job: jobOf(row), run: undefined, member: undefined };
  const place = (offset: number) => ({ xid: Number(row[0]), seq: row[1], index: row[2] * 2 + offset });
  if (kind === 'run.started' || kind === 'run.ended') {
    const run = runOf(row);
    if (!run) return [];
    if (kind === 'run.started')
      return [
        {
          ...base,
          place: place(0),
          kind,
          atMs: run.startedAtMs ?? base.atMs,
          run: { ...run, status: 'RUNNING', endedAtMs: undefined, error: undefined },
        },
      ];
    const atMs = run.endedAtMs ?? base.atMs;
    const ended = kindOfEnd(run.status, { isTriedAgain: run.retryAtMs !== undefined });
    const end: RecordedEvent = {
      ...base,
      place: place(0),
      kind: ended,
      atMs,
      run: { ...run, deadReason: undefined },
    };
    if (run.deadReason === undefined) return [end];
    return [end, { ...base, place: place(1), kind: 'run.dead_lettered', atMs, run }];
  }
  return [{ ...base, place: place(0), kind, member: memberOf(row) }];
}

function runOf(row: EventRow): EventRun | undefined {
  if (row[6] === null || row[20] === null) return undefined;
  return {
    runId: row[6],
    jobId: row[20],
    retryAtMs: row[7] ?? undefined,
    deadReason: row[8] ?? undefined,
    status: row[9],
    attempt: row[10],
    epoch: row[11],
    trigger: triggerWord(row[12]),
    scheduledAtMs: Math.round(row[13]),
    startedAtMs: row[14] === null ? undefined : Math.round(row[14]),
    endedAtMs: row[15] === null ? undefined : Math.round(row[15]),
    executorId: row[16] ?? undefined,
    error: row[17] ?? undefined,
    reason: row[18] ?? undefined,
    occurrences: row[19],
  };
}

function jobOf(row: EventRow): EventJob | undefined {
  const jobId = row[20];
  if (jobId === null) return undefined;
  if (row[21] === null) return row[27] === null ? undefined : goneJob(jobId, row[27]);
  return {
    jobId,
    name: row[21],
    namespace: row[22],
    userId: row[23] ?? undefined,
    handler: row[24],
    scheduleType: row[25],
    labels: row[26] === null ? NO_LABELS : (JSON.parse(row[26]) as Labels),
  };
}

function goneJob(jobId: JobId, data: string): EventJob {
  const kept = JSON.parse(data) as {
    name: string;
    namespace: string;
    user_id: string | null;
    handler: string;
    schedule_type: ScheduleType;
    labels: Labels | null;
  };
  return {
    jobId,
    name: kept.name,
    namespace: kept.namespace,
    userId: kept.user_id ?? undefined,
    handler: kept.handler,
    scheduleType: kept.schedule_type,
    labels: kept.labels ?? NO_LABELS,
  };
}

function memberOf(row: EventRow): EventMember | undefined {
  if (row[20] !== null || row[5] === null) return undefined;
  const { worker_id: workerId, node_id: nodeId } = JSON.parse(row[5]) as {
    worker_id?: WorkerId;
    node_id: NodeId;
  };
  return { workerId, nodeId };
}
