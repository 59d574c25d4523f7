/** Leases in memory. Every call finds and takes within one turn of the event loop, so each run has one taker (DISP-1). */
import { type ClaimedRun, type Job, type JobId, namesSecrets, type WorkerId } from '@carillon/domain';
import { firstEpochOf } from '../generation-store.ts';
import { LANE_START, type LaneHead, type LaneHint, type LaneKey, namespaceKey } from '../lane.ts';
import {
  CLAIM_BYTES_MAX,
  type Claimed,
  type ClaimRequest,
  type LaneScan,
  type LateReport,
  type LeasedRun,
  type LeaseRef,
  type LeaseStore,
  type OverdueRun,
  type Settled,
  type Settlement,
  SMALL_PAYLOAD_BYTES_MAX,
} from '../lease-store.ts';
import { dueAtMs, type RunRecord } from './due-record.ts';
import { compareLanes } from './due-table.ts';
import { recoverJobs } from './end-run.ts';
import type { LeasedRecord } from './lease-table.ts';
import type { MemoryState } from './memory-state.ts';
import { leasedView } from './run-views.ts';
import { type SettledRun, settleRun } from './settle-run.ts';

export class MemoryLeaseStore implements LeaseStore {
  readonly #state: MemoryState;

  constructor(state: MemoryState) {
    this.#state = state;
  }

  async lanes({ after, limit }: { after: LaneKey | undefined; limit: number }): Promise<LaneHead[]> {
    const heads = this.#state.due.heads();
    return heads.filter((head) => after === undefined || compareLanes(head, after) > 0).slice(0, limit);
  }

  async claim(request: ClaimRequest): Promise<Claimed> {
    const { leaseId, workerId, nowMs: claimedAtMs, pick } = request;
    if (this.#state.leases.hasLease(leaseId)) throw new Error(`lease ${leaseId} is there already`);
    const records: RunRecord[] = [];
    const scans: LaneScan[] = [];
    // DISP-7.
    const isCut =
      this.#state.workers.get(workerId)?.alive === true &&
      this.#pickLanes(pick, { records, scans, nowMs: claimedAtMs });
    for (const record of records) this.#state.due.remove(record.runId);
    const firstEpoch = firstEpochOf(this.#state.generation);
    const runs = records.map((record, position) => {
      const run = { ...record, epoch: Math.max(record.epoch, firstEpoch) };
      this.#state.leases.add({
        ...{ leaseId, position, workerId, claimedAtMs, run },
        timeoutMs: this.#state.jobs.get(run.jobId)!.timeoutMs,
        ...{ cancelRequested: false, shown: undefined, progress: undefined },
      });
      const lease = { leaseId, position, leaseSize: records.length, claimedAtMs };
      const { signingKeys, secrets } = this.#state;
      const named = { signing: signingKeys.size > 0, secrets: secrets.size > 0 };
      const checkpoint = this.#state.checkpoints.get(run.runId)?.data;
      return claimedRun(run, this.#state.jobs.get(run.jobId)!, { ...lease, named, checkpoint });
    });
    return { leaseId, workerId, claimedAtMs, runs, scans, isCut };
  }

  /** Answers whether it ended at a run that carries too much. */
  #pickLanes(
    { lanes, runsMax }: ClaimRequest['pick'],
    { records, scans, nowMs }: { records: RunRecord[]; scans: LaneScan[]; nowMs: number },
  ): boolean {
    let bytes = 0;
    let isCut = false;
    for (const { lane, after, runsMax: laneMax } of lanes) {
      const found: RunRecord[] = [];
      for (const record of this.#state.due.readLane(lane, after)) {
        if (record.laneAtMs > nowMs) break;
        if (isCut || found.length === laneMax || records.length + found.length === runsMax) break;
        if (record.expiresAtMs !== undefined && record.expiresAtMs < nowMs) continue;
        const carried = this.#carriedBytes(record);
        isCut = bytes > 0 && bytes + carried > CLAIM_BYTES_MAX;
        if (isCut) break;
        bytes += carried;
        found.push(record);
      }
      records.push(...found);
      const last = found.at(-1);
      const isReadToEnd = found.length < laneMax && records.length < runsMax;
      scans.push({
        found: found.length,
        last: last && { laneAtMs: last.laneAtMs, runId: last.runId },
        nextAtMs: isReadToEnd ? this.#nextAtMs(lane, nowMs) : undefined,
      });
    }
    return isCut;
  }

  #carriedBytes({ runId, jobId, request }: RunRecord): number {
    const saved = this.#state.checkpoints.get(runId)?.bytes ?? 0;
    const payloadBytes = Buffer.byteLength(request?.payload ?? this.#state.jobs.get(jobId)!.payload);
    return payloadBytes > SMALL_PAYLOAD_BYTES_MAX ? saved + payloadBytes : saved;
  }

  /** Wherever the mark stands: it may lie behind what becomes claimable next. */
  #nextAtMs(lane: LaneKey, nowMs: number): number | undefined {
    for (const { laneAtMs } of this.#state.due.readLane(lane, LANE_START))
      if (laneAtMs > nowMs) return laneAtMs;
    return undefined;
  }

