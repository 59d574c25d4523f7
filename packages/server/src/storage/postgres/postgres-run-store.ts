/** The run store on PostgreSQL: what waits, what is held and what ran, composed for people. */

import { type JobId, type PendingRun, RESULT_BYTES_MAX, type RunId, type RunRepeat } from '@carillon/domain';
import { plainArray } from '../../postgres/array-literal.ts';
import { type Database, RollBack } from '../../postgres/database.ts';
import type { RunRequest } from '../due.ts';
import type {
  DeadLetter,
  DeadLetterCursor,
  DeadLetterList,
  DeadLetterQuery,
  JobActivity,
  LatestAttempt,
  Redrive,
  RunList,
  RunPage,
  RunQuery,
  RunStore,
  RunView,
} from '../run-store.ts';
import { listRuns } from './list-runs.ts';
import { recordAudit } from './postgres-audit-store.ts';
import { addRun } from './postgres-job-store.ts';
import { visibleArrays } from './read-upcoming.ts';
import {
  ACTIVITY_OF_JOB,
  ALIVE_OF_JOB,
  ATTEMPTS_OF_RUN,
  DEAD_LETTER,
  DEAD_LETTERS,
  DEAD_LETTERS_OF_JOB,
  HISTORY_OF_JOB,
  LAST_OF_JOBS,
  LATEST_OF_RUNS,
  LETTER_FILTERS,
  LIVING_ON_WORKER,
  MARK_REDRIVEN,
  PENDING_OF_JOB,
  REPEATS_OF_RUN,
  REQUEST_OF_RUN,
  WAITING_OF_JOBS,
} from './run.sql.ts';
import { MOVE_CHECKPOINT } from './run-state.sql.ts';
import { readAll, readFirst } from './selection.ts';

const LETTER_FILTER_NAMES = Object.keys(LETTER_FILTERS) as (keyof typeof LETTER_FILTERS)[];

/** Later than any instant that can be scheduled. */
const FOREVER_MS = Date.UTC(2200, 0, 1);
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

export class PostgresRunStore implements RunStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  pending(jobId: JobId, limit: number): Promise<PendingRun[]> {
    return readAll(this.#database, PENDING_OF_JOB, [jobId, limit]);
  }

  /** Living and waiting runs come first; a page counts through them into the history. */
  async ofJob(jobId: JobId, page: RunPage, nowMs: number): Promise<RunView[]> {
    const offset = page.offset ?? 0;
    const alive = page.before
      ? []
      : await readAll(this.#database, ALIVE_OF_JOB, [jobId, nowMs, offset + page.limit]);
    const shown = alive.slice(offset, offset + page.limit);
    if (shown.length === page.limit) return shown;
    const history = await readAll(this.#database, HISTORY_OF_JOB, [
      jobId,
      page.before ? page.before.createdAtMs : FOREVER_MS,
      page.limit - shown.length,
      Math.max(0, offset - alive.length),
      page.before ? page.before.runId : LAST_ID,
      page.resultCharsMax ?? RESULT_BYTES_MAX,
    ]);
    // What ended between the two reads is shown once.
    const isShown = new Set(alive.map(attemptOf));
    return [...shown, ...history.filter((view) => !isShown.has(attemptOf(view)))];
  }

  list(query: RunQuery): Promise<RunList> {
    return listRuns(this.#database, query);
  }

  async latestOfJob(jobId: JobId, nowMs: number): Promise<RunView | undefined> {
    const [latest] = await this.ofJob(jobId, { limit: 1 }, nowMs);
    return latest;
  }

  async activityOfJob(jobId: JobId, nowMs: number): Promise<JobActivity> {
    return (await readFirst(this.#database, ACTIVITY_OF_JOB, [jobId, nowMs]))!;
  }

  async waitingOfJobs(jobIds: readonly JobId[], nowMs: number) {
    if (jobIds.length === 0) return new Map();
    const rows = await readAll(this.#database, WAITING_OF_JOBS, [plainArray(jobIds), nowMs]);
    return new Map(rows.map(({ jobId, ...waiting }) => [jobId, waiting]));
  }

  async lastOfJobs(jobIds: readonly JobId[]): Promise<ReadonlyMap<JobId, RunView>> {
    const last = new Map<JobId, RunView>();
    if (jobIds.length === 0) return last;
    for (const run of await readAll(this.#database, LAST_OF_JOBS, [plainArray(jobIds)])) {
      if (!last.has(run.jobId)) last.set(run.jobId, run);
    }
    return last;
  }

  async latest(runIds: readonly RunId[], nowMs: number): Promise<ReadonlyMap<RunId, LatestAttempt>> {
    if (runIds.length === 0) return new Map();
    const found = await readAll(this.#database, LATEST_OF_RUNS, [plainArray(runIds), nowMs]);
    return new Map(found.map((attempt) => [attempt.runId, attempt]));
  }

  attempts(runId: RunId, nowMs: number): Promise<RunView[]> {
    return readAll(this.#database, ATTEMPTS_OF_RUN, [runId, nowMs]);
  }

  onWorker(workerId: string, page: RunPage): Promise<RunView[]> {
    return readAll(this.#database, LIVING_ON_WORKER, [workerId, page.limit, page.offset ?? 0]);
  }

  async deadLetters(query: DeadLetterQuery): Promise<DeadLetterList> {
    const { jobId, before, visible } = query;
    const rows = await readAll(this.#database, jobId === undefined ? DEAD_LETTERS : DEAD_LETTERS_OF_JOB, [
      before?.diedAtMs ?? FOREVER_MS,
      before?.runId ?? LAST_ID,
      query.limit,
      ...visibleArrays(visible),
      ...LETTER_FILTER_NAMES.map((name) => query[name] ?? null),
      ...(jobId === undefined ? [] : [jobId]),
    ]);
    const letters: DeadLetter[] = [];
    let stoppedAt: DeadLetterCursor | undefined;
    for (const row of rows) {
      if (row.jobId === undefined) stoppedAt = { runId: row.runId, diedAtMs: row.diedAtMs };
      else letters.push(row);
    }
    return { letters, stoppedAt };
  }

  deadLetter(runId: RunId): Promise<DeadLetter | undefined> {
    return readFirst(this.#database, DEAD_LETTER, [runId]);
  }

  request(runId: RunId): Promise<RunRequest | undefined> {
    return readFirst(this.#database, REQUEST_OF_RUN, [runId]);
  }

  repeatsOf(runId: RunId, limit: number): Promise<RunRepeat[]> {
    return readAll(this.#database, REPEATS_OF_RUN, [runId, limit]);
  }

  redrive(runId: RunId, as: Redrive): Promise<boolean> {
    return this.#database.transaction(async (session) => {
      const [letter] = await session.query<readonly [JobId, number]>(MARK_REDRIVEN, [runId, as.runId]);
      if (!letter) return false;
      const [jobId, scheduledAtMs] = letter;
      const run = {
        runId: as.runId,
        fireAtMs: as.nowMs,
        nominalAtMs: Math.round(scheduledAtMs),
        endsJob: false,
        request: as.request,
      };
      if (!(await addRun(session, jobId, { ...run, trigger: 'redrive' }))) throw new RollBack(false);
      await session.query(MOVE_CHECKPOINT, [runId, as.runId]);
      await recordAudit(session, [as.audit]);
      return true;
    });
  }
}

function attemptOf({ runId, epoch }: RunView): string {
  return `${runId}/${epoch}`;
}
