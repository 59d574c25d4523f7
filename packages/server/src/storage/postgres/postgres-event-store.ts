/** Reading events from PostgreSQL: rows of batches become single events, with the details that are joined on the way. */
import {
  type EventCursor,
  type EventJob,
  type EventMember,
  type JobId,
  kindOfEnd,
  type Labels,
  NO_LABELS,
  type NodeId,
  type RecordedEvent,
  ROW_END,
  type ScheduleType,
  type WorkerId,
} from '@carillon/domain';
import type { Database } from '../../postgres/database.ts';
import type { EventPage, EventStore } from '../event-store.ts';
import {
  COUNT_EVENTS_AFTER,
  EVENTS_END,
  type EventRow,
  NAMESPACES_BEGAN,
  OLDEST_EVENT,
  READ_EVENTS,
  RECORDED_AFTER,
} from './event.sql.ts';
import { readAll } from './selection.ts';

/** Rows are small where events are few; where they are many, the limit on events comes first. */
const ROWS_MAX = 200;
const LAST_SEQ = 999_999_999_999_999;

export class PostgresEventStore implements EventStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async end(): Promise<EventCursor> {
    const [row] = await this.#database.query<readonly [string]>(EVENTS_END, []);
    return { xid: Number(row![0]) - 1, seq: LAST_SEQ, index: ROW_END };
  }

  async oldest(): Promise<EventCursor | undefined> {
    const [row] = await this.#database.query<readonly [string, number]>(OLDEST_EVENT, []);
    return row && { xid: Number(row[0]), seq: row[1], index: 0 };
  }

  async namespacesBegan(names: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return new Map(await this.#database.query<readonly [string, number]>(NAMESPACES_BEGAN, [names]));
  }

  async countAfter({ xid, seq }: EventCursor, max: number): Promise<number> {
    const [row] = await this.#database.query<readonly [number]>(COUNT_EVENTS_AFTER, [String(xid), seq, max]);
    return row![0];
  }

  async recordedAfter({ xid, seq }: EventCursor): Promise<number | undefined> {
    const [row] = await this.#database.query<readonly [atMs: number]>(RECORDED_AFTER, [String(xid), seq]);
    return row?.[0];
  }

  async read(after: EventCursor, limit: number): Promise<EventPage> {
    const { xid, seq, index } = after;
    // What was read of a row is left out below; to see the rest of it, the row is read again.
    const from = [String(xid), index === ROW_END ? seq : seq - 1];
    const rows = await readAll(this.#database, READ_EVENTS, [...from, limit, ROWS_MAX]);
    const last = rows.at(-1);
    if (!last) return { events: [], through: after, hasMore: false };
    const events = rows.flatMap(eventsOfRow);
    const isPartRead = index !== ROW_END && rows[0]!.xid === xid && rows[0]!.seq === seq;
    return {
      events: isPartRead ? events.filter(({ cursor }) => isAfter(cursor, after)) : events,
      through: { xid: last.xid, seq: last.seq, index: ROW_END },
      hasMore: rows.length >= Math.min(limit, ROWS_MAX),
    };
  }
}

function isAfter(cursor: EventCursor, after: EventCursor): boolean {
  return cursor.xid !== after.xid || cursor.seq !== after.seq || cursor.index > after.index;
}

/** One element of a row: what happened, and that the run was given up, if it was. */
function eventsOfRow(row: EventRow): RecordedEvent[] {
  const { kind, run, xid, seq } = row;
  const base = { atMs: row.atMs, job: jobOf(row), run: undefined, member: undefined };
  const cursor = (offset: number) => ({ xid, seq, index: row.element * 2 + offset });
  if (kind === 'run.started' || kind === 'run.progress' || kind === 'run.ended') {
    if (!run) return [];
    if (kind !== 'run.ended')
      return [
        {
          ...base,
          cursor: cursor(0),
          kind,
          atMs: kind === 'run.started' ? (run.startedAtMs ?? base.atMs) : base.atMs,
          run: { ...run, status: 'RUNNING', endedAtMs: undefined, error: undefined },
        },
      ];
    const atMs = run.endedAtMs ?? base.atMs;
    const ended = kindOfEnd(run.status, { isTriedAgain: run.retryAtMs !== undefined });
    const end: RecordedEvent = {
      ...base,
      cursor: cursor(0),
      kind: ended,
      atMs,
      run: { ...run, deadReason: undefined },
    };
    if (run.deadReason === undefined) return [end];
    return [end, { ...base, cursor: cursor(1), kind: 'run.dead_lettered', atMs, run }];
  }
  return [{ ...base, cursor: cursor(0), kind, member: memberOf(row) }];
}

function jobOf({ jobId, job, gone }: EventRow): EventJob | undefined {
  return job ?? (jobId && gone ? goneJob(jobId, gone) : undefined);
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

function memberOf({ jobId, data }: EventRow): EventMember | undefined {
  if (jobId !== undefined || data === undefined) return undefined;
  const { worker_id: workerId, node_id: nodeId } = JSON.parse(data) as {
    worker_id?: WorkerId;
    node_id: NodeId;
  };
  return { workerId, nodeId };
}
