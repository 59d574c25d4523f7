/**
 * Lists runs across jobs. Runs lie in three tables, and those that ended in two indexes: each is read from the cursor on, and what was
 * found is merged. A run that moves on while this reads is met again where it went, since tables are read in the order in which
 * runs move through them; it is shown once.
 */
import type { JobId, RunId } from '@carillon/domain';
import { textArray } from '../../postgres/array-literal.ts';
import type { Database, Session } from '../../postgres/database.ts';
import { ROWS_SCANNED_MAX } from '../job-store.ts';
import {
  asksFor,
  compareRunCursors,
  isOfFailure,
  type ListedRun,
  LOOK_BACK_MS,
  listsNextAttempts,
  listsWaiting,
  type RunCursor,
  type RunList,
  type RunQuery,
  type WaitingCursor,
} from '../run-store.ts';
import {
  ENDED_RUNS_OF_JOB,
  LIVING_RUNS,
  NOT_SUCCEEDED_RUNS,
  READ_SUMMARIES,
  type RunRow,
  SUCCEEDED_RUNS,
  SUCCEEDED_RUNS_IN_ORDER,
  SUCCESSES_SCANNED_MAX,
  WAITING_RUNS,
  WAITING_RUNS_OF_JOB,
} from './list-runs.sql.ts';
import { visibleArrays } from './read-upcoming.ts';
import { type Read, readAll } from './selection.ts';

/** Later than any instant that can be scheduled. */
const FOREVER_MS = Date.UTC(2200, 0, 1);
const FIRST_ID = '00000000-0000-0000-0000-000000000000' as RunId;
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff' as RunId & JobId;
const START: RunCursor = { atMs: FOREVER_MS, runId: LAST_ID, epoch: 0 };

/** Failures that are read at a time to be judged. */
const PART = 1_000;

/** The first window of successes; each is four times as wide as the one before while few are found. */
const WINDOW_MS = 250;
const WIDER = 4;
/** From a quarter of a second to more years than any history has. */
const WINDOWS_MAX = 40;

interface Part {
  readonly rows: readonly RunRow[];
  readonly stoppedAt?: RunCursor | undefined;
}

/** Where a statement reads: before the cursor, from an instant on. */
interface Range {
  readonly before?: RunCursor;
  readonly fromMs?: number;
  readonly jobId?: JobId | undefined;
}

export function listRuns(database: Database, query: RunQuery): Promise<RunList> {
  if (query.failure !== undefined) return listFailures(database, query);
  return listsWaiting(query) === 'only' ? listWaiting(database, query) : listMerged(database, query);
}

/** Which errors are alike is judged here, not by the database: what failed is read in parts, up to what any list looks through. */
async function listFailures(database: Database, query: RunQuery): Promise<RunList> {
  const found: ListedRun[] = [];
  let before = query.before;
  for (let looked = 0; looked < ROWS_SCANNED_MAX; looked += PART) {
    const { runs, stoppedAt } = await listMerged(database, { ...query, before, limit: PART });
    found.push(...runs.filter((one) => isOfFailure(query, one)));
    if (found.length >= query.limit) return { runs: found.slice(0, query.limit), stoppedAt: undefined };
    before = runs.length === PART ? runs.at(-1)?.cursor : stoppedAt;
    if (before === undefined) return { runs: found, stoppedAt: undefined };
  }
  return { runs: found, stoppedAt: before };
}

async function listMerged(database: Database, query: RunQuery): Promise<RunList> {
  const { jobId, statuses, sinceMs, untilMs } = query;
  const before = earlier(query.before as RunCursor | undefined, untilMs);
  const lookBackMs = sinceMs === undefined ? 0 : sinceMs - LOOK_BACK_MS;
  const parts: Part[] = [];
  // What has not ended, and what succeeded, has no error.
  const isOnOffer = query.error === undefined && query.failure === undefined;
  if (jobId !== undefined && isOnOffer && listsWaiting(query) === 'too') {
    const rows = await readAll(database, WAITING_RUNS_OF_JOB, parametersOf(query, { before, jobId }));
    const isBefore = ({ run }: RunRow) => untilMs === undefined || run.createdAtMs < untilMs;
    parts.push({ rows: rows.filter(isBefore) });
  }
  if (isOnOffer && asksFor(statuses, 'CLAIMED', 'RUNNING', 'CANCELLING')) {
    parts.push({ rows: await readAll(database, LIVING_RUNS, parametersOf(query, { before, jobId })) });
  }
  if (jobId !== undefined) {
    parts.push(await readOrdered(database, ENDED_RUNS_OF_JOB, query, { before, fromMs: lookBackMs, jobId }));
  } else {
    const succeeded =
      isOnOffer && asksFor(statuses, 'SUCCESS') ? await readSucceeded(database, query, before) : undefined;
    if (succeeded) parts.push(succeeded);
    if (asksFor(statuses, 'FAILED', 'CANCELLED', 'TIMED_OUT', 'SKIPPED', 'RETURNED', 'LOST')) {
      // Of the few that did not succeed, ten thousand reach back for days: the list ends where the successes stopped.
      const fromMs = Math.max(lookBackMs, succeeded?.stoppedAt?.atMs ?? 0);
      parts.push(await readOrdered(database, NOT_SUCCEEDED_RUNS, query, { before, fromMs }));
    }
  }
  return merged(parts, query);
}

