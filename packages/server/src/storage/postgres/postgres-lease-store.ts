/** The lease store on PostgreSQL. Settlements are grouped by lease, so that a batch travels as a few array literals. */
import type { ClaimedBatch, ClaimedRun, JobId, LeaseId, RunId, WorkerId } from '@carillon/domain';
import { plainArray, textArray } from '../../postgres/array-literal.ts';
import type { Database, Session } from '../../postgres/database.ts';
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
import { guardParameters } from './guard-parameters.ts';
import { retryFrom } from './job-row.ts';
import {
  CLAIM,
  HELD,
  HELD_BY,
  LIVE,
  LOCK_ENDING_JOBS,
  RECORD_LATE,
  REQUEST_CANCEL,
  RESOLVE_PENDING,
  SETTLE,
  SETTLE_WHOLE,
  SHOW_RUNNING,
} from './lease.sql.ts';
import { LOCKED_JOBS } from './locked-jobs.sql.ts';
import { type SettledLeaseRow, settleParameters, settleVerdicts } from './settle-parameters.ts';
import { type WholeLease, wholeLeases, wholeParameters } from './whole-leases.ts';

/** Arrays as text and joined texts, in the order of the lease; all NULL when nothing was claimed. */
type ClaimRow = readonly [
  ords: string | null,
  epochs: string,
  attempts: string,
  timeouts: string,
  handlers: string,
  payloads: string,
];

type HeldRow = readonly [
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

const VERDICT_CODES = { skip: 0, expire: 1, defer: 2 } as const;

export class PostgresLeaseStore implements LeaseStore {
  readonly #database: Database;
  /** For what workers report: never behind other calls, and never long behind a lock. */
  readonly #outcomes: Database;

  constructor(database: Database, { outcomes = database }: { outcomes?: Database } = {}) {
    this.#database = database;
    this.#outcomes = outcomes;
  }

  async claim(request: ClaimRequest): Promise<ClaimedBatch> {
    const { leaseId, workerId, runs, guard, nowMs } = request;
    const [row] = await this.#database.query<ClaimRow>(CLAIM, [
      leaseId,
      workerId,
      nowMs,
      plainArray(runs.map((run) => run.runId)),
      ...guardParameters(
        guard,
        runs.map((run) => run.shard),
      ),
      textArray(runs.map((run) => run.locator)),
    ]);
    return { leaseId, workerId, claimedAtMs: nowMs, runs: claimedRuns(row!, request) };
  }

  async settle(settlements: readonly Settlement[], nowMs: number): Promise<SettleVerdict[]> {
    if (settlements.length === 0) return [];
    const { whole, others } = wholeLeases(settlements);
    // Nearly always there is nothing else, and one statement needs no transaction around it.
    const refused = others.length === 0 ? await settleWhole(this.#outcomes, whole, nowMs) : [];
    if (others.length === 0 && refused.length === 0) return settlements.map(() => 'settled');
    const verdicts = await this.#outcomes.transaction(async (session) =>
      others.length === 0
        ? settleOneByOne(session, refused, nowMs)
        : settleOneByOne(session, [...others, ...(await settleWhole(session, whole, nowMs))], nowMs),
    );
    return settlements.map((settlement) => verdicts.get(settlement) ?? 'settled');
  }

  async lockedJobs(jobIds: readonly JobId[]): Promise<ReadonlySet<JobId>> {
    const rows = await this.#outcomes.query<readonly [JobId]>(LOCKED_JOBS, [plainArray(jobIds)]);
    return new Set(rows.map((row) => row[0]));
  }

  async held(refs: readonly HeldRef[]): Promise<(HeldRun | undefined)[]> {
    const rows = await this.#outcomes.query<HeldRow>(HELD, [
      plainArray(refs.map((ref) => ref.leaseId)),
      plainArray(refs.map((ref) => ref.position)),
    ]);
    const found = new Map(rows.map((row) => [row[0] - 1, heldFromRow(row)]));
    return refs.map((ref, i) => (found.get(i)?.epoch === ref.epoch ? found.get(i) : undefined));
  }

  async heldBy(workers: readonly WorkerId[]): Promise<HeldRun[]> {
    const rows = await this.#database.query<HeldRow>(HELD_BY, [textArray(workers)]);
    return rows.map(heldFromRow);
  }

  async live(shards: readonly number[]): Promise<LiveRun[]> {
    const rows = await this.#database.query<readonly [JobId, RunId, number, number, WorkerId]>(LIVE, [
      plainArray(shards),
    ]);
    return rows.map(([jobId, runId, shard, claimedAtMs, workerId]) => ({
      jobId,
      runId,
      shard,
      claimedAtMs,
      workerId,
    }));
  }

  async resolvePending(
    verdicts: readonly PendingVerdict[],
    options: { guard: ShardGuard; nowMs: number },
  ): Promise<ReadonlySet<RunId>> {
    if (verdicts.length === 0) return new Set();
    const rows = await this.#database.query<readonly [RunId]>(RESOLVE_PENDING, [
      plainArray(verdicts.map((verdict) => verdict.run.jobId)),
      plainArray(verdicts.map((verdict) => verdict.run.runId)),
      plainArray(verdicts.map((verdict) => VERDICT_CODES[verdict.kind])),
      textArray(verdicts.map((verdict) => (verdict.kind === 'expire' ? verdict.error : verdict.reason))),
      plainArray(verdicts.map((verdict) => (verdict.kind === 'defer' ? verdict.untilMs : undefined))),
      ...guardParameters(
        options.guard,
        verdicts.map((verdict) => verdict.run.shard),
      ),
      options.nowMs,
    ]);
    return new Set(rows.map((row) => row[0]));
  }

  async showRunning(refs: readonly (HeldRef & { startedAtMs: number })[], nowMs: number): Promise<void> {
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

  async requestCancel(runIds: readonly RunId[]): Promise<void> {
    if (runIds.length > 0) await this.#database.query(REQUEST_CANCEL, [plainArray(runIds)]);
  }
}

