/** Firing and admission in memory: the compare-and-set on the cursor and all that follows happen within one turn. */
import { type JobId, QUEUED_PER_JOB_MAX, RUN_ERRORS, type RunId, SHARD_COUNT } from '@carillon/domain';
import type { Cursor } from '../due.ts';
import { type LaneHint, namespaceKey, namespaceOf } from '../lane.ts';
import {
  type Admission,
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
  type SkippedRange,
  type WaitingJob,
} from '../schedule-store.ts';
import { type CursorRecord, isAskedFor, openedAt, type RunRecord, runRecord } from './due-record.ts';
import { endJob, endPending, writeDeadLetter } from './end-run.ts';
import { guardHolds, type MemoryState } from './memory-state.ts';
import { endedPendingView, servesTenant } from './run-views.ts';

export class MemoryScheduleStore implements ScheduleStore {
  readonly #state: MemoryState;

  constructor(state: MemoryState) {
    this.#state = state;
  }

  async readCursors(positions: readonly ShardPosition[], window: ReadWindow): Promise<Cursor[]> {
    const cursors = [...this.#state.cursors.values()].filter((cursor) => !cursor.held);
    return readFrom(positions, window, cursors, ({ jobId }) => jobId).map(
      ({ held: _held, ...cursor }) => cursor,
    );
  }

  async readPlanned(positions: readonly ShardPosition[], window: ReadWindow): Promise<PlannedRun[]> {
    const planned = [...this.#state.due.all()].filter(({ state, held }) => state === 'planned' && !held);
    return readFrom(positions, window, planned, ({ runId }) => runId).map(
      ({ jobId, runId, shard, fireAtMs }) => ({
        ...{ jobId, runId, shard, fireAtMs },
      }),
    );
  }

  async fire(fires: readonly Fire[], { guard, nowMs }: OwnerOptions): Promise<Fired> {
    const jobIds = new Set<JobId>();
    const opened: LaneHint[] = [];
    const waiting = new Set<JobId>();
    let skipped = 0;
    for (const fire of fires) {
      const cursor = this.#unchanged(fire, guard);
      if (!cursor) continue;
      jobIds.add(cursor.jobId);
      const made = this.#fireOne(fire, cursor, nowMs);
      skipped += fire.runs.length - made.length;
      for (const run of made) {
        if (run.state === 'open') opened.push({ ...run.lane, atMs: nowMs });
        else waiting.add(run.jobId);
      }
    }
    return { jobIds, later: new Set(), opened, waiting: this.#waitingJobs(waiting), skipped };
  }

  async admit(
    jobIds: readonly JobId[],
    { guard, nowMs, runsPerJob }: OwnerOptions & { runsPerJob: number },
  ): Promise<Admission> {
    const { due, jobs, admissions } = this.#state;
    const opened: LaneHint[] = [];
    const waiting = new Set<JobId>();
    const more = new Set<JobId>();
    for (const jobId of new Set(jobIds)) {
      const job = jobs.get(jobId);
      if (!job || !guardHolds(this.#state, guard, job.shard)) continue;
      const left = { open: runsPerJob, wait: runsPerJob };
      for (const run of this.#wanting(jobId, nowMs)) {
        if (left.open > 0 && admissions.take(jobId, run.runId, job.maxConcurrency)) {
          left.open -= 1;
          due.put(openedAt(run, nowMs));
          opened.push({ ...run.lane, atMs: nowMs });
          continue;
        }
        waiting.add(jobId);
        if (run.state !== 'planned' || left.wait === 0) continue;
        left.wait -= 1;
        due.put({ ...run, state: 'waiting' });
      }
      if (left.open === 0 || left.wait === 0) more.add(jobId);
    }
    return { opened, waiting: this.#waitingJobs(waiting), more: [...more] };
  }

  async replace(jobIds: readonly JobId[], { guard, nowMs }: OwnerOptions): Promise<RunId[]> {
    const { due, jobs, leases, admissions } = this.#state;
    const stopped: RunId[] = [];
    for (const jobId of jobIds) {
      const job = jobs.get(jobId);
      if (job?.overlap !== 'replace' || !guardHolds(this.#state, guard, job.shard)) continue;
      const fresh = due.ofJob(jobId).filter(isFreshOccurrence);
      const newestMs = Math.max(...fresh.map((run) => run.nominalAtMs));
      for (const run of fresh) {
        if (run.nominalAtMs < newestMs && !run.endsJob)
          endPending(this.#state, run, { status: 'SKIPPED', reason: 'replaced', nowMs });
      }
      const waits = due.ofJob(jobId).some((run) => run.state !== 'open' && isFreshOccurrence(run));
      if (!waits || admissions.count(jobId) < job.maxConcurrency) continue;
      const [oldest] = leases
        .ofJob(jobId)
        .filter(({ run }) => !isAskedFor(run))
        .sort((a, b) => a.claimedAtMs - b.claimedAtMs || (a.run.runId < b.run.runId ? -1 : 1));
      if (!oldest) continue;
      oldest.cancelRequested = true;
      stopped.push(oldest.run.runId);
    }
    return stopped;
  }

  async reconcile({ guard, nowMs, limit }: OwnerOptions & { limit: number }): Promise<WaitingJob[]> {
    const { due, jobs, leases, admissions } = this.#state;
    for (const { jobId, runId } of [...admissions.all()]) {
      const job = jobs.get(jobId);
      if (job && !guardHolds(this.#state, guard, job.shard)) continue;
      const run = due.get(runId);
      const isOpen = run?.state === 'open' && run.admitted && !run.held;
      if (!isOpen && !leases.ofRun(runId)) admissions.free(jobId, runId);
    }
    const waiting = new Set<JobId>();
    for (const run of due.all()) {
      const job = jobs.get(run.jobId);
      if (!job || run.held || run.state === 'open' || !guardHolds(this.#state, guard, job.shard)) continue;
      if (run.state === 'planned' && run.fireAtMs > nowMs) continue;
      const hasRoom = admissions.count(job.jobId) < job.maxConcurrency;
      if (hasRoom || (job.overlap === 'replace' && isFreshOccurrence(run))) waiting.add(job.jobId);
    }
    return this.#waitingJobs(waiting).slice(0, limit);
  }

  async expire({ guard, nowMs, limit }: OwnerOptions & { limit: number }): Promise<GivenUpRun[]> {
    return this.#giveUp(
      ({ expiresAtMs, shard }) =>
        expiresAtMs !== undefined && expiresAtMs < nowMs && guardHolds(this.#state, guard, shard),
      { limit, nowMs, error: RUN_ERRORS.startTimeout },
    );
  }

  async expireUnoffered({
    guard,
    nowMs,
    beforeMs,
    limit,
  }: OwnerOptions & { beforeMs: number; limit: number }): Promise<GivenUpRun[]> {
    const { workers, handlerOffers, namespaceOffers } = this.#state;
    for (const offers of [handlerOffers, ...namespaceOffers.values()]) {
      for (const [handler, offeredAtMs] of offers) if (offeredAtMs < beforeMs) offers.delete(handler);
    }
    for (const [namespace, offers] of namespaceOffers)
      if (offers.size === 0) namespaceOffers.delete(namespace);
    const lately = [...workers.values()].filter(({ alive, lastSeenMs }) => alive || lastSeenMs >= beforeMs);
    const isOffered = ({ handler, lane: { tenant } }: RunRecord) =>
      handlerOffers.has(handler) ||
      [...namespaceOffers].some(
        ([name, offers]) => namespaceKey(name) === namespaceOf(tenant) && offers.has(handler),
      ) ||
      lately.some((worker) => worker.handlers.includes(handler) && servesTenant(worker, tenant));
    return this.#giveUp(
      (run) =>
        run.state === 'open' &&
        run.laneAtMs < beforeMs &&
        !isOffered(run) &&
        guardHolds(this.#state, guard, run.shard),
      {
        ...{ limit, nowMs },
        error: ({ handler }) => RUN_ERRORS.nobodyOffers(handler),
      },
    );
  }

  #giveUp(
    isWanted: (run: RunRecord) => boolean,
    { limit, nowMs, error }: { limit: number; nowMs: number; error: (run: RunRecord) => string },
  ): GivenUpRun[] {
    const wanted = [...this.#state.due.all()].filter((run) => !run.held && isWanted(run)).slice(0, limit);
    for (const run of wanted) {
      const death = { reason: 'never_started', error: error(run), attempts: run.attempt - 1, nowMs } as const;
      writeDeadLetter(this.#state, run, death);
      endPending(this.#state, run, {
        ...{ status: 'FAILED', error: death.error, deadReason: 'never_started', nowMs },
      });
    }
    return wanted.map(({ jobId, runId }) => ({ jobId, runId }));
  }

  /** What asks and is due, and what waits, the oldest first. */
  #wanting(jobId: JobId, nowMs: number): RunRecord[] {
    return this.#state.due
      .ofJob(jobId)
      .filter(
        ({ state, held, fireAtMs }) =>
          !held && (state === 'waiting' || (state === 'planned' && fireAtMs <= nowMs)),
      )
      .sort(
        (a, b) => a.fireAtMs - b.fireAtMs || a.nominalAtMs - b.nominalAtMs || (a.runId < b.runId ? -1 : 1),
      );
  }

  #waitingJobs(jobIds: Iterable<JobId>): WaitingJob[] {
    return [...jobIds].map((jobId) => ({
      jobId,
      replaces: this.#state.jobs.get(jobId)?.overlap === 'replace',
    }));
  }

  /** SCHED-1. */
  #unchanged({ cursor }: Fire, guard: ShardGuard): CursorRecord | undefined {
    const record = this.#state.cursors.get(cursor.jobId);
    if (!record || record.held) return undefined;
    if (record.nominalAtMs !== cursor.nominalAtMs || record.jobVersion !== cursor.jobVersion)
      return undefined;
    return guardHolds(this.#state, guard, record.shard) ? record : undefined;
  }

  /** Answers the runs that are open or wait. */
  #fireOne(fire: Fire, cursor: CursorRecord, nowMs: number): RunRecord[] {
    const { due, jobs, admissions, lastNominalMs, cursors } = this.#state;
    const job = jobs.get(cursor.jobId)!;
    const queued = this.#wanting(job.jobId, nowMs).length;
    const room = job.maxConcurrency - admissions.count(job.jobId);
    const made: RunRecord[] = [];
    for (const skipped of fire.skipped) this.#recordSkipped(skipped, cursor, nowMs);
    const last = lastJudgedMs(fire);
    if (last !== undefined) lastNominalMs.set(job.jobId, last);
    if (fire.next) cursors.set(job.jobId, { ...cursor, ...fire.next, resumedAtMs: undefined });
    else cursors.delete(job.jobId);

    let isLastSkipped = fire.runs.length === 0;
    fire.runs.forEach(({ runId, nominalAtMs }, i) => {
      const endsJob = fire.next === undefined && i === fire.runs.length - 1;
      const plan = { runId, nominalAtMs, fireAtMs: nowMs, trigger: 'schedule', endsJob } as const;
      const run = runRecord(job, plan, 'waiting');
      // SCHED-3, SCHED-4: skipped only while every slot is taken; where others wait for a free slot, it waits with them.
      const isSkipped = job.overlap === 'skip' && (room <= 0 || (queued === 0 && i >= room));
      if (queued === 0 && admissions.take(job.jobId, runId, job.maxConcurrency)) {
        made.push({ ...run, state: 'open', admitted: true });
      } else if (isSkipped || queued + i + 1 > QUEUED_PER_JOB_MAX) {
        const reason = isSkipped ? 'overlap' : 'queue_full';
        const view = endedPendingView(run, { status: 'SKIPPED', reason, nowMs });
        this.#state.history.write(view);
        this.#state.events.runEnded(view);
        isLastSkipped ||= endsJob;
      } else made.push(run);
    });
    for (const run of made) due.put(run);
    if (!fire.next && isLastSkipped) endJob(this.#state, job.jobId, { status: 'COMPLETED', nowMs });
    return made;
  }

  #recordSkipped(skipped: SkippedRange, cursor: CursorRecord, nowMs: number): void {
    const job = this.#state.jobs.get(cursor.jobId)!;
    const { runId, fromMs, count, reason } = skipped;
    const plan = {
      runId,
      nominalAtMs: fromMs,
      fireAtMs: nowMs,
      trigger: 'schedule',
      endsJob: false,
    } as const;
    const view = endedPendingView(runRecord(job, plan, 'waiting'), { status: 'SKIPPED', reason, nowMs });
    // Epoch 0: nothing of it could ever be handed out.
    const skip = { ...view, occurrences: count, epoch: 0, endedAtMs: undefined };
    this.#state.history.write(skip);
    this.#state.events.runEnded(skip);
  }
}

/** An occurrence of the schedule that was never begun: a newer one may replace it. */
function isFreshOccurrence(run: RunRecord): boolean {
  return !isAskedFor(run) && run.trigger === 'schedule' && run.attempt === 1 && run.epoch === 1 && !run.held;
}

function readFrom<Row extends { readonly shard: number; readonly fireAtMs: number }>(
  positions: readonly ShardPosition[],
  { untilMs, limitPerShard }: ReadWindow,
  rows: readonly Row[],
  idOf: (row: Row) => string,
): Row[] {
  const byShard = new Array<Row[]>(SHARD_COUNT);
  for (const row of rows) byShard[row.shard] = [...(byShard[row.shard] ?? []), row];
  return positions.flatMap(({ shard, afterMs, afterId }) =>
    (byShard[shard] ?? [])
      .filter((row) => row.fireAtMs <= untilMs)
      .filter((row) => row.fireAtMs > afterMs || (row.fireAtMs === afterMs && idOf(row) > afterId))
      .sort((a, b) => a.fireAtMs - b.fireAtMs || (idOf(a) < idOf(b) ? -1 : 1))
      .slice(0, limitPerShard),
  );
}
