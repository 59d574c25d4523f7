/** Jobs in memory: definitions and their pending rows change together, within one turn. */
import type { Job, JobId, RunId } from '@carillon/domain';
import type { AuditEntry } from '../audit-store.ts';
import type { NewRun } from '../due.ts';
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
import { type DueRecord, firstRecord, isAskedFor, isPlan, refreshed, runRecord } from './due-record.ts';
import { endPending } from './end-run.ts';
import { findJobs, findUpcoming, sortJobs } from './find-jobs.ts';
import { addAudit } from './memory-audit-store.ts';
import type { MemoryState } from './memory-state.ts';

export class MemoryJobStore implements JobStore {
  readonly #state: MemoryState;

  constructor(state: MemoryState) {
    this.#state = state;
  }

  async insert(jobs: readonly NewJob[], { whole = false } = {}): Promise<InsertedJob[]> {
    this.#assertFresh(jobs);
    if (whole) {
      const judged = this.#judge(jobs);
      if (judged.some(isRefused)) return judged;
    }
    return jobs.map((job) => this.#insertOne(job));
  }

  async get(jobId: JobId): Promise<Job | undefined> {
    return this.#state.jobs.get(jobId);
  }

  async getForChange(jobId: JobId): Promise<JobWithPlan | undefined> {
    const job = this.#state.jobs.get(jobId);
    if (!job) return undefined;
    return {
      job,
      plannedNominalMs: this.#plannedNominalMs(jobId),
      lastNominalMs: this.#state.lastNominalMs.get(jobId),
    };
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

  async apply(change: JobChange): Promise<boolean> {
    const { job } = change;
    const current = this.#state.jobs.get(job.jobId);
    if (current?.version !== change.expectedVersion || current.status !== change.expectedStatus) return false;
    if (this.#plannedNominalMs(job.jobId) !== change.expectedPlannedNominalMs) return false;
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
    this.#state.due.put(runRecord(job, run));
    this.#write(audit);
    return true;
  }

  async enqueueOnce(jobId: JobId, run: NewRun, audit?: AuditEntry): Promise<Enqueued> {
    const { due, leases, history } = this.#state;
    if (due.get(run.runId) || leases.ofRun(run.runId) || history.hasRun(run.runId)) return 'known';
    return (await this.enqueue(jobId, run, audit)) ? 'added' : 'refused';
  }

  async remove(jobId: JobId, audit?: AuditEntry): Promise<boolean> {
    const { jobs, due, leases, deadLetters, idempotency, lastNominalMs } = this.#state;
    const job = jobs.get(jobId);
    if (!job || leases.ofJob(jobId).length > 0) return false;
    for (const record of due.ofJob(jobId)) due.remove(record.rowId);
    for (const [key, row] of idempotency) if (row.jobId === jobId) idempotency.delete(key);
    for (const [runId, letter] of deadLetters) if (letter.jobId === jobId) deadLetters.delete(runId);
    lastNominalMs.delete(jobId);
    this.#state.events.job('job.deleted', job);
    this.#write(audit);
    return jobs.delete(jobId);
  }

  async cancelRun(runId: RunId, nowMs: number, audit?: AuditEntry): Promise<CancelVerdict> {
    const held = this.#state.leases.ofRun(runId);
    if (held) {
      held.cancelRequested = true;
      this.#write(audit);
      return 'asked';
    }
    const record = this.#state.due.get(runId);
    if (record?.kind === 'run') {
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
    return jobs.map((entry) => {
      const { job, idempotency } = entry;
      const judged = this.#judgeOne(entry, known);
      if (idempotency && judged.kind === 'inserted') {
        known.set(keyOf(job, idempotency.key), { jobId: job.jobId, requestHash: idempotency.requestHash });
      }
      return judged;
    });
  }

  #judgeOne({ job, idempotency }: NewJob, known: MemoryState['idempotency']): InsertedJob {
    const { jobId, namespace } = job;
    if (!this.#state.namespaces.has(namespace)) return { kind: 'homeless', jobId };
    const row = idempotency && known.get(keyOf(job, idempotency.key));
    if (!row) return { kind: 'inserted', jobId };
    return { kind: row.requestHash === idempotency.requestHash ? 'existing' : 'conflict', jobId: row.jobId };
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
    this.#state.due.put(firstRecord(job, first));
    this.#write(audit);
    return judged;
  }

  #write(audit: AuditEntry | undefined): void {
    if (audit) addAudit(this.#state.audit, audit);
  }

  #plannedNominalMs(jobId: JobId): number | undefined {
    return this.#state.due.ofJob(jobId).find(isPlan)?.nominalAtMs;
  }

  #changePending(job: Job, pending: PendingChange, nowMs: number): void {
    const { due } = this.#state;
    if (pending.kind === 'drop') this.#drop(job.jobId, nowMs);
    if (pending.kind === 'replan') this.#dropPlan(job.jobId, { replaced: pending.first !== undefined });
    const records = due.ofJob(job.jobId);
    const last = pending.kind === 'release' ? lastHeldBack(records) : undefined;
    for (const record of records) {
      const isHeld =
        pending.kind === 'hold' ? !isAskedFor(record) : pending.kind !== 'release' && record.held;
      const isReleased = record.held && !isHeld;
      const fireAtMs = isReleased ? Math.max(record.fireAtMs, nowMs) : record.fireAtMs;
      const next = { ...refreshed(record, job), held: isHeld, fireAtMs };
      due.put(record === last && next.kind === 'run' ? { ...next, endsJob: true } : next);
    }
    if (pending.kind === 'replan' && pending.first) due.put(firstRecord(job, pending.first));
  }

  /** With a new plan, what used to be the last run is the last no more: its end must not end the job. */
  #dropPlan(jobId: JobId, { replaced }: { replaced: boolean }): void {
    const { due, leases } = this.#state;
    for (const record of due.ofJob(jobId)) {
      if (isPlan(record)) due.remove(record.rowId);
      else if (replaced && record.kind === 'run') due.put({ ...record, endsJob: false });
    }
    if (!replaced) return;
    for (const held of leases.ofJob(jobId)) held.run = { ...held.run, endsJob: false };
  }

  #drop(jobId: JobId, nowMs: number): void {
    const { due, leases } = this.#state;
    for (const record of due.ofJob(jobId)) {
      if (record.kind === 'cursor') due.remove(record.rowId);
      else endPending(this.#state, record, { status: 'CANCELLED', nowMs });
    }
    for (const held of leases.ofJob(jobId)) held.cancelRequested = true;
  }
}

/** Two namespaces know nothing of each other's keys. */
function keyOf(job: Job, key: string): string {
  return `${job.namespace} ${key}`;
}

/** When the schedule is over, the last that a pause held back is what the job ends with. */
function lastHeldBack(records: readonly DueRecord[]): DueRecord | undefined {
  if (records.some((record) => record.kind === 'cursor' || record.trigger === 'once')) return undefined;
  return records
    .filter((record) => record.kind === 'run' && record.trigger === 'schedule')
    .sort((a, b) => b.nominalAtMs - a.nominalAtMs || (a.rowId < b.rowId ? 1 : -1))
    .at(0);
}
