/** The lease store on PostgreSQL. Settlements are grouped by lease, so that a batch travels as a few array literals. */
import type { JobId, LeaseId, RunId, WorkerId } from '@carillon/domain';
import { plainArray, textArray } from '../../postgres/array-literal.ts';
import { blameValuesOnly, type Database, type Session } from '../../postgres/database.ts';
import type { LaneHead, LaneKey } from '../lane.ts';
import type {
  Claimed,
  ClaimRequest,
  LanePick,
  LateReport,
  LeasedRun,
  LeaseRef,
  LeaseStore,
  OverdueRun,
  Settled,
  Settlement,
} from '../lease-store.ts';
import { type ClaimRow, claimedRuns, laneScans, namespaceKeys } from './claim-row.ts';
import { ClaimedLeases } from './claimed-leases.ts';
import { priorityCode, priorityWord } from './codes.ts';
import {
  allSucceeded,
  type CompleteLease,
  completeLeases,
  endingOf,
  mixedParameters,
  succeededParameters,
} from './complete-leases.ts';
import { retryFrom } from './job-row.ts';
import {
  CLAIM_LANES,
  LANES,
  LEASED,
  LEASED_BY,
  OVERDUE_RUNS,
  RECORD_LATE,
  RECORD_USAGE,
  SHOW_RUNNING,
} from './lease.sql.ts';
import {
  LOCK_ENDING_JOBS,
  LOCKED_JOBS,
  RECOVER_JOBS,
  SETTLE,
  SETTLE_ALL_SUCCEEDED,
  SETTLE_MIXED,
} from './settle.sql.ts';
import { settleParameters } from './settle-parameters.ts';
import { type SettledRow, SettleResult } from './settle-result.ts';

type LaneRow = readonly [
  part: number,
  priority: number,
  handlerKey: number,
  tenant: number,
  laneAtMs: number,
  runId: RunId,
];

type LeasedRow = readonly [
  ord: number,
  leaseId: LeaseId,
  position: number,
  epoch: number,
  jobId: JobId,
  runId: RunId,
  workerId: WorkerId,
  attempt: number,
  crashes: number,
  nominalAtMs: number,
  claimedAtMs: number,
  retry: string | null,
  maxRetries: number,
  cancelRequested: boolean,
  namespace: string,
  userId: string | null,
];

/** Before every lane. */
const NO_LANE = [-1, 0, 0, 0];

export class PostgresLeaseStore implements LeaseStore {
  readonly #database: Database;
  /** Connections for reports: they never queue behind other calls, and wait for locks only briefly. */
  readonly #outcomes: Database;
  readonly #claimed = new ClaimedLeases();

  constructor(database: Database, { outcomes = database }: { outcomes?: Database } = {}) {
    this.#database = database;
    this.#outcomes = outcomes;
  }

  async lanes({ after, limit }: { after: LaneKey | undefined; limit: number }): Promise<LaneHead[]> {
    const start = after
      ? [after.part, priorityCode(after.priority), after.handlerKey, after.tenant]
      : NO_LANE;
    const rows = await this.#database.query<LaneRow>(LANES, [limit, ...start]);
    return rows.map(([part, priority, key, tenant, laneAtMs, runId]) => ({
      part,
      priority: priorityWord(priority),
      handlerKey: key,
      tenant,
      laneAtMs,
      runId,
    }));
  }

