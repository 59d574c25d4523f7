/** The schedule store on PostgreSQL. */
import type { JobId, OverlapPolicy, RunId } from '@carillon/domain';
import { plainArray } from '../../postgres/array-literal.ts';
import type { Database } from '../../postgres/database.ts';
import type { DueRow } from '../due.ts';
import type { Fire, Lane, PlacedRow, ScheduleStore } from '../schedule-store.ts';
import type { ShardGuard } from '../shard-guard.ts';
import { CURSOR_KIND, priorityCode, priorityWord, triggerWord } from './codes.ts';
import { guardParameters } from './guard-parameters.ts';
import { misfireFrom, recurringFrom } from './job-row.ts';
import { FIRE, READ_DUE } from './schedule.sql.ts';

type DueReadRow = readonly [
  kind: number,
  jobId: JobId,
  runId: RunId,
  shard: number,
  priority: number,
  fireAtMs: number,
  nominalAtMs: number,
  attempt: number,
  handler: string,
  maxConcurrency: number,
  overlap: OverlapPolicy,
  startTimeoutMs: number | null,
  jobVersion: number,
  schedule: string | null,
  misfire: string | null,
  place: string,
];

export class PostgresScheduleStore implements ScheduleStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async read(
    lanes: readonly Lane[],
    options: { untilMs: number; limitPerLane: number },
  ): Promise<PlacedRow[]> {
    if (lanes.length === 0) return [];
    const rows = await this.#database.query<DueReadRow>(READ_DUE, [
      plainArray(lanes.map((lane) => lane.shard)),
      plainArray(lanes.map((lane) => priorityCode(lane.priority))),
      plainArray(lanes.map((lane) => lane.after.fireAtMs)),
      plainArray(lanes.map((lane) => lane.after.runId)),
      options.untilMs,
      options.limitPerLane,
    ]);
    return rows.map((row) => ({ row: dueFromRow(row), place: { fireAtMs: row[5], runId: row[2] } }));
  }

  async fire(
    given: readonly Fire[],
    options: { guard: ShardGuard; nowMs: number },
  ): Promise<ReadonlySet<JobId>> {
    // The same cursor twice in one statement would win once but queue its runs twice.
    const fires = [...new Map(given.map((fire) => [fire.cursor.jobId, fire])).values()];
    if (fires.length === 0) return new Set();
    const runs = fires.flatMap((fire) => fire.runs.map((run) => ({ jobId: fire.cursor.jobId, ...run })));
    const [node, epochs] = guardParameters(
      options.guard,
      fires.map((fire) => fire.cursor.shard),
    );
    const won = await this.#database.query<readonly [JobId]>(FIRE, [
      plainArray(fires.map((fire) => fire.cursor.jobId)),
      plainArray(fires.map((fire) => fire.cursor.shard)),
      plainArray(fires.map((fire) => fire.cursor.nominalAtMs)),
      plainArray(fires.map((fire) => fire.cursor.jobVersion)),
      plainArray(fires.map((fire) => fire.next?.nominalAtMs)),
      plainArray(fires.map((fire) => fire.next?.fireAtMs)),
      plainArray(fires.map((fire) => fire.skipped?.runId)),
      plainArray(fires.map((fire) => fire.skipped?.fromMs)),
      plainArray(fires.map((fire) => fire.skipped?.count ?? 0)),
      plainArray(fires.map((fire) => fire.runs.length)),
      plainArray(runs.map((run) => run.jobId)),
      plainArray(runs.map((run) => run.runId)),
      plainArray(runs.map((run) => run.nominalAtMs)),
      node,
      epochs,
      options.nowMs,
      plainArray(fires.map((fire) => fire.runs.at(-1)?.nominalAtMs ?? fire.skipped?.toMs)),
    ]);
    return new Set(won.map((row) => row[0]));
  }
}

/** Spelled out twice: this runs for every row of every read, and sharing the common part would cost an object each. */
function dueFromRow(row: DueReadRow): DueRow {
  if (row[0] !== CURSOR_KIND) {
    return {
      kind: 'run',
      jobId: row[1],
      runId: row[2],
      shard: row[3],
      priority: priorityWord(row[4]),
      fireAtMs: row[5],
      nominalAtMs: row[6],
      trigger: triggerWord(row[0]),
      attempt: row[7],
      handler: row[8],
      maxConcurrency: row[9],
      overlap: row[10],
      startTimeoutMs: row[11] ?? undefined,
      locator: row[15],
    };
  }
  return {
    kind: 'cursor',
    jobId: row[1],
    shard: row[3],
    priority: priorityWord(row[4]),
    fireAtMs: row[5],
    nominalAtMs: row[6],
    jobVersion: row[12],
    schedule: recurringFrom(row[13]!),
    misfire: misfireFrom(row[14]),
    handler: row[8],
    maxConcurrency: row[9],
    overlap: row[10],
    startTimeoutMs: row[11] ?? undefined,
  };
}
