/** Nodes, shards and workers in memory. The only clock is the injected one; all else is judged by the instants given. */
import type { BootId, EventKind, LeaseId, NodeId, WorkerId } from '@carillon/domain';
import type { Clock } from '@carillon/foundation';
import type { AuditEntry } from '../audit-store.ts';
import {
  type CancelledRun,
  type HandlerOffer,
  type HeardWorker,
  type KnownWorker,
  type MemberStore,
  type NodeBeat,
  type OfferingWorker,
  type OfferPage,
  type Peer,
  type PublishedAddresses,
  type Registered,
  type SaidByBeat,
  type ShardOwner,
  servesOneOf,
  type UnreceivedRun,
  type WorkerBeaten,
  type WorkerPage,
  type WorkerRecord,
  type WorkerState,
} from '../member-store.ts';
import { isSame, keepOffers, knownWorkers, rememberLost, stateOf } from './known-workers.ts';
import { addAudit } from './memory-audit-store.ts';
import type { MemoryState, ShardRow } from './memory-state.ts';

type Epochs = ReadonlyMap<number, number>;

export class MemoryMemberStore implements MemberStore {
  readonly #state: MemoryState;
  readonly #clock: Clock;

  constructor(state: MemoryState, clock: Clock) {
    this.#state = state;
    this.#clock = clock;
  }

  async serverTimeMs(): Promise<number> {
    return this.#clock.now();
  }

  async beatNode(beat: NodeBeat): Promise<{ alive: boolean; nodes: readonly NodeId[] }> {
    const { nodes } = this.#state;
    const { nodeId, incarnation, bootId, address, nowMs, ttlMs, joining } = beat;
    const isLiving = ({ lastSeenMs }: { lastSeenMs: number }) =>
      lastSeenMs > nowMs - ttlMs && lastSeenMs <= nowMs + ttlMs;
    const former = nodes.get(nodeId);
    // SHARD-4.
    const alive =
      !former ||
      former.bootId === bootId ||
      (joining !== undefined &&
        (joining.ended.includes(former.bootId) || (former.incarnation < incarnation && !isLiving(former))));
    if (alive) {
      nodes.set(nodeId, {
        incarnation,
        bootId,
        address,
        lastSeenMs: nowMs,
        expiresAtMs: nowMs + ttlMs,
        lost: false,
      });
      if (former?.bootId !== bootId || former.lost) this.#emit('node.joined', nodeId);
    }
    for (const [id, node] of nodes) {
      if (id === nodeId || node.lost || isLiving(node)) continue;
      nodes.set(id, { ...node, lost: true });
      this.#emit('node.lost', id);
    }
    const living = [...nodes].filter(([, node]) => isLiving(node)).map(([id]) => id);
    return { alive, nodes: living };
  }

