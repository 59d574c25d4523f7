/** The run store on PostgreSQL: what waits, what is held and what ran, composed for people. */

import type { DeadReason, JobId, PendingRun, PendingState, RunId, RunStatus } from '@carillon/domain';
import { type Database, RollBack } from '../../postgres/database.ts';
import type { AuditEntry } from '../audit-store.ts';
import type {
  DeadLetter,
  DeadLetterList,
  DeadLetterPlace,
  DeadLetterQuery,
  RunPage,
  RunStore,
  RunView,
} from '../run-store.ts';
import { priorityWord, triggerWord } from './codes.ts';
import { recordAudit } from './postgres-audit-store.ts';
import { addRun } from './postgres-job-store.ts';
import { placeArrays } from './read-upcoming.ts';
import {
  ALIVE_OF_JOB,
  ATTEMPTS_OF_RUN,
  DEAD_LETTER,
  DEAD_LETTERS,
  DEAD_LETTERS_OF_JOB,
  HISTORY_OF_JOB,
  LETTER_FILTERS,
  LIVING_ON_WORKER,
  MARK_REDRIVEN,
  PENDING_OF_JOB,
} from './run.sql.ts';

type RunRow = readonly [
  runId: RunId,
  jobId: JobId,
  status: RunStatus,
  attempt: number,
  epoch: number,
  kind: number,
  scheduledAtMs: number,
  createdAtMs: number,
  startedAtMs: number | null,
  endedAtMs: number | null,
  modifiedAtMs: number,
  executorId: string | null,
  error: string | null,
  reason: string | null,
  result: string | null,
  logUrl: string | null,
  jobVersion: number,
  occurrences: number,
  lateReport: string | null,
];

type PendingRow = readonly [
  jobId: JobId,
  runId: RunId,
  shard: number,
  priority: number,
  fireAtMs: number,
  nominalAtMs: number,
  kind: number,
  attempt: number,
  handler: string,
  expiresAtMs: number | null,
  blocked: number,
  held: boolean,
];

/** By what blocked says. */
const PENDING_STATES: readonly PendingState[] = ['open', 'planned', 'waiting'];

type LetterRow = readonly [
  runId: RunId,
  jobId: JobId,
  jobName: string | null,
  reason: DeadReason,
  error: string | null,
  attempts: number,
  scheduledAtMs: number,
  diedAtMs: number,
  redrivenAs: RunId | null,
];

/** The row after the page: where looking stopped. */
type StopRow = readonly [
  runId: RunId,
  jobId: null,
  ...rest: readonly [null, null, null, null, null],
  diedAtMs: number,
  redrivenAs: null,
];

function isStop(row: LetterRow | StopRow): row is StopRow {
  return row[1] === null;
}

const LETTER_FILTER_NAMES = Object.keys(LETTER_FILTERS) as (keyof typeof LETTER_FILTERS)[];

/** Later than any instant that can be scheduled. */
const FOREVER_MS = Date.UTC(2200, 0, 1);
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

