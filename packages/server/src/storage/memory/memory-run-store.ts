/** Reads for people, composed from the three tables a run can be in: pending in `due`, leased in `leases`, ended in the history. */

import {
  type Job,
  type JobId,
  type PendingRun,
  RESULT_BYTES_MAX,
  type RunId,
  type RunRepeat,
  WAITING_RUNS_MAX,
  type WorkerId,
} from '@carillon/domain';
import type { RunRequest } from '../due.ts';
import type {
  DeadLetter,
  DeadLetterFilter,
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
import { WAITING_LISTED_MAX } from '../run-store.ts';
import { pendingRun, type RunRecord } from './due-record.ts';
import { isVisible, matcher } from './find-jobs.ts';
import { findRuns } from './find-runs.ts';
import type { LeasedRecord } from './lease-table.ts';
import { addAudit } from './memory-audit-store.ts';
import { addRun, type MemoryState, type StoredLetter } from './memory-state.ts';
import { isShown, leasedView, offeredIn, queuedView, readView } from './run-views.ts';

interface Composed {
  readonly leased: readonly LeasedRecord[];
  readonly due: readonly RunRecord[];
  readonly history: readonly RunView[];
}

export class MemoryRunStore implements RunStore {
  readonly #state: MemoryState;

  constructor(state: MemoryState) {
    this.#state = state;
  }

  async pending(jobId: JobId, limit: number): Promise<PendingRun[]> {
    return this.#state.due
      .ofJob(jobId)
      .sort(
        (a, b) => a.fireAtMs - b.fireAtMs || a.nominalAtMs - b.nominalAtMs || (a.runId < b.runId ? -1 : 1),
      )
      .slice(0, limit)
      .map(pendingRun);
  }

  async ofJob(jobId: JobId, page: RunPage, nowMs: number): Promise<RunView[]> {
    return this.#page(this.#ofJob(jobId), page, nowMs);
  }

  async list(query: RunQuery): Promise<RunList> {
    return findRuns(this.#state, query);
  }

  async latestOfJob(jobId: JobId, nowMs: number): Promise<RunView | undefined> {
    return this.#page(this.#ofJob(jobId), { limit: 1 }, nowMs)[0];
  }

  async activityOfJob(jobId: JobId, nowMs: number): Promise<JobActivity> {
    const { due, leases } = this.#state;
    const waiting = due.ofJob(jobId);
    const [first] = waiting.filter((record) => isShown(record, nowMs)).sort((a, b) => latestFirst(b, a));
    return {
      isRunning: leases.ofJob(jobId).length > 0,
      isWaiting: waiting.length > 0,
      waitingRuns: Math.min(waiting.filter((record) => isShown(record, nowMs)).length, WAITING_RUNS_MAX),
      waitsFor: first && queuedView(first, nowMs, offeredIn(this.#state)).waitsFor,
    };
  }

  async waitingOfJobs(jobIds: readonly JobId[], nowMs: number) {
    const isOffered = offeredIn(this.#state);
    const found = new Map<JobId, Pick<JobActivity, 'waitingRuns' | 'waitsFor'>>();
    for (const jobId of jobIds) {
      const waiting = this.#state.due
        .ofJob(jobId)
        .filter((record) => isShown(record, nowMs))
        .sort((a, b) => (a.runId < b.runId ? -1 : 1))
        .slice(0, WAITING_LISTED_MAX)
        .sort((a, b) => a.fireAtMs - b.fireAtMs);
      const waitsFor = waiting[0] && queuedView(waiting[0], nowMs, isOffered).waitsFor;
      if (waiting.length > 0) found.set(jobId, { waitingRuns: waiting.length, waitsFor });
    }
    return found;
  }

  async lastOfJobs(jobIds: readonly JobId[]): Promise<ReadonlyMap<JobId, RunView>> {
    const { leases, history } = this.#state;
    return new Map(
      jobIds.flatMap((jobId) => {
        const [living] = leases.ofJob(jobId).map(leasedView).sort(newestFirst);
        const last = living ?? [...history.ofJob(jobId)].sort(newestFirst)[0];
        return last ? [[jobId, { ...readView(this.#state, last), result: undefined }] as const] : [];
      }),
    );
  }

  async latest(runIds: readonly RunId[], nowMs: number): Promise<ReadonlyMap<RunId, LatestAttempt>> {
    const found = new Map<RunId, LatestAttempt>();
    for (const runId of runIds) {
      const [attempt] = await this.attempts(runId, nowMs);
      if (!attempt) continue;
      const { jobId, status, epoch, trigger, scheduledAtMs } = attempt;
      const job = this.#state.jobs.get(jobId);
      found.set(runId, {
        ...{ runId, jobId, status, epoch, trigger, scheduledAtMs },
        job: job && { namespace: job.namespace, userId: job.userId },
      });
    }
    return found;
  }

  async attempts(runId: RunId, nowMs: number): Promise<RunView[]> {
    const { leases, due, history } = this.#state;
    const leased = leases.ofRun(runId);
    const waiting = due.get(runId);
    const composed = {
      leased: leased ? [leased] : [],
      due: waiting ? [waiting] : [],
      history: history.ofRun(runId),
    };
    const views = this.#compose(composed, nowMs).map((view) => readView(this.#state, view));
    return views.sort((a, b) => b.epoch - a.epoch);
  }

  async onWorker(workerId: string, page: RunPage, nowMs: number): Promise<RunView[]> {
    const leased = this.#state.leases.ofWorker(workerId as WorkerId);
    return this.#page({ leased, due: [], history: [] }, page, nowMs);
  }

  async deadLetters({ before, visible, ...query }: DeadLetterQuery): Promise<DeadLetterList> {
    const { jobs, deadLetters } = this.#state;
    const letters = [...deadLetters.values()]
      .filter((letter) => {
        const job = jobs.get(letter.jobId);
        return job !== undefined && isVisible(job, visible) && matches({ letter, job }, query);
      })
      .filter(
        ({ diedAtMs, runId }) =>
          !before || diedAtMs < before.diedAtMs || (diedAtMs === before.diedAtMs && runId < before.runId),
      )
      .sort((a, b) => b.diedAtMs - a.diedAtMs || (a.runId < b.runId ? 1 : -1))
      .slice(0, query.limit)
      .map((letter) => this.#named(letter));
    return { letters, stoppedAt: undefined };
  }

  async deadLetter(runId: RunId): Promise<DeadLetter | undefined> {
    const letter = this.#state.deadLetters.get(runId);
    return letter && this.#named(letter);
  }

  /** A letter is redriven once: a second press of the button finds it gone. */
  async redrive(runId: RunId, as: Redrive): Promise<boolean> {
    const { deadLetters, jobs, checkpoints } = this.#state;
    const letter = deadLetters.get(runId);
    const job = letter && jobs.get(letter.jobId);
    if (!letter || letter.redrivenAs || !job || job.status === 'CANCELLED') return false;
    deadLetters.set(runId, { ...letter, redrivenAs: as.runId });
    if (as.audit) addAudit(this.#state.audit, as.audit);
    const nominalAtMs = letter.scheduledAtMs;
    const run = {
      runId: as.runId,
      fireAtMs: as.nowMs,
      nominalAtMs,
      trigger: 'redrive',
      endsJob: false,
      request: as.request,
    } as const;
    addRun(this.#state, job, run);
    const checkpoint = checkpoints.get(runId);
    // Its numbers are another worker's: whatever the new run saves comes after it.
    if (checkpoint) checkpoints.set(as.runId, { ...checkpoint, sequence: -1 });
    checkpoints.delete(runId);
    return true;
  }

  async request(runId: RunId): Promise<RunRequest | undefined> {
    return this.#state.requests.get(runId)?.request;
  }

  async repeatsOf(runId: RunId, limit: number): Promise<RunRepeat[]> {
    return [...this.#state.requests]
      .filter(([, { request }]) => request.originRunId === runId)
      .map(([id, { request, requestedAtMs }]) => ({
        ...{ runId: id, requestedBy: request.requestedBy, requestedAtMs },
      }))
      .sort((a, b) => b.requestedAtMs - a.requestedAtMs || (a.runId < b.runId ? -1 : 1))
      .slice(0, limit);
  }

  #ofJob(jobId: JobId): Composed {
    const { leases, due, history } = this.#state;
    return { leased: leases.ofJob(jobId), due: due.ofJob(jobId), history: history.ofJob(jobId) };
  }

  /** `before` is a cursor in the history: alive and waiting runs stand on the pages that are asked for without it. */
  #page(composed: Composed, page: RunPage, nowMs: number): RunView[] {
    const { before, limit, offset = 0 } = page;
    const rows = before
      ? composed.history.filter((view) => newestFirst(before, view) < 0).sort(newestFirst)
      : this.#compose(composed, nowMs);
    const { resultCharsMax = RESULT_BYTES_MAX } = page;
    return rows.slice(offset, offset + limit).map((view) => ({
      ...readView(this.#state, view),
      result: view.result?.slice(0, resultCharsMax) || undefined,
    }));
  }

  #compose({ leased, due, history }: Composed, nowMs: number): RunView[] {
    const isOffered = offeredIn(this.#state);
    const waiting = due.filter((record) => isShown(record, nowMs));
    return [
      ...leased.map(leasedView).sort(newestFirst),
      ...waiting.sort(latestFirst).map((run) => queuedView(run, nowMs, isOffered)),
      ...[...history].sort(newestFirst),
    ];
  }

  #named(letter: StoredLetter): DeadLetter {
    const job = this.#state.jobs.get(letter.jobId);
    return { ...letter, jobName: job?.name, namespace: job?.namespace, userId: job?.userId };
  }
}

const matches = matcher<{ letter: StoredLetter; job: Job }, DeadLetterFilter>({
  jobId: ({ job }, jobId) => job.jobId === jobId,
  reason: ({ letter }, reason) => letter.reason === reason,
  handler: ({ job }, handler) => job.handler === handler,
  namespace: ({ job }, namespace) => job.namespace === namespace,
  userId: ({ job }, userId) => job.userId === userId,
  handled: ({ letter }, handled) => ((letter.redrivenAs ?? letter.resolvedBy) !== undefined) === handled,
  error: ({ letter }, error) => letter.error?.toLowerCase().includes(error.toLowerCase()) === true,
  diedFromMs: ({ letter }, fromMs) => letter.diedAtMs >= fromMs,
  diedToMs: ({ letter }, toMs) => letter.diedAtMs < toMs,
});

function latestFirst(a: RunRecord, b: RunRecord): number {
  return b.fireAtMs - a.fireAtMs || (a.runId < b.runId ? 1 : -1);
}

function newestFirst(
  a: Pick<RunView, 'createdAtMs' | 'runId'> & Partial<RunView>,
  b: Pick<RunView, 'createdAtMs' | 'runId'> & Partial<RunView>,
): number {
  if (a.createdAtMs !== b.createdAtMs) return b.createdAtMs - a.createdAtMs;
  if (a.runId !== b.runId) return a.runId < b.runId ? 1 : -1;
  return (b.epoch ?? 0) - (a.epoch ?? 0);
}
