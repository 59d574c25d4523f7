/** The schedule store on PostgreSQL. */
import { type JobId, type RunId, SHARD_COUNT } from '@carillon/domain';
import { plainArray, textArray } from '../../postgres/array-literal.ts';
import type { Database, Statement } from '../../postgres/database.ts';
import type { Cursor } from '../due.ts';
import type { LaneHint } from '../lane.ts';
import {
  type Admission,
  type Admitted,
  type Fire,
  type Fired,
  type GivenUpRun,
  lastJudgedMs,
  type OwnerOptions,
  type PlannedRun,
  type ReadWindow,
  type ScheduleStore,
  type ShardGuard,
  type ShardPosition,
  type WaitingJob,
} from '../schedule-store.ts';
import { StorageTimeout } from '../storage.ts';
import { priorityWord } from './codes.ts';
import { skipsFrom } from './job-columns.ts';
import { misfireFrom, recurringFrom } from './job-row.ts';
import {
  ADMISSIBLE,
  ADMIT,
  EXPIRE,
  EXPIRE_UNOFFERED,
  FIRE,
  FIRE_PLAIN,
  FORGET_NAMESPACE_OFFERS,
  FORGET_OFFERS,
  FREE_LOST_SLOTS,
  READ_CURSORS,
  READ_PLANNED,
  SKIP_REPLACED,
  STOP_OLDEST,
} from './schedule.sql.ts';

type CursorRow = readonly [
  jobId: JobId,
  shard: number,
  fireAtMs: number,
  nominalAtMs: number,
  jobVersion: number,
  schedule: string,
  misfire: string | null,
  resumedAtMs: number | null,
  skips: string | null,
];

/** What became of a job: the lane of its runs, and whether some were opened, and some wait. */
type JudgedRow = readonly [
  jobId: JobId,
  part: number,
  priority: number,
  handlerKey: number,
  tenant: number,
  opened: boolean | null,
  waiting: boolean | null,
  replaces: boolean,
  skipped: number | null,
];

const FIRST_ID = '00000000-0000-0000-0000-000000000000';

export class PostgresScheduleStore implements ScheduleStore {
  readonly #database: Database;
  /** For what is written into the history: never long behind a lock. */
  readonly #outcomes: Database;
  /** Jobs up to this one were reconciled; then it begins again. */
  #reconciledTo: string = FIRST_ID;

  constructor(database: Database, { outcomes = database }: { outcomes?: Database } = {}) {
    this.#database = database;
    this.#outcomes = outcomes;
  }

  async readCursors(positions: readonly ShardPosition[], window: ReadWindow): Promise<Cursor[]> {
    if (positions.length === 0) return [];
    const rows = await this.#database.query<CursorRow>(READ_CURSORS, windowParameters(positions, window));
    return rows.map(
      ([jobId, shard, fireAtMs, nominalAtMs, jobVersion, schedule, misfire, resumedAtMs, skips]) => ({
        jobId,
        shard,
        fireAtMs,
        nominalAtMs,
        jobVersion,
        schedule: recurringFrom(schedule),
        misfire: misfireFrom(misfire),
        resumedAtMs: resumedAtMs ?? undefined,
        skips: skipsFrom(skips),
      }),
    );
  }

