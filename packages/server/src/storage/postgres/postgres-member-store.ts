/**
 * The member store on PostgreSQL. Beats have connections of their own, and nothing else that may wait for a lock is sent over them: while
 * leases are locked, servers and workers must not be taken for dead.
 */
import type { BootId, LeaseId, NodeId, RunId, WorkerId } from '@carillon/domain';
import { plainArray, textArray } from '../../postgres/array-literal.ts';
import { type Database, RollBack, type Session } from '../../postgres/database.ts';
import type { AuditEntry } from '../audit-store.ts';
import {
  type CancelledRun,
  type HandlerOffer,
  type HeardWorker,
  type KnownWorker,
  LOST_KEPT_MS,
  type MemberStore,
  type NodeBeat,
  type OfferingWorker,
  type OfferPage,
  type Peer,
  type PublishedAddresses,
  type PublishedPeer,
  type Registered,
  type SaidByBeat,
  type ShardOwner,
  type UnreceivedRun,
  type WorkerBeaten,
  type WorkerPage,
  type WorkerRecord,
  type WorkerState,
} from '../member-store.ts';
import * as sql from './member.sql.ts';
import { recordAudit } from './postgres-audit-store.ts';
import { readAll, readFirst } from './selection.ts';

interface MemberConnections {
  readonly beats?: Database;
  readonly leases?: Database;
}

export class PostgresMemberStore implements MemberStore {
  readonly #database: Database;
  readonly #beats: Database;
  readonly #leases: Database;

  /** beats: for what keeps nodes, shards and workers alive. leases: for looks into leases, which give up early where these are locked. */
  constructor(database: Database, { beats = database, leases = database }: MemberConnections = {}) {
    this.#database = database;
    this.#beats = beats;
    this.#leases = leases;
  }

  async serverTimeMs(): Promise<number> {
    const [row] = await this.#beats.query<readonly [number]>(sql.SERVER_TIME, []);
    return row![0];
  }

