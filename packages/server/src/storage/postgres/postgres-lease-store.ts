/** The lease store on PostgreSQL. Settlements are grouped by lease, so that a batch travels as a few array literals. */
import type { ClaimedRun, JobId, LeaseId, RunId, WorkerId } from '@carillon/domain';
import { plainArray, textArray } from '../../postgres/array-literal.ts';
import type { Database, Session } from '../../postgres/database.ts';
import type { LaneHead, LaneKey, LaneMark } from '../lane.ts';
import type {
  Claimed,
  ClaimRequest,
  HeldRef,
  HeldRun,
  LaneLook,
  LanePick,
  LateReport,
  LeaseStore,
  Settled,
  Settlement,
} from '../lease-store.ts';
import { priorityCode, priorityWord } from './codes.ts';
import { retryFrom } from './job-row.ts';
import { CLAIM_LANES, HELD, HELD_BY, LANES, RECORD_LATE, SHOW_RUNNING } from './lease.sql.ts';
import { LOCKED_JOBS } from './locked-jobs.sql.ts';
import { LOCK_ENDING_JOBS, SETTLE, SETTLE_MIXED, SETTLE_WHOLE } from './settle.sql.ts';
import { settleParameters } from './settle-parameters.ts';
import { Gathered, type SettledRow } from './settled-rows.ts';
import {
  arePlain,
  endingOf,
  mixedParameters,
  type WholeLease,
  wholeLeases,
  wholeParameters,
} from './whole-leases.ts';

/** Arrays as text and joined texts, in the order of the lease, NULL when nothing was claimed; then what was seen of the lanes. */
type ClaimRow = readonly [
  runIds: string | null,
  jobIds: string,
  epochs: string,
  attempts: string,
  nominalAts: string,
  timeouts: string,
  admitted: string | null,
  handlers: string,
  payloads: string,
  dueAts: string,
  found: string | null,
  lastAts: string,
  lastIds: string,
  nextAts: string,
];

type LaneRow = readonly [
  part: number,
  priority: number,
  handlerKey: number,
  tenant: number,
  laneAtMs: number,
  runId: RunId,
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

/** Before every lane. */
const NO_LANE = [-1, 0, 0, 0];

export class PostgresLeaseStore implements LeaseStore {
  readonly #database: Database;
  /** For what workers report: never behind other calls, and never long behind a lock. */
  readonly #outcomes: Database;

  constructor(database: Database, { outcomes = database }: { outcomes?: Database } = {}) {
    this.#database = database;
    this.#outcomes = outcomes;
  }

  async lanes({ after, limit }: { after: LaneKey | undefined; limit: number }): Promise<LaneHead[]> {
    const place = after
      ? [after.part, priorityCode(after.priority), after.handlerKey, after.tenant]
      : NO_LANE;
    const rows = await this.#database.query<LaneRow>(LANES, [limit, ...place]);
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
    const runs = claimedRuns(row!, request);
    const looks = row![10] === null ? [] : laneLooks(row!);
    const found = looks.reduce((sum, look) => sum + look.found, 0);
    // A run that was edited as it was found is there still, and nothing may be passed over: then nothing is told of the lanes.
    return { leaseId, workerId, claimedAtMs: nowMs, runs, looks: found > runs.length ? [] : looks };
  }

  async settle(settlements: readonly Settlement[], nowMs: number): Promise<Settled> {
    if (settlements.length === 0) return { verdicts: [], freed: [], opened: [], asking: [] };
    const { whole, others } = wholeLeases(settlements);
    const ending = endingOf(whole);
    let gathered = new Gathered(nowMs);
    let refused: Settlement[] | undefined;
    // Nearly always there is nothing else, and one statement needs no transaction around it.
    if (others.length === 0 && ending.length === 0) {
      refused = await settleWhole(this.#outcomes, whole, gathered);
      if (refused.length === 0) return gathered.settled(settlements);
    }
    const before = gathered;
    await this.#outcomes.transaction(async (session) => {
      // It may run again, from the start.
      gathered = before.copy();
      if (refused) {
        await settleOneByOne(session, refused, gathered);
        return;
      }
      // Together with what the others may end: locks are taken in one order.
      if (ending.length > 0) await lockEnding(session, [...ending, ...others]);
      const rest = [...others, ...(await settleWhole(session, whole, gathered))];
      if (rest.length > 0) await settleOneByOne(session, rest, gathered);
    });
    return gathered.settled(settlements);
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
}

/** Answers the settlements of leases that turned out to be anything but whole and untouched. */
async function settleWhole(
  session: Session,
  whole: readonly WholeLease[],
  gathered: Gathered,
): Promise<Settlement[]> {
  if (whole.length === 0) return [];
  const rows = arePlain(whole)
    ? await session.query<SettledRow>(SETTLE_WHOLE, [...wholeParameters(whole), gathered.nowMs])
    : await session.query<SettledRow>(SETTLE_MIXED, mixedParameters(whole, gathered.nowMs));
  const gone = gathered.take(rows);
  return whole.filter((lease) => !gone.has(lease[0]!.leaseId)).flat();
}

/** In a transaction: what may end a job first makes sure that nobody is changing it. */
async function settleOneByOne(
  session: Session,
  settlements: readonly Settlement[],
  gathered: Gathered,
): Promise<void> {
  await lockEnding(session, settlements);
  const rows = await session.query<SettledRow>(SETTLE, [...settleParameters(settlements), gathered.nowMs]);
  gathered.take(rows, settlements);
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

function laneLooks(row: ClaimRow): LaneLook[] {
  const lastAts = elements(row[11]);
  const lastIds = elements(row[12]);
  const nextAts = elements(row[13]);
  return elements(row[10]!).map((found, i) => {
    const last: LaneMark | undefined =
      lastAts[i] === 'NULL' ? undefined : { laneAtMs: Number(lastAts[i]), runId: lastIds[i]! };
    return {
      found: Number(found),
      last,
      nextAtMs: nextAts[i] === 'NULL' ? undefined : Number(nextAts[i]),
    };
  });
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

function claimedRuns(row: ClaimRow, { leaseId, nowMs }: ClaimRequest): ClaimedRun[] {
  if (row[0] === null) return [];
  const runIds = elements(row[0]);
  const jobIds = elements(row[1]);
  const epochs = elements(row[2]);
  const attempts = elements(row[3]);
  const nominalAts = elements(row[4]);
  const timeouts = elements(row[5]);
  const admitted = row[6] === null ? undefined : elements(row[6]);
  const handlers = row[7].split('\n');
  const payloads = row[8].split('\n');
  const dueAts = elements(row[9]);
  return runIds.map((runId, position) => ({
    leaseId,
    position,
    leaseSize: runIds.length,
    jobId: jobIds[position] as JobId,
    runId: runId as RunId,
    epoch: Number(epochs[position]),
    attempt: Number(attempts[position]),
    nominalAtMs: Number(nominalAts[position]),
    dueAtMs: Number(dueAts[position]),
    claimedAtMs: nowMs,
    handler: handlers[position]!,
    payload: payloads[position]!,
    timeoutMs: Number(timeouts[position]),
    limited: admitted?.[position] === '1',
  }));
}

/** Of an array of numbers or ids. */
function elements(array: string): string[] {
  return array.slice(1, -1).split(',');
}