/** The list ends where the first of its parts stopped: the others must not run ahead of it. */
function merged(parts: readonly Part[], { limit, lastAttempts }: RunQuery): RunList {
  const [stoppedAt] = parts.flatMap((part) => part.stoppedAt ?? []).sort(compareRunCursors);
  const found = new Map<string, ListedRun & { readonly cursor: RunCursor }>();
  for (const { rows } of parts) {
    for (const { run, job, triedAgain, atMs } of rows) {
      const cursor = { atMs: Math.round(atMs), runId: run.runId, epoch: run.epoch };
      const key = lastAttempts ? run.runId : `${run.runId}/${run.epoch}`;
      const known = found.get(key);
      if (known && known.run.epoch > run.epoch) continue;
      found.set(key, { run, job, triedAgain, cursor });
    }
  }
  const runs = [...found.values()]
    .filter(({ cursor }) => stoppedAt === undefined || compareRunCursors(cursor, stoppedAt) <= 0)
    .sort((a, b) => compareRunCursors(a.cursor, b.cursor))
    .slice(0, limit);
  return { runs, stoppedAt: runs.length < limit ? stoppedAt : undefined };
}

async function readOrdered(
  session: Session,
  read: Read<RunRow>,
  query: RunQuery,
  range: Range,
): Promise<Part> {
  const rows = await readAll(session, read, parametersOf(query, range));
  const stop = rows.find(isStop);
  return { rows: rows.filter((row) => !isStop(row)), stoppedAt: stop && cursorOf(stop) };
}

/** By windows of time, backwards from the cursor; while they hold few enough together. */
function readSucceeded(database: Database, query: RunQuery, from: RunCursor): Promise<Part> {
  const { limit, nowMs, sinceMs = 0 } = query;
  return database.transaction(async (session) => {
    await session.query(READ_SUMMARIES, []);
    const rows: RunRow[] = [];
    let before = from;
    let widthMs = WINDOW_MS;
    let scanned = 0;
    for (let i = 0; i < WINDOWS_MAX && scanned < SUCCESSES_SCANNED_MAX; i += 1) {
      const fromMs = Math.max(sinceMs, Math.min(before.atMs, nowMs) - widthMs);
      const parameters = parametersOf({ ...query, limit: limit - rows.length }, { before, fromMs });
      let window = await readAll(session, SUCCEEDED_RUNS, parameters);
      let counted = window.find(isStop)!;
      if (counted.run.attempt > SUCCESSES_SCANNED_MAX) {
        widthMs = Math.floor(widthMs / (WIDER * WIDER));
        if (widthMs >= 1) continue;
        window = await readAll(session, SUCCEEDED_RUNS_IN_ORDER, parameters);
        counted = window.find(isStop)!;
      }
      rows.push(...window.filter((row) => !isStop(row)));
      scanned += counted.run.attempt;
      const isCut = counted.run.attempt > SUCCESSES_SCANNED_MAX;
      if (rows.length >= limit) return { rows, stoppedAt: lastOf(rows) };
      if (!isCut && fromMs <= sinceMs) return { rows };
      before = isCut ? cursorOf(counted) : { atMs: fromMs, runId: FIRST_ID, epoch: 0 };
      if (counted.run.attempt * WIDER < SUCCESSES_SCANNED_MAX) widthMs = Math.max(1, widthMs) * WIDER;
    }
    return { rows, stoppedAt: before };
  });
}

async function listWaiting(database: Database, query: RunQuery): Promise<RunList> {
  const { jobId = LAST_ID, runId = LAST_ID } = (query.before ?? {}) as Partial<WaitingCursor>;
  const before = { ...START, atMs: query.untilMs ?? FOREVER_MS, runId };
  const rows = await readAll(database, WAITING_RUNS, parametersOf(query, { before, jobId }));
  const cursor = ({ run }: RunRow): WaitingCursor => ({ jobId: run.jobId, runId: run.runId });
  const stop = rows.find(isStop);
  return {
    runs: rows
      .filter((row) => !isStop(row))
      .map((row) => ({ run: row.run, job: row.job, triedAgain: false, cursor: cursor(row) })),
    stoppedAt: stop && cursor(stop),
  };
}

function parametersOf(query: RunQuery, { before = START, fromMs = 0, jobId }: Range): unknown[] {
  const { statuses, labels } = query;
  return [
    query.limit,
    query.nowMs,
    query.results ?? false,
    ...[before.atMs, before.runId, before.epoch, fromMs],
    ...visibleArrays(query.visible),
    statuses === undefined || statuses.length === 0 ? null : textArray(statuses),
    ...[query.namespace ?? null, query.userId ?? null, query.handler ?? null],
    labels === undefined ? null : JSON.stringify(labels),
    ...[query.workerId ?? null, query.error ?? null, query.sinceMs ?? null, jobId ?? null],
    ...[query.lastAttempts ?? false, listsNextAttempts(query)],
  ];
}

/** The row that says where a statement stopped has no status. */
function isStop({ run }: RunRow): boolean {
  return run.status === undefined;
}

function cursorOf({ run, atMs }: RunRow): RunCursor {
  return { atMs: Math.round(atMs), runId: run.runId, epoch: run.epoch };
}

/** The oldest: a page that is full ends there, and of other kinds of runs none before it is on it. */
function lastOf(rows: readonly RunRow[]): RunCursor {
  return rows.map(cursorOf).sort(compareRunCursors).at(-1)!;
}

function earlier(before: RunCursor | undefined, untilMs: number | undefined): RunCursor {
  const until = untilMs === undefined ? START : { atMs: untilMs, runId: FIRST_ID, epoch: 0 };
  return before !== undefined && compareRunCursors(before, until) > 0 ? before : until;
}