  async beatNode(beat: NodeBeat): Promise<{ alive: boolean; nodes: readonly NodeId[] }> {
    const rows = await this.#beats.query<readonly [NodeId, boolean]>(sql.BEAT_NODE, [
      beat.nodeId,
      beat.incarnation,
      beat.address,
      beat.nowMs,
      beat.nowMs - beat.ttlMs,
      beat.nowMs + beat.ttlMs,
      beat.bootId,
      beat.joining ? plainArray(beat.joining.ended) : null,
    ]);
    return { alive: rows.some((row) => row[1]), nodes: rows.map((row) => row[0]) };
  }

  async leaveNode(nodeId: NodeId, bootId: BootId): Promise<void> {
    await this.#beats.query(sql.LEAVE_NODE, [nodeId, bootId]);
  }

  async publishAddresses(published: PublishedAddresses): Promise<void> {
    await this.#database.query(sql.PUBLISH_ADDRESSES, [
      published.bootId,
      textArray(published.addresses),
      published.untilMs,
      published.forgetBeforeMs,
      published.peer ? JSON.stringify(published.peer) : null,
    ]);
  }

  async withdrawAddresses(bootId: BootId): Promise<void> {
    await this.#database.query(sql.WITHDRAW_ADDRESSES, [bootId]);
  }

  async publishedAddresses(afterMs: number): Promise<string[]> {
    const rows = await this.#database.query<readonly [string]>(sql.PUBLISHED_ADDRESSES, [afterMs]);
    return rows.map(([address]) => address);
  }

  async publishedPeers(): Promise<Peer[]> {
    const rows = await this.#database.query<readonly [BootId, number, PublishedPeer]>(
      sql.PUBLISHED_PEERS,
      [],
    );
    return rows.map(([bootId, untilMs, peer]) => ({ ...peer, bootId, untilMs }));
  }

  shards(): Promise<ShardOwner[]> {
    return readAll(this.#beats, sql.SHARDS, []);
  }

  async acquireShards(request: {
    nodeId: NodeId;
    bootId: BootId;
    shards: readonly number[];
    nowMs: number;
    ttlMs: number;
  }): Promise<Map<number, number>> {
    const shards = plainArray(request.shards);
    const rows = await this.#beats.transaction(async (session) => {
      await session.query(sql.LOCK_SHARDS, [shards]);
      return session.query<readonly [number, number]>(sql.ACQUIRE_SHARDS, [
        request.nodeId,
        shards,
        request.nowMs,
        request.nowMs + 2 * request.ttlMs,
        request.bootId,
      ]);
    });
    return new Map(rows.map(([shard, epoch]) => [shard, epoch]));
  }

  async keepShards(request: {
    nodeId: NodeId;
    bootId: BootId;
    epochs: ReadonlyMap<number, number>;
  }): Promise<ReadonlySet<number>> {
    const rows = await this.#beats.query<readonly [number]>(sql.KEEP_SHARDS, [
      request.nodeId,
      plainArray([...request.epochs.keys()]),
      plainArray([...request.epochs.values()]),
      request.bootId,
    ]);
    return new Set(rows.map((row) => row[0]));
  }

  async releaseShards(request: { nodeId: NodeId; epochs: ReadonlyMap<number, number> }): Promise<void> {
    await this.#beats.query(sql.RELEASE_SHARDS, [
      request.nodeId,
      plainArray([...request.epochs.keys()]),
      plainArray([...request.epochs.values()]),
    ]);
  }

  async registerWorker(worker: WorkerRecord, nowMs: number): Promise<Registered> {
    const [row] = await this.#beats.query<readonly [Registered, boolean, readonly string[] | null]>(
      sql.REGISTER_WORKER,
      [
        worker.workerId,
        worker.nodeId,
        worker.incarnation,
        worker.slots,
        textArray(worker.handlers),
        nowMs,
        worker.bootId,
        worker.session,
        worker.name ?? null,
        worker.language ?? null,
        worker.version ?? null,
        JSON.stringify(worker.labels ?? {}),
        worker.draining ?? false,
        worker.namespaces ? textArray(worker.namespaces) : null,
      ],
    );
    const [verdict, toAll, namespaces] = row!;
    if (toAll || namespaces) await this.#trimOffers(this.#beats, [namespaces]);
    return verdict;
  }

  async beatWorker(workerId: WorkerId, nowMs: number, said: SaidByBeat = {}): Promise<WorkerBeaten> {
    const { stuck = 0, session = 0 } = said;
    const parameters = [workerId, nowMs, stuck, session];
    const [row] = await this.#beats.query<readonly [boolean]>(sql.BEAT_WORKER, parameters);
    return { alive: row !== undefined, draining: row?.[0] ?? false };
  }

  async beatWorkers(
    beats: readonly (SaidByBeat & { readonly workerId: WorkerId })[],
    nowMs: number,
  ): Promise<ReadonlyMap<WorkerId, WorkerBeaten>> {
    const rows = await this.#beats.query<readonly [WorkerId, boolean]>(sql.BEAT_WORKERS, [
      textArray(beats.map(({ workerId }) => workerId)),
      nowMs,
      plainArray(beats.map(({ stuck = 0 }) => stuck)),
      plainArray(beats.map(({ session = 0 }) => session)),
    ]);
    return new Map(rows.map(([workerId, draining]) => [workerId, { alive: true, draining }]));
  }

  drainWorker(workerId: WorkerId, draining: boolean, audit?: AuditEntry): Promise<boolean> {
    return this.#database.transaction(async (session) => {
      if ((await session.query(sql.DRAIN_WORKER, [workerId, draining])).length === 0)
        throw new RollBack(false);
      await recordAudit(session, [audit]);
      return true;
    });
  }

  async cancelledRuns(leases: readonly LeaseId[]): Promise<CancelledRun[]> {
    if (leases.length === 0) return [];
    const rows = await this.#leases.query<readonly [LeaseId, RunId]>(sql.CANCELLED_RUNS, [
      plainArray(leases),
    ]);
    return rows.map(([leaseId, runId]) => ({ leaseId, runId }));
  }

  async unknownLeases(leases: readonly LeaseId[]): Promise<LeaseId[]> {
    if (leases.length === 0) return [];
    const rows = await this.#leases.query<readonly [LeaseId]>(sql.UNKNOWN_LEASES, [plainArray(leases)]);
    return rows.map((row) => row[0]);
  }

  unreceivedRuns(request: {
    workerId: WorkerId;
    session: number;
    holding: readonly LeaseId[];
    fromMs: number;
    untilMs?: number;
  }): Promise<UnreceivedRun[]> {
    const { workerId, session, holding, fromMs, untilMs = Number.MAX_SAFE_INTEGER } = request;
    const parameters = [workerId, plainArray(holding), fromMs, untilMs, session];
    return readAll(this.#leases, sql.UNRECEIVED_RUNS, parameters);
  }

  async markDead(request: {
    silent: readonly HeardWorker[];
    ended: readonly BootId[];
    nowMs: number;
  }): Promise<WorkerId[]> {
    return this.#database.transaction(async (session) => {
      const rows = await session.query<readonly [WorkerId]>(sql.MARK_DEAD, [
        textArray(request.silent.map(({ workerId }) => workerId)),
        plainArray(request.silent.map(({ lastSeenMs }) => lastSeenMs)),
        plainArray(request.ended),
        request.nowMs,
      ]);
      await session.query(sql.TRIM_LOST, [request.nowMs - LOST_KEPT_MS]);
      return rows.map((row) => row[0]);
    });
  }

  async forgetWorkers(workers: readonly WorkerId[]): Promise<void> {
    if (workers.length === 0) return;
    await this.#database.transaction(async (session) => {
      await session.query(sql.LOCK_WORKERS, [textArray(workers), null, null]);
      await this.#forget(session, workers);
    });
  }

  async forgetLeft(left: Pick<WorkerRecord, 'workerId' | 'bootId' | 'session'>): Promise<void> {
    const workers = [left.workerId];
    await this.#database.transaction(async (session) => {
      const found = await session.query(sql.LOCK_WORKERS, [textArray(workers), left.bootId, left.session]);
      if (found.length > 0) await this.#forget(session, workers);
    });
  }

  async #forget(session: Session, workers: readonly WorkerId[]): Promise<void> {
    const gone = await session.query<readonly [readonly string[] | null]>(sql.FORGET_WORKERS, [
      textArray(workers),
    ]);
    await this.#trimOffers(
      session,
      gone.map(([namespaces]) => namespaces),
    );
  }

  /** A statement does not see what it inserts, so that trimming is another one. */
  async #trimOffers(session: Session, ended: readonly (readonly string[] | null)[]): Promise<void> {
    const namespaces = [...new Set(ended.flatMap((names) => names ?? []))].sort();
    if (namespaces.length > 0) await session.query(sql.TRIM_NAMESPACE_OFFERS, [textArray(namespaces)]);
    if (ended.includes(null)) await session.query(sql.TRIM_HANDLER_OFFERS, []);
  }

  workers(): Promise<WorkerState[]> {
    return readAll(this.#beats, sql.WORKERS, []);
  }

  listWorkers({
    after = '',
    limit,
    alive,
    labels = {},
    handler,
    text,
    nowMs,
  }: WorkerPage): Promise<KnownWorker[]> {
    const parameters = [after, limit, alive ?? null, JSON.stringify(labels), text ?? null, handler ?? null];
    return readAll(this.#database, sql.LIST_WORKERS, [nowMs - LOST_KEPT_MS, ...parameters]);
  }

  findWorker(workerId: string, nowMs: number): Promise<KnownWorker | undefined> {
    return readFirst(this.#database, sql.FIND_WORKER, [nowMs - LOST_KEPT_MS, workerId]);
  }

  workersOffering(handler: string, namespaces?: readonly string[]): Promise<OfferingWorker[]> {
    const parameters = [handler, namespaces ? textArray(namespaces) : null];
    return readAll(this.#database, sql.WORKERS_OFFERING, parameters);
  }

  offers({ namespaces, after = '', limit }: OfferPage): Promise<HandlerOffer[]> {
    const parameters = [namespaces ? textArray(namespaces) : null, after, limit];
    return readAll(this.#database, sql.OFFERS, parameters);
  }

  async leasedRuns(): Promise<ReadonlyMap<WorkerId, number>> {
    return new Map(await this.#leases.query<readonly [WorkerId, number]>(sql.LEASED_RUNS, []));
  }
}
