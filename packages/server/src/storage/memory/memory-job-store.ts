/** Jobs in memory: definitions and their pending rows change together, within one turn. */
import type { Job, JobId, RunId } from '@carillon/domain';
import type { AuditEntry } from '../audit-store.ts';
import { NO_MESSAGE } from '../bound-failures.ts';
import type { FirstDue, NewRun } from '../due.ts';
import { kindOfChange } from '../event-store.ts';
import {
  type CancelVerdict,
  type Enqueued,
  type InsertedJob,
  isRefused,
  type JobChange,
  type JobList,
  type JobQuery,
  type JobStore,
  type JobWithPlan,
  type NewJob,
  type PendingChange,
  type SortedJob,
  type SortedJobQuery,
  type UpcomingFire,
  type UpcomingQuery,
} from '../job-store.ts';
import {
  cursorRecord,
  cursorTerms,
  isAskedFor,
  isUnstarted,
  type RunRecord,
  refreshedRun,
  runRecord,
} from './due-record.ts';
import { endPending } from './end-run.ts';
import { findJobs, findUpcoming, sortJobs } from './find-jobs.ts';
import { addAudit } from './memory-audit-store.ts';
import { addRun, limitOneOff, type MemoryState } from './memory-state.ts';
import { shownJob } from './run-views.ts';

export class MemoryJobStore implements JobStore {
  readonly #state: MemoryState;

  constructor(state: MemoryState) {
    this.#state = state;
  }

