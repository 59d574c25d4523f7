/**
 * Claims runs from the backlog for the workers of this server, in its process or connected by a stream, whenever they have free slots,
 * and hands them over. It owns no shard: a run is claimed by deleting its row, and only this process knows the free slots of its workers.
 */
import { type ClaimedBatch, type LeaseId, type NodeId, ownerOf } from '@carillon/domain';
import { type Clock, Cooldown, type Log, Loop, type Random, type Service, sleep } from '@carillon/foundation';
import type { Backlog } from '../backlog/backlog.ts';
import type { SignalBus } from '../signal-bus/signal-bus.ts';
import type { AccountStore } from '../storage/account-store.ts';
import type { LeaseStore } from '../storage/lease-store.ts';
import type { MemberStore } from '../storage/member-store.ts';
import { StorageUnavailable } from '../storage/storage.ts';
import type { WorkerLink, WorkerView } from '../worker-link/worker-link.ts';
import { CancelsOnTheWay } from './cancels-on-the-way.ts';
import { ClaimWatch } from './claim-watch.ts';
import { slotsFor } from './slots-for.ts';

/** Gives claimed runs what only their worker may see. It never fails: a run that cannot be given it ends with the reason. */
export interface BatchResolver {
  /** False: the batch is handed over as it is. */
  concerns(batch: ClaimedBatch): boolean;
  resolve(batch: ClaimedBatch): Promise<ClaimedBatch>;
}

/** The second is given what the first has made of the batch. */
export function inTurn(first: BatchResolver, second: BatchResolver): BatchResolver {
  return {
    concerns: (batch) => first.concerns(batch) || second.concerns(batch),
    async resolve(batch) {
      const half = first.concerns(batch) ? await first.resolve(batch) : batch;
      return second.concerns(half) ? second.resolve(half) : half;
    },
  };
}