  async claim(request: ClaimRequest): Promise<Claimed> {
    const { leaseId, workerId, nowMs, pick } = request;
    const [row] = await this.#database.query<ClaimRow>(CLAIM_LANES, [
      ...[leaseId, workerId, nowMs],
      ...laneParameters(pick.lanes),
      pick.runsMax,
    ]);
    const keys = row![0] === null ? [] : namespaceKeys(row!, request);
    const runs = claimedRuns(row!, request, keys);
    if (runs.length > 0) this.#claimed.remember(leaseId, runs, keys);
    const scans = row![10] === null ? [] : laneScans(row!);
    const found = scans.reduce((sum, scan) => sum + scan.found, 0);
    // An edit moved a run between its finding and its deletion: the scans would pass over it, so none are returned.
    const shown = found > runs.length ? [] : scans;
    return { leaseId, workerId, claimedAtMs: nowMs, runs, scans: shown, isCut: row![17] === true };
  }

  async settle(settlements: readonly Settlement[], nowMs: number): Promise<Settled> {
    if (settlements.length === 0) return { verdicts: [], freed: [], opened: [], planned: [] };
    const settled = await blameValuesOnly(() => this.#settle(settlements, nowMs));
    this.#claimed.forget(settlements);
    return settled;
  }

  async #settle(settlements: readonly Settlement[], nowMs: number): Promise<Settled> {
    const claimed = this.#claimed;
    const { complete, others } = completeLeases(settlements);
    const ending = endingOf(complete);
    const used = settlements.some(({ usage }) => usage !== undefined);
    let result = new SettleResult(nowMs);
    let refused: Settlement[] | undefined;
    // The common case: one statement needs no transaction around it.
    if (others.length === 0 && ending.length === 0 && !used) {
      refused = await settleComplete(this.#outcomes, complete, { result, claimed });
      if (refused.length === 0) return result.settled(settlements);
    }
    const before = result;
    await this.#outcomes.transaction(async (session) => {
      // The transaction may be repeated from its start.
      result = before.copy();
      if (refused) {
        await settleOneByOne(session, refused, { result, claimed });
        return;
      }
      // All in one statement, so that locks are taken in one order.
      if (ending.length > 0) await lockEnding(session, [...ending, ...others]);
      const rest = [...others, ...(await settleComplete(session, complete, { result, claimed }))];
      if (rest.length > 0) await settleOneByOne(session, rest, { result, claimed });
      if (used) await recordUsage(session, settlements, result);
    });
    return result.settled(settlements);
  }

  async lockedJobs(jobIds: readonly JobId[]): Promise<ReadonlySet<JobId>> {
    const rows = await this.#outcomes.query<readonly [JobId]>(LOCKED_JOBS, [plainArray(jobIds)]);
    return new Set(rows.map((row) => row[0]));
  }

  async leased(refs: readonly LeaseRef[]): Promise<(LeasedRun | undefined)[]> {
    const values = [plainArray(refs.map((ref) => ref.leaseId)), plainArray(refs.map((ref) => ref.position))];
    const rows = await blameValuesOnly(() => this.#outcomes.query<LeasedRow>(LEASED, values));
    const found = new Map(rows.map((row) => [row[0] - 1, leasedFromRow(row)]));
    return refs.map((ref, i) => (found.get(i)?.epoch === ref.epoch ? found.get(i) : undefined));
  }

  async leasedBy(workers: readonly WorkerId[]): Promise<LeasedRun[]> {
    const rows = await this.#database.query<LeasedRow>(LEASED_BY, [textArray(workers)]);
    return rows.map(leasedFromRow);
  }

  async overdue({ beforeMs, limit }: { beforeMs: number; limit: number }): Promise<OverdueRun[]> {
    const rows = await this.#database.query<readonly [...LeasedRow, timeoutMs: number]>(OVERDUE_RUNS, [
      beforeMs,
      limit,
    ]);
    return rows.map((row) => ({
      ...leasedFromRow(row.slice(0, 16) as unknown as LeasedRow),
      timeoutMs: row[16],
    }));
  }

  async showRunning(refs: readonly (LeaseRef & { startedAtMs: number })[], nowMs: number): Promise<void> {
    if (refs.length === 0) return;
    await this.#outcomes.query(SHOW_RUNNING, [
      plainArray(refs.map((ref) => ref.leaseId)),
      plainArray(refs.map((ref) => ref.position)),
      plainArray(refs.map((ref) => ref.epoch)),
      plainArray(refs.map((ref) => ref.startedAtMs)),
      nowMs,
    ]);
  }

  async recordLate(reports: readonly LateReport[]): Promise<void> {
    if (reports.length === 0) return;
    await this.#outcomes.query(RECORD_LATE, [
      plainArray(reports.map((late) => late.runId)),
      plainArray(reports.map((late) => late.epoch)),
      plainArray(reports.map((late) => late.claimedAtMs)),
      textArray(reports.map((late) => late.report)),
    ]);
  }
}