  async leaveNode(nodeId: NodeId, bootId: BootId): Promise<void> {
    if (this.#state.nodes.get(nodeId)?.bootId !== bootId) return;
    this.#state.nodes.delete(nodeId);
    this.#emit('node.left', nodeId);
  }

  async publishAddresses(published: PublishedAddresses): Promise<void> {
    const { bootId, addresses, peer, untilMs, forgetBeforeMs } = published;
    const { listeners } = this.#state;
    for (const [id, { expiresAtMs }] of listeners) if (expiresAtMs <= forgetBeforeMs) listeners.delete(id);
    listeners.set(bootId, { addresses, peer, expiresAtMs: untilMs });
  }

  async withdrawAddresses(bootId: BootId): Promise<void> {
    this.#state.listeners.delete(bootId);
  }

  async publishedAddresses(afterMs: number): Promise<string[]> {
    const { nodes, listeners } = this.#state;
    const lasting = <Row extends { expiresAtMs: number }>(rows: Iterable<Row>) =>
      [...rows].filter(({ expiresAtMs }) => expiresAtMs > afterMs);
    return [
      ...new Set([
        ...lasting(nodes.values()).map(({ address }) => address),
        ...lasting(listeners.values()).flatMap(({ addresses }) => addresses),
      ]),
    ];
  }

  async publishedPeers(): Promise<Peer[]> {
    const known = [...this.#state.listeners].flatMap(([bootId, { peer, expiresAtMs: untilMs }]) =>
      peer ? [{ ...peer, bootId, untilMs }] : [],
    );
    return known.sort((a, b) => b.untilMs - a.untilMs);
  }

  async shards(): Promise<ShardOwner[]> {
    return [...this.#state.shards.values()].map((row) => ({ ...row, expiresAtMs: this.#expiryOf(row) }));
  }

  async acquireShards(request: {
    nodeId: NodeId;
    bootId: BootId;
    shards: readonly number[];
    nowMs: number;
    ttlMs: number;
  }): Promise<Map<number, number>> {
    const { nodeId, bootId, nowMs, ttlMs } = request;
    const acquired = new Map<number, number>();
    if ((this.#state.nodes.get(nodeId)?.bootId ?? bootId) !== bootId) return acquired;
    for (const shard of new Set(request.shards)) {
      const owner = this.#state.shards.get(shard);
      if (!owner) continue;
      const expiresAtMs = this.#expiryOf(owner);
      const isLeased = expiresAtMs > nowMs && expiresAtMs <= nowMs + 2 * ttlMs;
      if (owner.nodeId !== undefined && owner.nodeId !== nodeId && isLeased) continue;
      // SHARD-2.
      const epoch = owner.epoch + 1;
      this.#state.shards.set(shard, { shard, nodeId, epoch });
      acquired.set(shard, epoch);
    }
    return acquired;
  }

  async keepShards(request: {
    nodeId: NodeId;
    bootId: BootId;
    epochs: Epochs;
  }): Promise<ReadonlySet<number>> {
    const { nodeId, bootId } = request;
    const kept = new Set(this.#owned(request).map((owner) => owner.shard));
    if ((this.#state.nodes.get(nodeId)?.bootId ?? bootId) !== bootId) return kept;
    for (const owner of this.#state.shards.values()) {
      if (owner.nodeId !== nodeId || kept.has(owner.shard)) continue;
      this.#state.shards.set(owner.shard, { ...owner, nodeId: undefined });
    }
    return kept;
  }

  /** The epoch stays, so that the next owner's is a new one. */
  async releaseShards(request: { nodeId: NodeId; epochs: Epochs }): Promise<void> {
    for (const owner of this.#owned(request)) {
      this.#state.shards.set(owner.shard, { ...owner, nodeId: undefined });
    }
  }

  /** A dead worker stays dead under its id: only a new id brings it back. */
  async registerWorker(worker: WorkerRecord, nowMs: number): Promise<Registered> {
    const former = this.#state.workers.get(worker.workerId);
    if (former && (former.bootId !== worker.bootId || former.session > worker.session)) return 'taken';
    if (former?.alive === false) return 'dead';
    const { labels = {} } = worker;
    const draining = former?.draining ?? worker.draining ?? false;
    const row = { ...worker, labels, draining, stuck: former?.stuck ?? 0, lastSeenMs: nowMs, alive: true };
    this.#state.workers.set(worker.workerId, row);
    if (former)
      keepOffers(this.#state, former, isSame(former.namespaces, worker.namespaces) ? worker.handlers : []);
    else this.#emit('worker.joined', worker.nodeId, worker.workerId);
    return 'registered';
  }

  async beatWorker(workerId: WorkerId, nowMs: number, said: SaidByBeat = {}): Promise<WorkerBeaten> {
    const worker = this.#state.workers.get(workerId);
    if (!worker?.alive) return { alive: false, draining: false };
    const { stuck = 0 } = said;
    const session = Math.max(worker.session, said.session ?? 0);
    this.#state.workers.set(workerId, { ...worker, lastSeenMs: nowMs, stuck, session });
    return { alive: true, draining: worker.draining };
  }

  async beatWorkers(
    beats: readonly (SaidByBeat & { readonly workerId: WorkerId })[],
    nowMs: number,
  ): Promise<ReadonlyMap<WorkerId, WorkerBeaten>> {
    const beaten = new Map<WorkerId, WorkerBeaten>();
    for (const { workerId, ...said } of beats) {
      const answer = await this.beatWorker(workerId, nowMs, said);
      if (answer.alive) beaten.set(workerId, answer);
    }
    return beaten;
  }

  async drainWorker(workerId: WorkerId, draining: boolean, audit?: AuditEntry): Promise<boolean> {
    const worker = this.#state.workers.get(workerId);
    if (!worker?.alive) return false;
    this.#state.workers.set(workerId, { ...worker, draining });
    if (audit) addAudit(this.#state.audit, audit);
    return true;
  }

  async cancelledRuns(leases: readonly LeaseId[]): Promise<CancelledRun[]> {
    return leases
      .flatMap((leaseId) => this.#state.leases.ofLease(leaseId))
      .filter(
        ({ cancelRequested, run }) =>
          cancelRequested || this.#state.jobs.get(run.jobId)?.status === 'CANCELLED',
      )
      .map(({ leaseId, run }) => ({ leaseId, runId: run.runId }));
  }

  async unknownLeases(leases: readonly LeaseId[]): Promise<LeaseId[]> {
    return leases.filter((leaseId) => !this.#state.leases.hasLease(leaseId));
  }

  async unreceivedRuns(request: {
    workerId: WorkerId;
    session: number;
    holding: readonly LeaseId[];
    fromMs: number;
    untilMs?: number;
  }): Promise<UnreceivedRun[]> {
    const { workerId, session, holding, fromMs, untilMs = Number.POSITIVE_INFINITY } = request;
    if (this.#state.workers.get(workerId)?.session !== session) return [];
    return this.#state.leases
      .ofWorker(workerId)
      .filter(({ claimedAtMs }) => claimedAtMs >= fromMs && claimedAtMs < untilMs)
      .filter(({ leaseId }) => !holding.includes(leaseId))
      .map(({ leaseId, position, claimedAtMs, run: { epoch, jobId, runId } }) => ({
        ...{ leaseId, position, epoch, jobId, runId, claimedAtMs },
      }));
  }

  async markDead(request: {
    silent: readonly HeardWorker[];
    ended: readonly BootId[];
    nowMs: number;
  }): Promise<WorkerId[]> {
    const { workers } = this.#state;
    const heard = new Map(request.silent.map(({ workerId, lastSeenMs }) => [workerId, lastSeenMs]));
    for (const worker of workers.values()) {
      const outlived = request.ended.includes(worker.bootId);
      const silent = heard.get(worker.workerId) === worker.lastSeenMs;
      if (!worker.alive || !(outlived || silent)) continue;
      workers.set(worker.workerId, { ...worker, alive: false });
      rememberLost(this.#state, worker, request.nowMs);
      this.#emit('worker.lost', worker.nodeId, worker.workerId);
    }
    return [...workers.values()].filter((worker) => !worker.alive).map((worker) => worker.workerId);
  }

  async forgetWorkers(workers: readonly WorkerId[]): Promise<void> {
    for (const workerId of workers) {
      const worker = this.#state.workers.get(workerId);
      if (!worker || this.#state.leases.ofWorker(workerId).length > 0) continue;
      this.#state.workers.delete(workerId);
      keepOffers(this.#state, worker);
      if (worker.alive) this.#emit('worker.left', worker.nodeId, workerId);
    }
  }

  async forgetLeft({
    workerId,
    bootId,
    session,
  }: Pick<WorkerRecord, 'workerId' | 'bootId' | 'session'>): Promise<void> {
    const worker = this.#state.workers.get(workerId);
    if (worker?.bootId === bootId && worker.session === session) await this.forgetWorkers([workerId]);
  }

  async workers(): Promise<WorkerState[]> {
    return [...this.#state.workers.values()].map(stateOf);
  }

  async listWorkers({
    after = '',
    limit,
    alive,
    labels = {},
    handler,
    text,
    nowMs,
  }: WorkerPage): Promise<KnownWorker[]> {
    const wanted = Object.entries(labels);
    return knownWorkers(this.#state, nowMs)
      .filter((worker) => worker.workerId > after && (alive === undefined || worker.alive === alive))
      .filter((worker) => handler === undefined || worker.handlers.includes(handler))
      .filter(
        ({ workerId, name = '' }) =>
          text === undefined || `${workerId}\n${name}`.toLowerCase().includes(text),
      )
      .filter((worker) =>
        wanted.every(([name, value]) => Object.hasOwn(worker.labels, name) && worker.labels[name] === value),
      )
      .sort((a, b) => (a.workerId < b.workerId ? -1 : 1))
      .slice(0, limit);
  }

  async findWorker(workerId: string, nowMs: number): Promise<KnownWorker | undefined> {
    return knownWorkers(this.#state, nowMs).find((worker) => worker.workerId === workerId);
  }

  async workersOffering(handler: string, namespaces?: readonly string[]): Promise<OfferingWorker[]> {
    return [...this.#state.workers.values()]
      .filter(
        (worker) => worker.alive && worker.handlers.includes(handler) && servesOneOf(worker, namespaces),
      )
      .map((worker) => ({ ...stateOf(worker), labels: worker.labels }));
  }

  async offers({ namespaces, after = '', limit }: OfferPage): Promise<HandlerOffer[]> {
    const counts = new Map<string, number>();
    for (const worker of this.#state.workers.values()) {
      if (!worker.alive || !servesOneOf(worker, namespaces)) continue;
      for (const name of worker.handlers) if (name > after) counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    const named = Array.from(counts, ([handler, workers]) => ({ handler, workers }));
    return named.sort((a, b) => (a.handler < b.handler ? -1 : 1)).slice(0, limit);
  }

  async leasedRuns(): Promise<ReadonlyMap<WorkerId, number>> {
    const counts = new Map<WorkerId, number>();
    for (const { workerId } of this.#state.leases.all()) {
      counts.set(workerId, (counts.get(workerId) ?? 0) + 1);
    }
    return counts;
  }

  #emit(kind: EventKind, nodeId: NodeId, workerId?: WorkerId): void {
    this.#state.events.member(kind, { workerId, nodeId });
  }

  #expiryOf({ nodeId }: ShardRow): number {
    return (nodeId && this.#state.nodes.get(nodeId)?.expiresAtMs) ?? 0;
  }

  #owned({ nodeId, epochs }: { nodeId: NodeId; epochs: Epochs }): ShardRow[] {
    return [...this.#state.shards.values()].filter(
      (owner) => owner.nodeId === nodeId && owner.epoch === epochs.get(owner.shard),
    );
  }
}
