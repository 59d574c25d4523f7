/** The job store on PostgreSQL. */
import { DEFAULT_NAMESPACE, type Job, type JobId, type RunId } from '@carillon/domain';
import { plainArray, textArray } from '../../postgres/array-literal.ts';
import { type Database, RollBack, type Session } from '../../postgres/database.ts';
import type { AuditEntry } from '../audit-store.ts';
import type { FirstDue, NewRun } from '../due.ts';
import { kindOfChange } from '../event-store.ts';
import {
  type CancelVerdict,
  type Enqueued,
  type InsertedJob,
  isRefused,
  type JobChange,
  type JobFilter,
  type JobList,
  type JobQuery,
  type JobStore,
  type JobWithPlan,
  type NewJob,
  type SortedJob,
  type SortedJobQuery,
  type UpcomingFire,
  type UpcomingQuery,
} from '../job-store.ts';
import { HOLD_NAMESPACES } from './account.sql.ts';
import { kindCode } from './codes.ts';
import { RECORD_EVENT } from './event.sql.ts';
import { INSERT_ALIKE_JOBS, INSERT_JOBS } from './insert-jobs.sql.ts';
import { insertKeyed, isKeyed } from './insert-keyed-jobs.ts';
import { insertParameters } from './insert-parameters.ts';
import * as sql from './job.sql.ts';
import { IS_CANCEL_REQUESTED, REQUEST_CANCEL } from './lease.sql.ts';
import { ALLOW_BITMAP_SCANS } from './list-jobs.sql.ts';
import { listJobs } from './list-jobs.ts';
import { listSortedJobs } from './list-sorted-jobs.ts';
import { recordAudit } from './postgres-audit-store.ts';
import { readUpcoming } from './read-upcoming.ts';
import { LOCK_RUN, MARK_REDRIVEN, RUN_IS_KNOWN } from './run.sql.ts';
import { readAll, readFirst } from './selection.ts';
import { FORGET_FAILURES } from './stats.sql.ts';

type PlanRow = readonly [nominalAtMs: number | null, lastNominalMs: number | null];