export class PostgresRunStore implements RunStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async pending(jobId: JobId, limit: number): Promise<PendingRun[]> {
    const rows = await this.#database.query<PendingRow>(PENDING_OF_JOB, [jobId, limit]);
    return rows.map((row) => ({
      jobId: row[0],
      runId: row[1],
      shard: row[2],
      priority: priorityWord(row[3]),
      fireAtMs: row[4],
      nominalAtMs: row[5],
      trigger: triggerWord(row[6]),
      attempt: row[7],
      handler: row[8],
      expiresAtMs: row[9] ?? undefined,
      state: PENDING_STATES[row[10]]!,
      held: row[11],
    }));
  }

  /** Living and waiting runs come first; a page counts through them into the history. */
  async ofJob(jobId: JobId, page: RunPage, nowMs: number): Promise<RunView[]> {
    const offset = page.offset ?? 0;
    const rows = page.before
      ? []
      : await this.#database.query<RunRow>(ALIVE_OF_JOB, [jobId, nowMs, offset + page.limit]);
    const alive = rows.map(viewFromRow);
    const shown = alive.slice(offset, offset + page.limit);
    if (shown.length === page.limit) return shown;
    const history = await this.#database.query<RunRow>(HISTORY_OF_JOB, [
      jobId,
      page.before ? page.before.createdAtMs : FOREVER_MS,
      page.limit - shown.length,
      Math.max(0, offset - alive.length),
      page.before ? page.before.runId : LAST_ID,
    ]);
    // What ended between the two reads is shown once.
    const isShown = new Set(alive.map(attemptOf));
    return [...shown, ...history.map(viewFromRow).filter((view) => !isShown.has(attemptOf(view)))];
  }

  async latestOfJob(jobId: JobId, nowMs: number): Promise<RunView | undefined> {
    const [latest] = await this.ofJob(jobId, { limit: 1 }, nowMs);
    return latest;
  }

  async attempts(runId: RunId, nowMs: number): Promise<RunView[]> {
    return (await this.#database.query<RunRow>(ATTEMPTS_OF_RUN, [runId, nowMs])).map(viewFromRow);
  }

  async onWorker(workerId: string, page: RunPage): Promise<RunView[]> {
    const rows = await this.#database.query<RunRow>(LIVING_ON_WORKER, [
      workerId,
      page.limit,
      page.offset ?? 0,
    ]);
    return rows.map(viewFromRow);
  }

  async deadLetters(query: DeadLetterQuery): Promise<DeadLetterList> {
    const { jobId, before, visible } = query;
    const rows = await this.#database.query<LetterRow | StopRow>(
      jobId === undefined ? DEAD_LETTERS : DEAD_LETTERS_OF_JOB,
      [
        before?.diedAtMs ?? FOREVER_MS,
        before?.runId ?? LAST_ID,
        query.limit,
        ...placeArrays(visible),
        ...LETTER_FILTER_NAMES.map((name) => query[name] ?? null),
        ...(jobId === undefined ? [] : [jobId]),
      ],
    );
    const letters: DeadLetter[] = [];
    let stoppedAt: DeadLetterPlace | undefined;
    for (const row of rows) {
      if (isStop(row)) stoppedAt = { runId: row[0], diedAtMs: Math.round(row[7]) };
      else letters.push(letterFromRow(row));
    }
    return { letters, stoppedAt };
  }

  async deadLetter(runId: RunId): Promise<DeadLetter | undefined> {
    const [row] = await this.#database.query<LetterRow>(DEAD_LETTER, [runId]);
    return row && letterFromRow(row);
  }

  redrive(runId: RunId, as: { runId: RunId; nowMs: number; audit?: AuditEntry }): Promise<boolean> {
    return this.#database.transaction(async (session) => {
      const [letter] = await session.query<readonly [JobId, number]>(MARK_REDRIVEN, [runId, as.runId]);
      if (!letter) return false;
      const [jobId, scheduledAtMs] = letter;
      const run = {
        runId: as.runId,
        fireAtMs: as.nowMs,
        nominalAtMs: Math.round(scheduledAtMs),
        endsJob: false,
      };
      if (!(await addRun(session, jobId, { ...run, trigger: 'redrive' }))) throw new RollBack(false);
      await recordAudit(session, [as.audit]);
      return true;
    });
  }
}

function attemptOf({ runId, epoch }: RunView): string {
  return `${runId}/${epoch}`;
}

const instant = (value: number | null) => (value === null ? undefined : Math.round(value));

function viewFromRow(row: RunRow): RunView {
  return {
    runId: row[0],
    jobId: row[1],
    status: row[2],
    attempt: row[3],
    epoch: row[4],
    trigger: triggerWord(row[5]),
    scheduledAtMs: Math.round(row[6]),
    createdAtMs: Math.round(row[7]),
    startedAtMs: instant(row[8]),
    endedAtMs: instant(row[9]),
    modifiedAtMs: Math.round(row[10]),
    executorId: row[11] ?? undefined,
    error: row[12] ?? undefined,
    reason: row[13] ?? undefined,
    result: row[14] ?? undefined,
    logUrl: row[15] ?? undefined,
    jobVersion: row[16],
    occurrences: row[17],
    lateReport: row[18] ?? undefined,
  };
}

function letterFromRow(row: LetterRow): DeadLetter {
  return {
    runId: row[0],
    jobId: row[1],
    jobName: row[2] ?? undefined,
    reason: row[3],
    error: row[4] ?? undefined,
    attempts: row[5],
    scheduledAtMs: Math.round(row[6]),
    diedAtMs: Math.round(row[7]),
    redrivenAs: row[8] ?? undefined,
  };
}