export interface DispatcherOptions {
  readonly backlog: Backlog & { prefer(isOwn: (part: number) => boolean): void };
  /** For claims of nothing, which show whether claims are answered. */
  readonly leases: Pick<LeaseStore, 'claim'>;
  readonly link: WorkerLink;
  readonly members: Pick<MemberStore, 'workers' | 'cancelledRuns'>;
  readonly signals: SignalBus;
  /** Tells whether namespaces share the workers. Left out: there is one. */
  readonly accounts?: Pick<AccountStore, 'namespaces'>;
  /** Left out: batches are handed over as they are. */
  readonly resolver?: BatchResolver;
  readonly nodeId: NodeId;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

const IDLE_MS = 1_000;
const BATCH_MAX = 1_000;
const CLAIMS_MAX = 4;
/** A claim has a fixed cost: fewer free slots of a worker than this wait for its claim under way, and share the next. */
const BESIDE_MIN = 100;
/** After a claim that was not full, the next waits for as long as it took, at most this long. */
const COOLDOWN_MS_MAX = 8;
/** How often the other dispatchers, and whether there are several namespaces, are read. */
const PEERS_MS = 3_000;
const ERROR_PAUSE_MS = 200;
const SCAN_PATIENCE_MS = 5;
/** A scan that takes longer may wait for a lock. */
const SCAN_LATE_MS = 1_000;

export class Dispatcher implements Service {
  readonly #options: DispatcherOptions;
  readonly #loop: Loop;
  readonly #claims = new Set<Promise<void>>();
  readonly #cooldown: Cooldown;
  readonly #watch: ClaimWatch;
  readonly #cancels: CancelsOnTheWay;
  #peersAt = 0;
  #pausedUntil = 0;
  #lastWasFull = false;
  #isStopping = false;
  #isScanning = false;
  #scannedAt = 0;
  #isProbing = false;
  /** Of each worker, how many claims are under way. */
  readonly #openClaims = new Map<string, number>();
  /** As long as it is not known: as if. */
  #isShared: boolean;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    const { clock, link, backlog } = options;
    this.#isShared = options.accounts !== undefined;
    this.#cooldown = new Cooldown({ clock, msMax: COOLDOWN_MS_MAX });
    this.#watch = new ClaimWatch({ clock });
    this.#cancels = new CancelsOnTheWay(options);
    this.#loop = new Loop({ ...options, name: 'dispatcher', idleMs: IDLE_MS, runOnce: () => this.runOnce() });
    link.onChange(() => this.#loop.wake());
    backlog.onReady(() => this.#loop.wake());
  }

  start(): void {
    this.#loop.start();
  }

  /** Hands out nothing new; claims under way are completed and handed over. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#loop.stop();
    await Promise.all(this.#claims);
  }

  /** For how long claims have been sent and none was answered; 0 while they are, or none is needed. */
  get unansweredMs(): number {
    return this.#watch.unansweredMs;
  }

  async runOnce(): Promise<number> {
    const { backlog, clock, link } = this.#options;
    const workers = link.workers();
    if (workers.length === 0) return IDLE_MS;
    await this.#scan(new Set(workers.flatMap((worker) => worker.handlers)));
    while (this.#mayClaim() && this.#claimForSome());
    this.#claimNothing(workers[0]!);
    const pauseMs = Math.max(this.#cooldown.leftMs, this.#pausedUntil - clock.monotonic());
    // Without a free slot, or with claims under way, their end is what wakes it up.
    const free = freestFirst(link.workers());
    const isWaiting = this.#claims.size > 0 || free.length === 0;
    const readyInMs = isWaiting ? IDLE_MS : backlog.readyInMs(free.map((worker) => this.#offerOf(worker)));
    const scanInMs = this.#isScanning ? IDLE_MS : backlog.scanInMs();
    return Math.min(IDLE_MS, Math.max(Math.min(readyInMs, scanInMs), pauseMs, 0));
  }

  /** Awaited while it is quick; a slow scan, of many lanes or beside an old snapshot, goes on beside claims. */
  async #scan(handlers: ReadonlySet<string>): Promise<void> {
    const { clock, log } = this.#options;
    if (this.#isScanning) return;
    this.#isScanning = true;
    this.#scannedAt = clock.monotonic();
    const scanning = this.#scanNow(handlers)
      .catch((error: unknown) =>
        log[levelOf(error)]({ err: error }, 'a look over the lanes failed; trying again'),
      )
      .finally(() => {
        this.#isScanning = false;
      });
    const isOver = new AbortController();
    const late = sleep(clock, SCAN_PATIENCE_MS, isOver.signal).then(() => 'late' as const);
    const first = await Promise.race([scanning, late]).finally(() => isOver.abort());
    if (first === 'late') void scanning.then(() => this.#loop.wake());
  }

  async #scanNow(handlers: ReadonlySet<string>): Promise<void> {
    await this.#options.backlog.scan(handlers);
    await this.#findPeers();
  }

  #mayClaim(): boolean {
    if (this.#isStopping || this.#options.clock.monotonic() < this.#pausedUntil) return false;
    if (this.#claims.size === 0) return this.#lastWasFull || this.#cooldown.leftMs <= 0;
    return this.#claims.size < CLAIMS_MAX;
  }

  /**
   * For a worker that offers what waits, the freest of those with fewest claims under way: what only a small worker offers does not wait
   * for the claims of a large one. False when there is none.
   */
  #claimForSome(): boolean {
    return freestFirst(this.#options.link.workers())
      .sort((a, b) => this.#openClaimsOf(a) - this.#openClaimsOf(b))
      .some((worker) => this.#claimFor(worker));
  }

  #openClaimsOf({ workerId }: WorkerView): number {
    return this.#openClaims.get(workerId) ?? 0;
  }

  #countClaim(worker: WorkerView, change: 1 | -1): void {
    const open = this.#openClaimsOf(worker) + change;
    if (open > 0) this.#openClaims.set(worker.workerId, open);
    else this.#openClaims.delete(worker.workerId);
  }

  /** False when there was nothing to claim. */
  #claimFor(worker: WorkerView): boolean {
    const { backlog, link, random, clock } = this.#options;
    const { workerId, freeSlots } = worker;
    if (this.#openClaimsOf(worker) > 0 && freeSlots < BESIDE_MIN) return false;
    const offer = this.#offerOf(worker);
    const runsMax = Math.min(offer.runsMax, BATCH_MAX);
    const taking = backlog.take({ ...offer, leaseId: random.id() as LeaseId, workerId, runsMax });
    if (!taking) return false;
    // DISP-2: before the claim is answered.
    link.reserve(workerId, runsMax);
    const startedAt = clock.monotonic();
    const answer = this.#watch.follow(taking);
    const claim = this.#handOver(answer, { worker, runsMax, startedAt }).finally(() => {
      this.#claims.delete(claim);
      this.#countClaim(worker, -1);
      this.#loop.wake();
    });
    this.#claims.add(claim);
    this.#countClaim(worker, 1);
    return true;
  }

  #offerOf(worker: WorkerView) {
    const { handlers, namespaces } = worker;
    return { handlers, namespaces, ...slotsFor(worker, { isShared: this.#isShared }) };
  }

  /**
   * While the backlog is locked, nothing is announced and no scan ends: then a claim of nothing shows whether claims are answered. It
   * also ends the time without an answer when nothing is open any more.
   */
  #claimNothing({ workerId }: WorkerView): void {
    const { clock, leases, random, log } = this.#options;
    const isScanLate = this.#isScanning && clock.monotonic() - this.#scannedAt >= SCAN_LATE_MS;
    if (this.#isStopping || this.#isProbing || this.#claims.size > 0 || !this.#watch.mayProbe(isScanLate))
      return;
    const leaseId = random.id() as LeaseId;
    this.#isProbing = true;
    // It claims nothing, so nobody waits for it, not even stop().
    const pick = { lanes: [], runsMax: 0 };
    void this.#watch
      .follow(leases.claim({ leaseId, workerId, nowMs: clock.now(), pick }))
      .catch((error: unknown) => log.debug({ err: error }, 'a claim of no runs failed'))
      .finally(() => {
        this.#isProbing = false;
      });
  }

  async #handOver(
    taking: NonNullable<ReturnType<Backlog['take']>>,
    { worker, runsMax, startedAt }: { worker: WorkerView; runsMax: number; startedAt: number },
  ): Promise<void> {
    const { link, log, clock, resolver } = this.#options;
    const { workerId } = worker;
    const cancels = this.#cancels.begin();
    let reserved = runsMax;
    try {
      const batch = await taking;
      const { length } = batch.runs;
      this.#lastWasFull = length === runsMax;
      if (length < runsMax) this.#cooldown.begin(startedAt);
      if (length < runsMax) link.unreserve(workerId, runsMax - length);
      reserved = length;
      if (length === 0) return;
      const resolved = resolver?.concerns(batch) ? await resolver.resolve(batch) : batch;
      const ready = this.#cancels.concern(resolved, cancels)
        ? await this.#cancels.endCancelled(resolved)
        : resolved;
      // LEASE-11: a worker that connected again meanwhile may have had the lease given back on a stream in between.
      reserved = 0;
      if (link.workers().includes(worker)) link.hand(ready);
      else link.unreserve(workerId, length);
    } catch (error) {
      // Whether the claim happened is unknown. If it did, the worker finds a lease that never arrived (LEASE-11).
      log[levelOf(error)]({ err: error, runs: runsMax }, 'a claim broke off');
      this.#pausedUntil = clock.monotonic() + ERROR_PAUSE_MS;
      link.unreserve(workerId, reserved);
    } finally {
      this.#cancels.end(cancels);
    }
  }

  /** Each dispatcher prefers parts of its own: then claims of several rarely meet. */
  async #findPeers(): Promise<void> {
    const { members, accounts, clock, nodeId, backlog } = this.#options;
    if (clock.monotonic() < this.#peersAt) return;
    this.#peersAt = clock.monotonic() + PEERS_MS;
    this.#isShared = ((await accounts?.namespaces({ limit: 2 })) ?? []).length > 1;
    const workers = await members.workers();
    const dispatchers = [
      ...new Set([nodeId, ...workers.filter(({ alive }) => alive).map((worker) => worker.nodeId)]),
    ];
    backlog.prefer((part) => ownerOf(part, dispatchers) === nodeId);
  }
}

/** Those with a free slot. */
function freestFirst(workers: readonly WorkerView[]): WorkerView[] {
  return workers.filter(({ freeSlots }) => freeSlots > 0).sort((a, b) => b.freeSlots - a.freeSlots);
}

/** That the database is away is told once, not by everything that needs it. */
function levelOf(error: unknown): 'debug' | 'warn' {
  return error instanceof StorageUnavailable ? 'debug' : 'warn';
}