  async readPlanned(positions: readonly ShardPosition[], window: ReadWindow): Promise<PlannedRun[]> {
    if (positions.length === 0) return [];
    const rows = await this.#database.query<readonly [JobId, RunId, number, number]>(
      READ_PLANNED,
      windowParameters(positions, window),
    );
    return rows.map(([jobId, runId, shard, fireAtMs]) => ({ jobId, runId, shard, fireAtMs }));
  }

  async fire(given: readonly Fire[], options: OwnerOptions): Promise<Fired> {
    // The same cursor twice in one statement would win once but queue its runs twice.
    const fires = [...new Map(given.map((fire) => [fire.cursor.jobId, fire])).values()];
    const plain = fires.filter(({ skipped, next }) => skipped.length === 0 && next);
    const rows = plain.length === 0 ? [] : await this.#fire(FIRE_PLAIN, plain, options);
    const won = new Set(rows.map((row) => row[0]));
    const others = fires.filter(({ cursor }) => !won.has(cursor.jobId));
    const later = new Set<JobId>();
    try {
      if (others.length > 0) rows.push(...(await this.#fire(FIRE, others, options)));
    } catch (error) {
      if (!(error instanceof StorageTimeout)) throw error;
      for (const { cursor } of others) later.add(cursor.jobId);
    }
    const skipped = rows.reduce((sum, row) => sum + (row[8] ?? 0), 0);
    return { jobIds: new Set(rows.map((row) => row[0])), later, skipped, ...judged(rows, options.nowMs) };
  }

  #fire(statement: Statement, fires: readonly Fire[], { guard, nowMs }: OwnerOptions): Promise<JudgedRow[]> {
    const runs = fires.flatMap((fire) => fire.runs);
    const skips = fires.flatMap(({ cursor: { jobId, jobVersion }, skipped }) =>
      skipped.map((skip) => ({ jobId, jobVersion, ...skip })),
    );
    let before = 0;
    const runsBefore = fires.map((fire) => {
      before += fire.runs.length;
      return before - fire.runs.length;
    });
    const parameters = [
      plainArray(fires.map((fire) => fire.cursor.jobId)),
      plainArray(fires.map((fire) => fire.cursor.shard)),
      plainArray(fires.map((fire) => fire.cursor.nominalAtMs)),
      plainArray(fires.map((fire) => fire.cursor.jobVersion)),
      plainArray(fires.map((fire) => fire.next?.nominalAtMs)),
      plainArray(fires.map((fire) => fire.next?.fireAtMs)),
      plainArray(fires.map((fire) => fire.runs.length)),
      plainArray(runsBefore),
      plainArray(fires.map(lastJudgedMs)),
      plainArray(runs.map((run) => run.runId)),
      plainArray(runs.map((run) => run.nominalAtMs)),
      nowMs,
      ...guardParameters(
        guard,
        fires.map((fire) => fire.cursor.shard),
      ),
    ];
    if (statement === FIRE_PLAIN) return this.#database.query<JudgedRow>(statement, parameters);
    return this.#outcomes.query<JudgedRow>(statement, [
      ...parameters,
      plainArray(skips.map((skip) => skip.jobId)),
      plainArray(skips.map((skip) => skip.runId)),
      plainArray(skips.map((skip) => skip.jobVersion)),
      plainArray(skips.map((skip) => skip.fromMs)),
      plainArray(skips.map((skip) => skip.count)),
      textArray(skips.map((skip) => skip.reason)),
    ]);
  }

  async admit(
    given: readonly JobId[],
    { guard, nowMs, runsPerJob }: OwnerOptions & { runsPerJob: number },
  ): Promise<Admission> {
    const jobIds = plainArray([...new Set(given)]);
    const parameters = [jobIds, ...ownedParameters(guard), nowMs, runsPerJob];
    const rows = await this.#database.query<readonly [...JudgedRow, more: boolean]>(ADMIT, parameters);
    const more = rows.filter((row) => row[9]).map((row) => row[0]);
    return { ...judged(rows, nowMs), more };
  }

  replace(jobIds: readonly JobId[], { guard, nowMs }: OwnerOptions): Promise<RunId[]> {
    return this.#database.transaction(async (session) => {
      const owned = [plainArray(jobIds), ...ownedParameters(guard)];
      await session.query(SKIP_REPLACED, [...owned, nowMs]);
      const stopped = await session.query<readonly [RunId]>(STOP_OLDEST, owned);
      return stopped.map(([runId]) => runId);
    });
  }

  async reconcile({ guard, nowMs, limit }: OwnerOptions & { limit: number }): Promise<WaitingJob[]> {
    const owner = ownedParameters(guard);
    await this.#database.query(FREE_LOST_SLOTS, owner);
    const rows = await this.#database.query<readonly [JobId, boolean]>(ADMISSIBLE, [
      ...owner,
      limit,
      nowMs,
      this.#reconciledTo,
    ]);
    // From there on the next time, so that those at the front cannot hide the others.
    this.#reconciledTo = rows.length < limit ? FIRST_ID : rows.at(-1)![0];
    return rows.map(([jobId, replaces]) => ({ jobId, replaces }));
  }

  expire({ guard, nowMs, limit }: OwnerOptions & { limit: number }): Promise<GivenUpRun[]> {
    return this.#giveUp(EXPIRE, [...ownedParameters(guard), nowMs, limit]);
  }

  async expireUnoffered({
    guard,
    nowMs,
    limit,
    beforeMs,
  }: OwnerOptions & { beforeMs: number; limit: number }): Promise<GivenUpRun[]> {
    const given = await this.#giveUp(EXPIRE_UNOFFERED, [...ownedParameters(guard), nowMs, limit, beforeMs]);
    for (const statement of [FORGET_OFFERS, FORGET_NAMESPACE_OFFERS])
      await this.#database.query(statement, [beforeMs, limit]);
    return given;
  }

  async #giveUp(statement: Statement, parameters: readonly unknown[]): Promise<GivenUpRun[]> {
    const rows = await this.#database.query<readonly [JobId, RunId]>(statement, parameters);
    return rows.map(([jobId, runId]) => ({ jobId, runId }));
  }
}

function windowParameters(positions: readonly ShardPosition[], window: ReadWindow): unknown[] {
  return [
    plainArray(positions.map((position) => position.shard)),
    plainArray(positions.map((position) => position.afterMs)),
    plainArray(positions.map((position) => position.afterId)),
    window.untilMs,
    window.limitPerShard,
  ];
}

/** Node and epochs as the guarded statements take them: indexed by shard, NULL for those that are not written to. */
function guardParameters(guard: ShardGuard, shards: readonly number[]): [node: string, epochs: string] {
  const epochs = new Array<number | undefined>(SHARD_COUNT).fill(undefined);
  for (const shard of shards) epochs[shard] = guard.epochs.get(shard);
  return [guard.nodeId, plainArray(epochs)];
}

function ownedParameters(guard: OwnerOptions['guard']): [node: string, epochs: string] {
  return guardParameters(guard, [...guard.epochs.keys()]);
}

function judged(rows: readonly (JudgedRow | readonly [...JudgedRow, boolean])[], nowMs: number): Admitted {
  const opened: LaneHint[] = [];
  const waiting: WaitingJob[] = [];
  for (const [jobId, part, priority, handlerKey, tenant, isOpened, isWaiting, replaces] of rows) {
    if (isOpened) opened.push({ part, priority: priorityWord(priority), handlerKey, tenant, atMs: nowMs });
    if (isWaiting) waiting.push({ jobId, replaces });
  }
  return { opened, waiting };
}
