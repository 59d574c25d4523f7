/** What is being run, in memory. Every call finds and takes within one turn, so nobody comes between. */
import type { ClaimedBatch, ClaimedRun, Job, JobId, RunId, WorkerId } from '@carillon/domain';
import type {
  ClaimRequest,
  HeldRef,
  HeldRun,
  LateReport,
  LeaseStore,
  LiveRun,
  PendingVerdict,
  Settlement,
  SettleVerdict,
} from '../lease-store.ts';
import type { ShardGuard } from '../shard-guard.ts';
import type { RunRecord } from './due-record.ts';
import { endPending, writeDeadLetter } from './end-run.ts';
import type { HeldRecord } from './lease-table.ts';
import { guardHolds, type MemoryState } from './memory-state.ts';
import { heldView } from './run-views.ts';
import { settleRun } from './settle-run.ts';

export class MemoryLeaseStore implements LeaseStore {
  readonly #state: MemoryState;

  constructor(state: MemoryState) {
    this.#state = state;
  }

  async claim(request: ClaimRequest): Promise<ClaimedBatch> {
    const { leaseId, workerId, nowMs: claimedAtMs } = request;
    if (this.#state.leases.hasLease(leaseId)) throw new Error(`lease ${leaseId} is there already`);
    const records: RunRecord[] = [];
    if (this.#state.workers.get(workerId)?.alive) {
      for (const { runId } of request.runs) {
        const record = this.#claimable(runId, request);
        if (!record) continue;
        this.#state.due.remove(record.rowId);
        records.push(record);
      }
    }
    const runs = records.map((run, position) => {
      this.#state.leases.add({
        ...{ leaseId, position, workerId, claimedAtMs, run },
        ...{ cancelRequested: false, shown: undefined },
      });
      const place = { leaseId, position, leaseSize: records.length, claimedAtMs };
      return claimedRun(run, this.#state.jobs.get(run.jobId)!, place);
    });
    return { leaseId, workerId, claimedAtMs, runs };
  }

  async settle(settlements: readonly Settlement[], nowMs: number): Promise<SettleVerdict[]> {
    return settlements.map((settlement) => settleRun(this.#state, settlement, nowMs));
  }

  async lockedJobs(): Promise<ReadonlySet<JobId>> {
    return new Set();
  }

  async held(refs: readonly HeldRef[]): Promise<(HeldRun | undefined)[]> {
    return refs.map((ref) => {
      const held = this.#state.leases.find(ref);
      return held && this.#heldRun(held);
    });
  }

  async heldBy(workers: readonly WorkerId[]): Promise<HeldRun[]> {
    return workers
      .flatMap((workerId) => this.#state.leases.ofWorker(workerId))
      .map((held) => this.#heldRun(held));
  }

  async live(shards: readonly number[]): Promise<LiveRun[]> {
    const wanted = new Set(shards);
    const live: LiveRun[] = [];
    for (const { run, claimedAtMs, workerId } of this.#state.leases.all()) {
      if (wanted.has(run.shard))
        live.push({ jobId: run.jobId, runId: run.runId, shard: run.shard, claimedAtMs, workerId });
    }
    return live;
  }

  async resolvePending(
    verdicts: readonly PendingVerdict[],
    { guard, nowMs }: { guard: ShardGuard; nowMs: number },
  ): Promise<ReadonlySet<RunId>> {
    const resolved = new Set<RunId>();
    for (const verdict of verdicts) {
      const record = this.#pending(verdict.run.runId, guard);
      if (!record) continue;
      this.#resolve(record, verdict, nowMs);
      resolved.add(record.runId);
    }
    return resolved;
  }

  async showRunning(
    refs: readonly (HeldRef & { readonly startedAtMs: number })[],
    nowMs: number,
  ): Promise<void> {
    for (const ref of refs) {
      const held = this.#state.leases.find(ref);
      if (!held) continue;
      const isNews = held.shown === undefined;
      held.shown = { startedAtMs: held.shown?.startedAtMs ?? ref.startedAtMs, atMs: nowMs };
      if (isNews) this.#state.events.runStarted(heldView(held));
    }
  }

  async recordLate(reports: readonly LateReport[]): Promise<void> {
    for (const late of reports) {
      const view = this.#state.history.get(late);
      if (view) this.#state.history.write({ ...view, lateReport: late.report });
    }
  }

  async requestCancel(runIds: readonly RunId[]): Promise<void> {
    for (const runId of runIds) {
      const held = this.#state.leases.ofRun(runId);
      if (held) held.cancelRequested = true;
    }
  }

  #claimable(runId: RunId, { guard, nowMs }: ClaimRequest): RunRecord | undefined {
    const record = this.#pending(runId, guard);
    return record && record.fireAtMs <= nowMs ? record : undefined;
  }

  #pending(runId: RunId, guard: ShardGuard): RunRecord | undefined {
    const record = this.#state.due.get(runId);
    if (record?.kind !== 'run' || record.held) return undefined;
    return guardHolds(this.#state, guard, record.shard) ? record : undefined;
  }

  #resolve(record: RunRecord, verdict: PendingVerdict, nowMs: number): void {
    if (verdict.kind === 'defer') {
      this.#state.due.put({ ...record, fireAtMs: verdict.untilMs, blockedReason: verdict.reason });
    } else if (verdict.kind === 'skip') {
      endPending(this.#state, record, { status: 'SKIPPED', reason: verdict.reason, nowMs });
    } else {
      const { error } = verdict;
      const attempts = record.attempt - 1;
      writeDeadLetter(this.#state, record, { reason: 'never_started', error, attempts, nowMs });
      endPending(this.#state, record, { status: 'FAILED', error, deadReason: 'never_started', nowMs });
    }
  }

  /** The retry policy is the job's present one: an edit holds from the next decision on. */
  #heldRun(held: HeldRecord): HeldRun {
    const { leaseId, position, workerId, claimedAtMs, cancelRequested } = held;
    const { epoch, jobId, runId, attempt, crashes, nominalAtMs } = held.run;
    const { retry, namespace, userId } = this.#state.jobs.get(jobId)!;
    return {
      ...{ leaseId, position, epoch, jobId, runId, workerId, attempt, crashes },
      ...{ nominalAtMs, claimedAtMs, retry, cancelRequested, namespace, userId },
    };
  }
}

function claimedRun(
  record: RunRecord,
  job: Job,
  place: Pick<ClaimedRun, 'leaseId' | 'position' | 'leaseSize' | 'claimedAtMs'>,
): ClaimedRun {
  const { jobId, runId, epoch, attempt, nominalAtMs } = record;
  const { handler, payload, timeoutMs } = job;
  return { ...place, jobId, runId, epoch, attempt, nominalAtMs, handler, payload, timeoutMs };
}