export class PostgresJobStore implements JobStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async insert(jobs: readonly NewJob[], { atomic = false } = {}): Promise<InsertedJob[]> {
    if (jobs.length === 0) return [];
    // The most frequent case by far: one statement, and nothing to be refused.
    if (jobs.every((entry) => !isKeyed(entry) && entry.job.namespace === DEFAULT_NAMESPACE)) {
      await insertPlain(this.#database, jobs);
      return jobs.map((entry) => ({ kind: 'inserted', jobId: entry.job.jobId }));
    }
    return this.#database.transaction(async (session) => {
      const homes = await lockHomes(session, jobs);
      const housed = jobs.filter(({ job }) => homes.has(job.namespace));
      const keyed = housed.filter(isKeyed);
      const plain = housed.filter((entry) => !isKeyed(entry));
      if (plain.length > 0) await insertPlain(session, plain);
      const found = await insertKeyed(session, keyed);
      const answers = jobs.map((entry) =>
        homes.has(entry.job.namespace)
          ? (found.get(entry) ?? { kind: 'inserted' as const, jobId: entry.job.jobId })
          : { kind: 'namespace_missing' as const, jobId: entry.job.jobId },
      );
      if (atomic && answers.some(isRefused)) throw new RollBack(answers);
      return answers;
    });
  }

  get(jobId: JobId): Promise<Job | undefined> {
    return readFirst(this.#database, sql.GET_JOB, [jobId]);
  }

  async owners(jobIds: readonly JobId[]): Promise<ReadonlyMap<JobId, Pick<Job, 'namespace' | 'userId'>>> {
    if (jobIds.length === 0) return new Map();
    const owners = await readAll(this.#database, sql.OWNERS_OF_JOBS, [plainArray(jobIds)]);
    return new Map(owners.map(({ jobId, ...owner }) => [jobId, owner]));
  }

  async getForChange(jobId: JobId): Promise<JobWithPlan | undefined> {
    // The plan is read first: if it moves before the job is read, apply() notices and the caller decides again.
    const [plan] = await this.#database.query<PlanRow>(sql.READ_PLAN, [jobId]);
    const job = await this.get(jobId);
    return job && { job, plannedNominalMs: plan?.[0] ?? undefined, lastNominalMs: plan?.[1] ?? undefined };
  }

  async findKey(namespace: string, key: string): Promise<JobId | undefined> {
    const [row] = await this.#database.query<readonly [JobId]>(sql.FIND_JOB_KEY, [namespace, key]);
    return row?.[0];
  }

  list(query: JobQuery): Promise<JobList> {
    return this.#listing(query, (session) => listJobs(session, query));
  }

  listSorted(query: SortedJobQuery): Promise<readonly SortedJob[] | 'too_many'> {
    return this.#listing(query, (session) => listSortedJobs(session, query));
  }

  #listing<T>({ labels }: JobFilter, work: (session: Session) => Promise<T>): Promise<T> {
    if (labels === undefined) return work(this.#database);
    return this.#database.transaction(async (session) => {
      await session.query(ALLOW_BITMAP_SCANS, []);
      return work(session);
    });
  }

  upcoming(query: UpcomingQuery): Promise<{ fires: readonly UpcomingFire[]; partial: boolean }> {
    return readUpcoming(this.#database, query);
  }

  apply(change: JobChange): Promise<boolean | 'key_taken'> {
    return this.#database.transaction(async (session) => {
      const { job } = change;
      const updated = await session.query(sql.UPDATE_JOB, sql.updateParameters(change)).catch(keyTaken);
      if (updated.length === 0) return false;
      const plannedNominalMs = await lockPlan(session, job.jobId);
      if (plannedNominalMs !== change.expectedPlannedNominalMs) throw new RollBack(false);
      await session.query(sql.REFRESH_CURSOR, [job.jobId, job.version]);
      await session.query(sql.REFRESH_DUE, [job.jobId, change.nowMs, job.payload]);
      await session.query(RECORD_EVENT, [kindOfChange(change), job.jobId, null]);
      await changePending(session, change);
      await recordAudit(session, [change.audit]);
      return true;
    });
  }

  enqueue(jobId: JobId, run: NewRun, audit?: AuditEntry): Promise<boolean> {
    return this.#database.transaction(async (session) => {
      const added = await addRun(session, jobId, run);
      if (added) await recordAudit(session, [audit]);
      return added;
    });
  }

  enqueueOnce(jobId: JobId, run: NewRun, audit?: AuditEntry): Promise<Enqueued> {
    return this.#database.transaction(async (session) => {
      // Of two requests at the same time, the second waits here and then finds the run of the first.
      await session.query(LOCK_RUN, [run.runId]);
      const [known] = await session.query<readonly [string | null]>(RUN_IS_KNOWN, [run.runId]);
      if (known) return known[0] !== null && known[0] !== run.request?.requestHash ? 'conflict' : 'known';
      if (!(await addRun(session, jobId, run))) return 'refused';
      await recordAudit(session, [audit]);
      return 'added';
    });
  }

  remove(jobId: JobId, audit?: AuditEntry): Promise<boolean> {
    return this.#database.transaction(async (session) => {
      // Deleting first waits for fires and claims under way; what they made or took is visible afterwards.
      await session.query(sql.DELETE_CURSOR, [jobId]);
      await session.query(sql.DELETE_DUE, [jobId]);
      const living = await session.query(sql.LIVE_OF_JOB, [jobId]);
      if (living.length > 0) throw new RollBack(false);
      if ((await session.query(sql.DELETE_JOB, [jobId])).length === 0) return false;
      await session.query(FORGET_FAILURES, [jobId]);
      await recordAudit(session, [audit]);
      return true;
    });
  }

  cancelRun(runId: RunId, nowMs: number, audit?: AuditEntry): Promise<CancelVerdict> {
    return this.#database.transaction(async (session) => {
      const verdict = await cancelRun(session, runId, nowMs);
      if (verdict !== 'finished' && verdict !== 'unknown') await recordAudit(session, [audit]);
      return verdict;
    });
  }
}

async function insertPlain(session: Session, jobs: readonly NewJob[]): Promise<void> {
  const { alike, values } = insertParameters(jobs);
  await session.query(alike ? INSERT_ALIKE_JOBS : INSERT_JOBS, values);
}

const UNIQUE_VIOLATION = '23505';

/** The only unique index of jobs whose columns a change can set is that of keys. */
function keyTaken(error: unknown): never {
  throw (error as { code?: unknown }).code === UNIQUE_VIOLATION ? new RollBack('key_taken') : error;
}

/** The namespaces of the jobs that are there, and stay until the end of the transaction. */
async function lockHomes(session: Session, jobs: readonly NewJob[]): Promise<ReadonlySet<string>> {
  const names = new Set(jobs.map(({ job }) => job.namespace));
  // The default one is always there.
  names.delete(DEFAULT_NAMESPACE);
  const rows =
    names.size === 0
      ? []
      : await session.query<readonly [string]>(HOLD_NAMESPACES, [textArray([...names].sort())]);
  return new Set([DEFAULT_NAMESPACE, ...rows.map(([name]) => name)]);
}