/** Answers the settlements of leases that turned out to be anything but whole and untouched. */
async function settleWhole(
  session: Session,
  whole: readonly WholeLease[],
  nowMs: number,
): Promise<Settlement[]> {
  if (whole.length === 0) return [];
  const rows = await session.query<readonly [LeaseId]>(SETTLE_WHOLE, [...wholeParameters(whole), nowMs]);
  const gone = new Set(rows.map((row) => row[0]));
  return whole.filter((lease) => !gone.has(lease[0]!.leaseId)).flat();
}

/** One by one, in a transaction: what may end a job first makes sure that nobody is changing it. */
async function settleOneByOne(
  session: Session,
  settlements: readonly Settlement[],
  nowMs: number,
): Promise<Map<Settlement, SettleVerdict>> {
  const ending = settlements.filter((settlement) => settlement.next.kind !== 'again');
  if (ending.length > 0) {
    await session.query(LOCK_ENDING_JOBS, [
      plainArray(ending.map((settlement) => settlement.leaseId)),
      plainArray(ending.map((settlement) => settlement.position)),
      plainArray(ending.map((settlement) => settlement.status !== 'SUCCESS')),
    ]);
  }
  const rows = await session.query<SettledLeaseRow>(SETTLE, [...settleParameters(settlements), nowMs]);
  const verdicts = settleVerdicts(settlements, rows);
  return new Map(settlements.map((settlement, i) => [settlement, verdicts[i]!]));
}

function heldFromRow(row: HeldRow): HeldRun {
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

function claimedRuns(row: ClaimRow, { leaseId, runs, nowMs }: ClaimRequest): ClaimedRun[] {
  if (row[0] === null) return [];
  const ords = elements(row[0]);
  const epochs = elements(row[1]);
  const attempts = elements(row[2]);
  const timeouts = elements(row[3]);
  const handlers = row[4].split('\n');
  const payloads = row[5].split('\n');
  return ords.map((ord, position) => {
    const { jobId, runId, nominalAtMs } = runs[Number(ord) - 1]!;
    return {
      leaseId,
      position,
      leaseSize: ords.length,
      jobId,
      runId,
      epoch: Number(epochs[position]),
      attempt: Number(attempts[position]),
      nominalAtMs,
      claimedAtMs: nowMs,
      handler: handlers[position]!,
      payload: payloads[position]!,
      timeoutMs: Number(timeouts[position]),
    };
  });
}

/** Of an array of numbers without NULLs. */
function elements(array: string): string[] {
  return array.slice(1, -1).split(',');
}