  async settle(settlements: readonly Settlement[], nowMs: number): Promise<Settled> {
    const settled = this.#settleAll(settlements, nowMs);
    const opened: LaneHint[] = [];
    const planned: { shard: number; atMs: number }[] = [];
    for (const { again } of settled) {
      if (!again || again.held) continue;
      if (again.state === 'open') opened.push({ ...again.lane, atMs: again.laneAtMs });
      else planned.push({ shard: again.shard, atMs: again.fireAtMs });
    }
    const freed = settled.flatMap(({ freed: jobId }): JobId[] => (jobId === undefined ? [] : [jobId]));
    return { verdicts: settled.map(({ verdict }) => verdict), freed: [...new Set(freed)], opened, planned };
  }

  /**
   * As one transaction: what is tried again is queued before anything ends, so that no job ends that still has something to do.
   * Of two settlements of the same run, the first counts.
   */
  #settleAll(settlements: readonly Settlement[], nowMs: number): SettledRun[] {
    const firsts = new Map<string, Settlement>();
    for (const settlement of settlements) {
      const key = `${settlement.leaseId}/${settlement.position}`;
      if (!firsts.has(key)) firsts.set(key, settlement);
    }
    const isAgain = ({ next }: Settlement) => Number(next.kind === 'again');
    const settled = new Map<Settlement, SettledRun>();
    for (const settlement of [...firsts.values()].sort((a, b) => isAgain(b) - isAgain(a)))
      settled.set(settlement, settleRun(this.#state, settlement, nowMs));
    const succeeded = [...settled.values()].flatMap(({ askedFor }) => askedFor ?? []);
    recoverJobs(this.#state, succeeded, nowMs);
    return settlements.map((settlement) => settled.get(settlement) ?? { verdict: 'stale' });
  }

  async lockedJobs(): Promise<ReadonlySet<JobId>> {
    return new Set();
  }

  async leased(refs: readonly LeaseRef[]): Promise<(LeasedRun | undefined)[]> {
    return refs.map((ref) => {
      const leased = this.#state.leases.find(ref);
      return leased && this.#leasedRun(leased);
    });
  }

  async leasedBy(workers: readonly WorkerId[]): Promise<LeasedRun[]> {
    return workers
      .flatMap((workerId) => this.#state.leases.ofWorker(workerId))
      .map((leased) => this.#leasedRun(leased));
  }

  async overdue({ beforeMs, limit }: { beforeMs: number; limit: number }): Promise<OverdueRun[]> {
    return [...this.#state.leases.all()]
      .filter(({ claimedAtMs, timeoutMs }) => claimedAtMs + timeoutMs < beforeMs)
      .slice(0, limit)
      .map((leased) => ({ ...this.#leasedRun(leased), timeoutMs: leased.timeoutMs }));
  }

  async showRunning(
    refs: readonly (LeaseRef & { readonly startedAtMs: number })[],
    nowMs: number,
  ): Promise<void> {
    for (const ref of refs) {
      const leased = this.#state.leases.find(ref);
      if (!leased) continue;
      const isNews = leased.shown === undefined;
      leased.shown = { startedAtMs: leased.shown?.startedAtMs ?? ref.startedAtMs, atMs: nowMs };
      if (isNews) this.#state.events.runStarted(leasedView(leased));
    }
  }

  async recordLate(reports: readonly LateReport[]): Promise<void> {
    for (const late of reports) {
      const view = this.#state.history.get(late);
      // What repeats the record is no news.
      if (view && view.createdAtMs === late.claimedAtMs && view.status !== late.report)
        this.#state.history.write({ ...view, lateReport: late.report });
    }
  }

  /** The retry policy is the job's present one: an edit holds from the next decision on. */
  #leasedRun(leased: LeasedRecord): LeasedRun {
    const { leaseId, position, workerId, claimedAtMs, cancelRequested } = leased;
    const { epoch, jobId, runId, attempt, crashes, nominalAtMs } = leased.run;
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
  {
    named,
    ...lease
  }: Pick<ClaimedRun, 'leaseId' | 'position' | 'leaseSize' | 'claimedAtMs' | 'checkpoint'> & {
    named: { readonly signing: boolean; readonly secrets: boolean };
  },
): ClaimedRun {
  const { jobId, runId, epoch, attempt, nominalAtMs, admitted: limited } = record;
  const { handler, timeoutMs } = job;
  const payload = record.request?.payload ?? job.payload;
  const isNamed = (named.signing && handler === 'http') || (named.secrets && namesSecrets(payload));
  return {
    ...lease,
    jobId,
    runId,
    epoch,
    attempt,
    nominalAtMs,
    dueAtMs: dueAtMs(record),
    handler,
    payload,
    timeoutMs,
    limited,
    namespaceKey: namespaceKey(job.namespace),
    namespace: isNamed ? job.namespace : undefined,
  };
}