async function cancelRun(session: Session, runId: RunId, nowMs: number): Promise<CancelVerdict> {
  // A run moves between pending and leased; reading pending, leased, pending again finds it in one of them.
  for (let attempt = 0; attempt < 2; attempt += 1) {
    const [pending] = await session.query<readonly [JobId]>(sql.FIND_PENDING_RUN, [runId]);
    if (pending && (await session.query(sql.END_DUE, [pending[0], nowMs, runId])).length > 0) return 'ended';
    const [before] = await session.query<readonly [boolean]>(IS_CANCEL_REQUESTED, [runId]);
    const leased = await session.query(REQUEST_CANCEL, [plainArray([runId])]);
    if (leased.length > 0) return before?.[0] ? 'asked_before' : 'asked';
  }
  return (await session.query(sql.FIND_FINISHED_RUN, [runId])).length > 0 ? 'finished' : 'unknown';
}

async function changePending(session: Session, change: JobChange): Promise<void> {
  const { jobId } = change.job;
  switch (change.pending.kind) {
    case 'keep':
      return;
    case 'replan':
      await session.query(sql.DELETE_CURSOR, [jobId]);
      await session.query(sql.DROP_UNSTARTED, [jobId]);
      if (change.pending.first) {
        await session.query(sql.UNLINK_END, [jobId]);
        await session.query(sql.UNLINK_LIVING_END, [jobId]);
      }
      await limitOneOff(session, jobId);
      if (change.pending.first) await addFirst(session, jobId, change.pending.first);
      return;
    case 'hold':
      await session.query(sql.HOLD_CURSOR, [jobId]);
      await session.query(sql.HOLD_DUE, [jobId]);
      return;
    case 'release':
      await session.query(sql.RELEASE_CURSOR, [jobId, change.nowMs]);
      await session.query(sql.RELEASE_DUE, [jobId, change.nowMs]);
      return;
    case 'drop':
      // End, request, end again: a retry queued between the first two is caught by the third. What is claimed in that
      // very moment is stopped through the worker's next heartbeat, which reads the job's status.
      await session.query(sql.DELETE_CURSOR, [jobId]);
      await session.query(sql.END_DUE, [jobId, change.nowMs, null]);
      await session.query(sql.CANCEL_LIVE_OF_JOB, [jobId]);
      await session.query(sql.END_DUE, [jobId, change.nowMs, null]);
  }
}

async function addFirst(session: Session, jobId: JobId, first: FirstDue): Promise<void> {
  if (first.kind === 'run') {
    await addRun(session, jobId, first.run);
    return;
  }
  const { fireAtMs, nominalAtMs } = first.cursor;
  await session.query(sql.ADD_CURSOR, [jobId, fireAtMs, nominalAtMs]);
}

/** The instant that is planned next. */
async function lockPlan(session: Session, jobId: JobId): Promise<number | undefined> {
  const [cursor] = await session.query<readonly [number]>(sql.LOCK_CURSOR, [jobId]);
  if (cursor) return cursor[0];
  const [run] = await session.query<readonly [number]>(sql.LOCK_UNSTARTED, [jobId]);
  return run?.[0];
}

export async function addRun(session: Session, jobId: JobId, run: NewRun): Promise<boolean> {
  const rows = await session.query(sql.ADD_DUE, [
    jobId,
    run.runId,
    kindCode(run.trigger),
    run.fireAtMs,
    run.nominalAtMs,
    run.endsJob,
  ]);
  if (rows.length === 0) return false;
  const { request } = run;
  if (request) {
    const { reason, input, payload, requestHash, originRunId, requestedBy } = request;
    const said = [reason, input, payload, requestHash, originRunId, requestedBy].map((text) => text ?? null);
    await session.query(sql.ADD_REQUEST, [run.runId, jobId, run.fireAtMs, ...said]);
  }
  if (run.rerunOf) await session.query(MARK_REDRIVEN, [run.rerunOf, run.runId]);
  await limitOneOff(session, jobId);
  return true;
}

/**
 * The only run of a one-off is alone no longer: it waits for a slot, or takes one, like the others of its job. It may be pending,
 * alive, or on its way from one to the other: reading pending twice finds it.
 */
async function limitOneOff(session: Session, jobId: JobId): Promise<void> {
  await session.query(sql.LIMIT_PENDING, [jobId]);
  await session.query(sql.LIMIT_LIVING, [jobId]);
  await session.query(sql.LIMIT_PENDING, [jobId]);
}