  async insert(jobs: readonly NewJob[], { atomic = false } = {}): Promise<InsertedJob[]> {
    this.#assertFresh(jobs);
    if (atomic) {
      const judged = this.#judge(jobs);
      if (judged.some(isRefused)) return judged;
    }
    return jobs.map((job) => this.#insertOne(job));
  }

  async owners(jobIds: readonly JobId[]): Promise<ReadonlyMap<JobId, Pick<Job, 'namespace' | 'userId'>>> {
    return new Map(
      jobIds.flatMap((jobId) => {
        const job = this.#state.jobs.get(jobId);
        return job ? [[jobId, { namespace: job.namespace, userId: job.userId }] as const] : [];
      }),
    );
  }

  async get(jobId: JobId): Promise<Job | undefined> {
    return shownJob(this.#state, this.#state.jobs.get(jobId));
  }

  async getForChange(jobId: JobId): Promise<JobWithPlan | undefined> {
    const job = shownJob(this.#state, this.#state.jobs.get(jobId));
    if (!job) return undefined;
    return {
      job,
      plannedNominalMs: this.#plannedNominalMs(jobId),
      lastNominalMs: this.#state.lastNominalMs.get(jobId),
    };
  }

  async findKey(namespace: string, key: string): Promise<JobId | undefined> {
    return this.#holder({ namespace, key });
  }

  async list(query: JobQuery): Promise<JobList> {
    return findJobs(this.#state, query);
  }

  async listSorted(query: SortedJobQuery): Promise<readonly SortedJob[] | 'too_many'> {
    return sortJobs(this.#state, query);
  }

  async upcoming(query: UpcomingQuery): Promise<{ fires: readonly UpcomingFire[]; partial: boolean }> {
    return { fires: findUpcoming(this.#state, query), partial: false };
  }

  async apply(change: JobChange): Promise<boolean | 'key_taken'> {
    const { job } = change;
    const current = shownJob(this.#state, this.#state.jobs.get(job.jobId));
    if (current?.version !== change.expectedVersion || current.status !== change.expectedStatus) return false;
    if (this.#plannedNominalMs(job.jobId) !== change.expectedPlannedNominalMs) return false;
    if ((this.#holder(job) ?? job.jobId) !== job.jobId) return 'key_taken';
    this.#state.jobs.set(job.jobId, job);
    this.#state.events.job(kindOfChange(change), job);
    this.#changePending(job, change.pending, change.nowMs);
    this.#write(change.audit);
    return true;
  }

  async enqueue(jobId: JobId, run: NewRun, audit?: AuditEntry): Promise<boolean> {
    const job = this.#state.jobs.get(jobId);
    if (!job || job.status === 'CANCELLED') return false;
    if (this.#state.due.get(run.runId) || this.#state.leases.ofRun(run.runId)) {
      throw new Error(`run ${run.runId} is there already`);
    }
    this.#addRun(job, run);
    this.#write(audit);
    return true;
  }

  async enqueueOnce(jobId: JobId, run: NewRun, audit?: AuditEntry): Promise<Enqueued> {
    const { due, leases, history } = this.#state;
    if (due.get(run.runId) || leases.ofRun(run.runId) || history.hasRun(run.runId))
      return this.#isOtherRequest(run) ? 'conflict' : 'known';
    return (await this.enqueue(jobId, run, audit)) ? 'added' : 'refused';
  }

  #isOtherRequest({ runId, request }: NewRun): boolean {
    const known = this.#state.requests.get(runId)?.request.requestHash;
    return known !== undefined && known !== request?.requestHash;
  }

  async remove(jobId: JobId, audit?: AuditEntry): Promise<boolean> {
    const { jobs, cursors, due, leases, deadLetters, idempotency, lastNominalMs, admissions } = this.#state;
    const job = jobs.get(jobId);
    if (!job || leases.ofJob(jobId).length > 0) return false;
    cursors.delete(jobId);
    for (const record of due.ofJob(jobId)) {
      due.remove(record.runId);
      admissions.free(jobId, record.runId);
    }
    for (const [key, row] of idempotency) if (row.jobId === jobId) idempotency.delete(key);
    for (const [runId, letter] of deadLetters) if (letter.jobId === jobId) deadLetters.delete(runId);
    const { requests } = this.#state;
    for (const [runId, row] of requests) if (row.jobId === jobId) requests.delete(runId);
    const { failures } = this.#state;
    for (const [key, row] of failures)
      if (row.jobId === jobId) failures.set(key, { ...row, message: NO_MESSAGE });
    lastNominalMs.delete(jobId);
    this.#state.events.job('job.deleted', job);
    this.#write(audit);
    return jobs.delete(jobId);
  }

  async cancelRun(runId: RunId, nowMs: number, audit?: AuditEntry): Promise<CancelVerdict> {
    const held = this.#state.leases.ofRun(runId);
    if (held) {
      const verdict = held.cancelRequested ? 'asked_before' : 'asked';
      held.cancelRequested = true;
      this.#write(audit);
      return verdict;
    }
    const record = this.#state.due.get(runId);
    if (record) {
      endPending(this.#state, record, { status: 'CANCELLED', nowMs });
      this.#write(audit);
      return 'ended';
    }
    return this.#state.history.hasRun(runId) ? 'finished' : 'unknown';
  }

  /** Before anything is written, so that a refused batch leaves nothing behind. */
  #assertFresh(jobs: readonly NewJob[]): void {
    const seen = new Set<JobId>();
    for (const { job, idempotency } of jobs) {
      if (idempotency && this.#state.idempotency.has(keyOf(job, idempotency.key))) continue;
      if (this.#state.jobs.has(job.jobId) || seen.has(job.jobId))
        throw new Error(`job ${job.jobId} is there already`);
      seen.add(job.jobId);
    }
  }

  /** What would become of them: the first with a key that is new makes it known to the others. */
  #judge(jobs: readonly NewJob[]): InsertedJob[] {
    const known = new Map(this.#state.idempotency);
    const holders: Job[] = [];
    return jobs.map((entry) => {
      const { job, idempotency } = entry;
      const judged = this.#judgeOne(entry, known, holders);
      if (judged.kind === 'inserted') holders.push(job);
      if (idempotency && judged.kind === 'inserted') {
        known.set(keyOf(job, idempotency.key), { jobId: job.jobId, requestHash: idempotency.requestHash });
      }
      return judged;
    });
  }

  /** holders: jobs that hold their keys besides those that are there. */
  #judgeOne(
    { job, idempotency }: NewJob,
    known: MemoryState['idempotency'],
    holders: readonly Job[] = [],
  ): InsertedJob {
    const { jobId, namespace } = job;
    if (!this.#state.namespaces.has(namespace)) return { kind: 'namespace_missing', jobId };
    const row = idempotency && known.get(keyOf(job, idempotency.key));
    if (!row) {
      const holder = this.#holder(job, holders);
      return holder === undefined ? { kind: 'inserted', jobId } : { kind: 'key_taken', jobId: holder };
    }
    return { kind: row.requestHash === idempotency.requestHash ? 'existing' : 'conflict', jobId: row.jobId };
  }

  #holder(
    { namespace, key }: Pick<Job, 'namespace' | 'key'>,
    others: readonly Job[] = [],
  ): JobId | undefined {
    if (key === undefined) return undefined;
    const holds = (job: Job) => job.key === key && job.namespace === namespace;
    return (others.find(holds) ?? [...this.#state.jobs.values()].find(holds))?.jobId;
  }

  #insertOne(entry: NewJob): InsertedJob {
    const { job, first, idempotency, audit } = entry;
    const judged = this.#judgeOne(entry, this.#state.idempotency);
    if (judged.kind !== 'inserted') return judged;
    if (idempotency) {
      this.#state.idempotency.set(keyOf(job, idempotency.key), {
        jobId: job.jobId,
        requestHash: idempotency.requestHash,
      });
    }
    this.#state.jobs.set(job.jobId, job);
    this.#state.events.job('job.created', job);
    if (first.kind === 'cursor') this.#state.cursors.set(job.jobId, cursorRecord(job, first.cursor));
    else this.#state.due.put(runRecord(job, first.run, 'open'));
    this.#write(audit);
    return judged;
  }

  #write(audit: AuditEntry | undefined): void {
    if (audit) addAudit(this.#state.audit, audit);
  }

  /** Added to a job that is there: others of its runs may wait or be alive. */
  #addRun(job: Job, run: NewRun): void {
    addRun(this.#state, job, run);
  }

  #plannedNominalMs(jobId: JobId): number | undefined {
    const { cursors, due } = this.#state;
    return (cursors.get(jobId) ?? due.ofJob(jobId).find(isUnstarted))?.nominalAtMs;
  }

  #changePending(job: Job, pending: PendingChange, nowMs: number): void {
    const { due } = this.#state;
    if (pending.kind === 'drop') this.#drop(job, nowMs);
    if (pending.kind === 'replan') {
      this.#dropPlan(job.jobId, { replaced: pending.first !== undefined });
      limitOneOff(this.#state, job.jobId);
    }
    this.#changeCursor(job, pending, nowMs);
    const records = due.ofJob(job.jobId);
    const last = pending.kind === 'release' ? this.#lastHeldBack(records) : undefined;
    for (const record of records) {
      const next = refreshedRun(record, job, nowMs);
      if (pending.kind === 'hold' && !isAskedFor(record)) due.put(this.#heldBack(next));
      else if (pending.kind === 'release' && record.held)
        due.put(released(next, { nowMs, isLast: record === last }));
      else due.put(next);
    }
    if (pending.kind === 'replan' && pending.first) this.#addFirst(job, pending.first);
  }

  #changeCursor(job: Job, pending: PendingChange, nowMs: number): void {
    const { cursors } = this.#state;
    const cursor = cursors.get(job.jobId);
    if (!cursor) return;
    const next = { ...cursor, ...cursorTerms(job) };
    if (pending.kind === 'hold') cursors.set(job.jobId, { ...next, held: true });
    else if (pending.kind === 'release' && cursor.held) {
      const resumedAtMs = cursor.fireAtMs < nowMs ? nowMs : undefined;
      cursors.set(job.jobId, {
        ...next,
        held: false,
        resumedAtMs,
        fireAtMs: Math.max(cursor.fireAtMs, nowMs),
      });
    } else cursors.set(job.jobId, next);
  }

  /** It gives up its slot: a run that a person asks for meanwhile may need it. */
  #heldBack(run: RunRecord): RunRecord {
    this.#state.admissions.free(run.jobId, run.runId);
    return { ...run, held: true, admitted: false, state: run.admitted ? 'planned' : run.state };
  }

  #addFirst(job: Job, first: FirstDue): void {
    if (first.kind === 'cursor') this.#state.cursors.set(job.jobId, cursorRecord(job, first.cursor));
    else this.#addRun(job, first.run);
  }

  /** With a new plan, what used to be the last run is the last no more: its end must not end the job. */
  #dropPlan(jobId: JobId, { replaced }: { replaced: boolean }): void {
    const { cursors, due, leases, admissions } = this.#state;
    cursors.delete(jobId);
    for (const record of due.ofJob(jobId)) {
      if (isUnstarted(record)) {
        due.remove(record.runId);
        admissions.free(jobId, record.runId);
      } else if (replaced) due.put({ ...record, endsJob: false });
    }
    if (!replaced) return;
    for (const held of leases.ofJob(jobId)) held.run = { ...held.run, endsJob: false };
  }

  #drop(job: Job, nowMs: number): void {
    const { cursors, due, leases } = this.#state;
    const { jobId } = job;
    cursors.delete(jobId);
    for (const record of due.ofJob(jobId))
      endPending(this.#state, refreshedRun(record, job, nowMs), { status: 'CANCELLED', nowMs });
    for (const held of leases.ofJob(jobId)) held.cancelRequested = true;
  }

  /** When the schedule is over, the last that a pause held back is what the job ends with. */
  #lastHeldBack(records: readonly RunRecord[]): RunRecord | undefined {
    const [first] = records;
    if (!first || this.#state.cursors.has(first.jobId)) return undefined;
    if (records.some((record) => record.trigger === 'once')) return undefined;
    return records
      .filter((record) => record.trigger === 'schedule')
      .sort((a, b) => b.nominalAtMs - a.nominalAtMs || (a.runId < b.runId ? 1 : -1))
      .at(0);
  }
}

function released(run: RunRecord, { nowMs, isLast }: { nowMs: number; isLast: boolean }): RunRecord {
  return {
    ...run,
    held: false,
    fireAtMs: Math.max(run.fireAtMs, nowMs),
    laneAtMs: Math.max(run.laneAtMs, nowMs),
    endsJob: run.endsJob || isLast,
  };
}

/** Two namespaces know nothing of each other's keys. */
function keyOf(job: Job, key: string): string {
  return `${job.namespace} ${key}`;
}