interface Settling {
  readonly result: SettleResult;
  /** What is known of the runs beside their settlements. */
  readonly claimed: ClaimedLeases;
}

/** Returns the settlements of leases that have changed since they were handed out: SETTLE takes those. */
async function settleComplete(
  session: Session,
  complete: readonly CompleteLease[],
  { result, claimed }: Settling,
): Promise<Settlement[]> {
  if (complete.length === 0) return [];
  const { nowMs } = result;
  const counted = textArray(complete.map((lease) => claimed.digestOf(lease, nowMs)));
  const rows = allSucceeded(complete)
    ? await session.query<SettledRow>(SETTLE_ALL_SUCCEEDED, [
        ...succeededParameters(complete),
        nowMs,
        counted,
      ])
    : await session.query<SettledRow>(SETTLE_MIXED, [...mixedParameters(complete, nowMs), counted]);
  const gone = result.take(rows);
  return complete.filter((lease) => !gone.has(lease[0]!.leaseId)).flat();
}

/** In a transaction, since the jobs that may end are locked first. */
async function settleOneByOne(
  session: Session,
  settlements: readonly Settlement[],
  { result, claimed }: Settling,
): Promise<void> {
  await lockEnding(session, settlements);
  const { askedFor, nowMs } = result;
  const counted = claimed.digestOf(settlements, nowMs) ?? null;
  const rows = await session.query<SettledRow>(SETTLE, [...settleParameters(settlements), nowMs, counted]);
  result.take(rows, settlements);
  if (askedFor.size > 0)
    await session.query(RECOVER_JOBS, [
      plainArray([...askedFor.keys()]),
      plainArray([...askedFor.values()]),
      nowMs,
    ]);
}

/** By a statement of its own: few runs have any, and those that have none must not pay for it. */
async function recordUsage(
  session: Session,
  settlements: readonly Settlement[],
  result: SettleResult,
): Promise<void> {
  const { verdicts } = result.settled(settlements);
  const used = settlements.flatMap(({ usage, epoch }, i) =>
    usage && verdicts[i] !== 'stale' ? [{ ...usage, epoch }] : [],
  );
  if (used.length === 0) return;
  await session.query(RECORD_USAGE, [
    plainArray(used.map(({ runId }) => runId)),
    plainArray(used.map(({ epoch }) => epoch)),
    plainArray(used.map(({ claimedAtMs }) => claimedAtMs)),
    plainArray(used.map(({ peakMemoryBytes }) => peakMemoryBytes)),
    plainArray(used.map(({ cpuSeconds }) => cpuSeconds)),
  ]);
}

async function lockEnding(session: Session, settlements: readonly Settlement[]): Promise<void> {
  const ending = settlements.filter(({ next }) => next.kind !== 'again');
  if (ending.length === 0) return;
  await session.query(LOCK_ENDING_JOBS, [
    plainArray(ending.map((settlement) => settlement.leaseId)),
    plainArray(ending.map((settlement) => settlement.position)),
    plainArray(ending.map((settlement) => settlement.status !== 'SUCCESS')),
  ]);
}

function laneParameters(picks: readonly LanePick[]): string[] {
  return [
    plainArray(picks.map(({ lane }) => lane.part)),
    plainArray(picks.map(({ lane }) => priorityCode(lane.priority))),
    plainArray(picks.map(({ lane }) => lane.handlerKey)),
    plainArray(picks.map(({ lane }) => lane.tenant)),
    plainArray(picks.map(({ after }) => after.laneAtMs)),
    plainArray(picks.map(({ after }) => after.runId)),
    plainArray(picks.map(({ runsMax }) => runsMax)),
  ];
}

function leasedFromRow(row: LeasedRow): LeasedRun {
  return {
    leaseId: row[1],
    position: row[2],
    epoch: row[3],
    jobId: row[4],
    runId: row[5],
    workerId: row[6],
    attempt: row[7],
    crashes: row[8],
    nominalAtMs: row[9],
    claimedAtMs: row[10],
    retry: retryFrom(row[11], row[12]),
    cancelRequested: row[13],
    namespace: row[14],
    userId: row[15] ?? undefined,
  };
}
