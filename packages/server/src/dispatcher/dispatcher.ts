/**
 * Decides which of the due runs start, where, and when: one serial place per shard, so limits cannot be raced past. Chosen
 * runs are claimed in batches (several claims may be under way) and handed to workers; nothing here assumes they are local.
 */
import {
  type Choice,
  chooseRuns,
  type LeaseId,
  type PendingRun,
  PRIORITIES,
  type RunId,
  type WorkerId,
} from '@carillon/domain';
import { type Clock, type Log, Loop, type Random, Rest, type Service } from '@carillon/foundation';
import type { RunQueue } from '../run-queue/run-queue.ts';
import type { SignalBus } from '../signal-bus/signal-bus.ts';
import type { LeaseStore, PendingVerdict } from '../storage/lease-store.ts';
import type { ShardGuard } from '../storage/shard-guard.ts';
import type { WorkerLink } from '../worker-link/worker-link.ts';
import { LiveRuns, type Living } from './live-runs.ts';
import { waitForWorker } from './wait-for-worker.ts';
import { WaitingRoom } from './waiting-room.ts';

export interface DispatcherOptions {
  readonly leases: LeaseStore;
  readonly queue: RunQueue;
  readonly link: WorkerLink;
  readonly signals: SignalBus;
  readonly guard: () => ShardGuard;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

const IDLE_MS = 1_000;
/** Runs of one priority waiting for a slot in memory; the rest waits in the storage. */
const WAITING_MAX = 3_000;
const BATCH_MAX = 500;
const CLAIMS_MAX = 4;
/** A claim has a cost of its own: fewer runs than this that could start wait for the one under way, and share the next. */
const BESIDE_MIN = 100;
/** After it they wait for as long as it took, at most this long. */
const REST_MS_MAX = 8;
/** Candidates beyond the free slots: the most urgent may all want a worker that is full. */
const LOOK_PAST = 64;
/** How often the copy of living runs is compared with the leases while something depends on it. */
const RECONCILE_MS = 2_000;

export class Dispatcher implements Service {
  readonly #options: DispatcherOptions;
  readonly #loop: Loop;
  readonly #waiting = new WaitingRoom();
  readonly #live = new LiveRuns();
  readonly #unsubscribe: () => void;
  /** Runs whose claim broke off: in a lease or not, the next comparison tells. */
  readonly #uncertain = new Set<RunId>();
  /** Runs that the storage has as pending though they are alive here: what ended them was never told to this node. */
  readonly #doubted = new Map<RunId, PendingRun>();
  /** Claims under way, and what they want. */
  readonly #claiming = new Map<Promise<void>, readonly PendingRun[]>();
  /** Shards of which runs were dropped while they were not owned: should they come back, those runs are still pending. */
  readonly #dropped = new Set<number>();
  #epochs: ReadonlyMap<number, number> = new Map();
  #reconcileAt = 0;
  #lookAgainAt = 0;
  readonly #rest: Rest;
  #watchingSinceMs: number | undefined;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    const { clock, random, log, queue, link, signals } = options;
    this.#rest = new Rest({ clock, msMax: REST_MS_MAX });
    this.#loop = new Loop({
      name: 'dispatcher',
      clock,
      random,
      log,
      idleMs: IDLE_MS,
      runOnce: () => this.runOnce(),
    });
    queue.onReady(() => this.#loop.wake());
    link.onChange(() => this.#loop.wake());
    // A report may be told of late, when its run has been handed out again: that one is not released by it.
    this.#unsubscribe = signals.on('runs-released', ({ runs }) => {
      for (const run of runs) this.#release(run, run.claimedAtMs);
      this.#loop.wake();
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** Hands out nothing new; claims under way are completed and handed over. */
  async stop(): Promise<void> {
    this.#unsubscribe();
    await this.#loop.stop();
    await Promise.all(this.#claiming.keys());
  }

  wake(): void {
    this.#loop.wake();
  }

  get waiting(): number {
    return this.#waiting.size + this.#waiting.parkedCount;
  }

  async runOnce(): Promise<number | undefined> {
    this.#watchingSinceMs ??= this.#options.clock.now();
    const guard = this.#options.guard();
    await this.#followOwnership(guard);
    await this.#reconcile();
    this.#admit(guard);
    while (this.#mayClaim() && (await this.#dispatch(guard))) this.#admit(guard);
    const { leftMs } = this.#rest;
    return this.#waiting.size > 0 && leftMs > 0 ? leftMs : undefined;
  }

  #mayClaim(): boolean {
    const { size } = this.#waiting;
    if (this.#claiming.size === 0) return size >= BESIDE_MIN || this.#rest.leftMs <= 0;
    return this.#claiming.size < CLAIMS_MAX && Math.min(size, this.#freeSlots()) >= BESIDE_MIN;
  }

  #freeSlots(): number {
    return this.#options.link.workers().reduce((sum, worker) => sum + worker.freeSlots, 0);
  }

  /** A shard's runs are dispatched only after its living runs are known. */
  async #followOwnership(guard: ShardGuard): Promise<void> {
    if (guard.epochs === this.#epochs) return;
    const gained = [...guard.epochs]
      .filter(([shard, epoch]) => this.#epochs.get(shard) !== epoch)
      .map(([shard]) => shard);
    const living = gained.length > 0 ? await this.#options.leases.live(gained) : [];
    for (const shard of this.#waiting.retain((owned) => guard.epochs.has(owned))) this.#dropped.add(shard);
    const underWay = this.#runsUnderWay();
    for (const run of [...this.#live.all()]) {
      if (guard.epochs.get(run.shard) === this.#epochs.get(run.shard)) continue;
      // A claim under way may still succeed, and the leases were read too early to show it.
      if (!underWay.has(run.runId)) this.#live.remove(run);
    }
    for (const { jobId, runId, shard, claimedAtMs: sinceMs } of living) {
      // In place of a claim under way, which then cannot succeed: it must not take this one with it when it fails.
      this.#live.remove({ jobId, runId });
      this.#live.add({ jobId, runId, shard, sinceMs });
    }
    this.#epochs = guard.epochs;
    this.#tellForgotten(gained.filter((shard) => this.#dropped.delete(shard)));
    for (const jobId of [...this.#waiting.parkedJobs()])
      this.#waiting.unpark(jobId, Number.POSITIVE_INFINITY);
  }

  #admit(guard: ShardGuard): void {
    // Shards came or went during this pass: the queue may hold runs of new ones, which the next pass knows.
    if (this.#options.guard().epochs !== guard.epochs) {
      this.#loop.wake();
      return;
    }
    for (const priority of PRIORITIES) {
      const room = WAITING_MAX - this.#waiting.sizeOf(priority);
      if (room > 0) this.#admitAll(this.#options.queue.take(priority, room), guard);
    }
  }

  #admitAll(runs: readonly PendingRun[], guard: ShardGuard): void {
    const nowMs = this.#options.clock.now();
    for (const run of runs) {
      if (!guard.epochs.has(run.shard)) {
        this.#dropped.add(run.shard);
        continue;
      }
      const living = this.#live.find(run);
      if (living === undefined) this.#waiting.admit(run);
      // Read just before it was claimed, most likely; if it is pending indeed, it is read again.
      else if (nowMs - living.sinceMs > RECONCILE_MS) this.#doubted.set(run.runId, run);
    }
  }

  /** One round of choices. True when it found a verdict for something, so another round may too. */
  async #dispatch(guard: ShardGuard): Promise<boolean> {
    const { link, clock } = this.#options;
    const workers = link.workers();
    const free = this.#freeSlots();
    if (this.#waiting.size === 0) return false;
    // With every slot taken only start timeouts are left to judge, and those can wait for the next idle pass.
    if (free === 0 && workers.length > 0 && clock.monotonic() < this.#lookAgainAt) return false;
    this.#lookAgainAt = clock.monotonic() + IDLE_MS;
    const candidates = this.#waiting
      .take(Math.min(free + LOOK_PAST, BATCH_MAX * CLAIMS_MAX))
      .filter((run) => !this.#isAlive(run));
    const choice = chooseRuns(candidates, workers, {
      nowMs: clock.now(),
      running: (jobId) => this.#live.count(jobId),
      waiting: (jobId) => this.#waiting.parkedOf(jobId),
    });
    this.#waiting.putBack(choice.noSlot);
    this.#place(choice.placed, guard);
    const verdicts = this.#park(choice);
    if (verdicts.length > 0) await this.#resolve(verdicts, guard);
    return candidates.length > choice.noSlot.length;
  }

  /** It waited here while another node had its shard and started it: then it must not be counted, or claimed, once more. */
  #isAlive(run: PendingRun): boolean {
    if (this.#live.find(run) === undefined) return false;
    this.#waiting.forget(run.runId);
    this.#doubted.set(run.runId, run);
    return true;
  }

  #place(placed: Choice['placed'], guard: ShardGuard): void {
    const byWorker = Map.groupBy(placed, (placement) => placement.workerId);
    for (const [workerId, placements] of byWorker) {
      // Even batches: 256 as 250 and 6 would leave six slots cycling alone while the rest waits for the large claim.
      const size = Math.ceil(placements.length / Math.ceil(placements.length / BATCH_MAX));
      for (let from = 0; from < placements.length; from += size) {
        const runs = placements.slice(from, from + size).map((placement) => placement.run);
        const nowMs = this.#options.clock.now();
        for (const { jobId, runId, shard } of runs) this.#live.add({ jobId, runId, shard, sinceMs: nowMs });
        this.#options.link.reserve(workerId, runs.length);
        const startedAt = this.#options.clock.monotonic();
        const claim = this.#claim(workerId, { runs, guard, nowMs }).finally(() => {
          this.#claiming.delete(claim);
          this.#rest.begin(startedAt);
          this.#loop.wake();
        });
        this.#claiming.set(claim, runs);
      }
    }
  }

  async #claim(
    workerId: WorkerId,
    { runs, guard, nowMs }: { runs: readonly PendingRun[]; guard: ShardGuard; nowMs: number },
  ): Promise<void> {
    const { leases, link, random, log } = this.#options;
    const leaseId = random.id() as LeaseId;
    try {
      const batch = await leases.claim({ leaseId, workerId, runs, guard, nowMs });
      const missed = runs.length - batch.runs.length;
      if (missed > 0) {
        const claimed = new Set(batch.runs.map((run) => run.runId));
        link.unreserve(workerId, missed);
        // Some may have been found alive elsewhere since: what this claim missed is not what lives there.
        const released = runs.filter((run) => !claimed.has(run.runId) && this.#release(run, nowMs));
        this.#tellForgotten(released.map((run) => run.shard));
      }
      if (batch.runs.length > 0) link.hand(batch);
    } catch (error) {
      // Whether the claim happened is unknown. If it did, the worker's heartbeat shows that the lease never arrived.
      log.warn({ err: error, leaseId, runs: runs.length }, 'a claim broke off');
      link.unreserve(workerId, runs.length);
      for (const run of runs) this.#uncertain.add(run.runId);
    }
    for (const run of runs) this.#waiting.forget(run.runId);
  }

  /** Parks what must wait for its own job, and answers the verdicts on what must not wait at all. */
  #park(choice: Choice): PendingVerdict[] {
    const verdicts: PendingVerdict[] = choice.skipped.map(({ run, reason }) => ({
      kind: 'skip',
      run,
      reason,
    }));
    for (const { run, replaces } of choice.atLimit) {
      if (replaces) {
        // The newest occurrence takes the place of those that wait, and of the oldest that runs.
        for (const older of this.#waiting.takeParked(run.jobId)) {
          if (older.attempt > 1) this.#waiting.park(older);
          else verdicts.push({ kind: 'skip', run: older, reason: 'replaced' });
        }
        this.#stopOldest(run);
      }
      this.#waiting.park(run);
    }
    for (const run of choice.expired)
      verdicts.push({ kind: 'expire', run, error: 'waited longer than start_timeout_seconds' });
    const nowMs = this.#options.clock.now();
    for (const run of choice.noWorker)
      verdicts.push(waitForWorker(run, { nowMs, watchingSinceMs: this.#watchingSinceMs ?? nowMs }));
    return verdicts;
  }

  #stopOldest(run: PendingRun): void {
    const oldest = this.#live.oldestOf(run.jobId);
    if (!oldest) return;
    this.#options.leases.requestCancel([oldest]).then(
      () => this.#options.link.cancel([oldest]),
      (error: unknown) =>
        this.#options.log.warn({ err: error, runId: oldest }, 'could not ask a replaced run to stop'),
    );
  }

  async #resolve(verdicts: readonly PendingVerdict[], guard: ShardGuard): Promise<void> {
    try {
      await this.#options.leases.resolvePending(verdicts, { guard, nowMs: this.#options.clock.now() });
    } catch (error) {
      this.#tellForgotten(verdicts.map(({ run }) => run.shard));
      throw error;
    } finally {
      for (const { run } of verdicts) {
        this.#waiting.forget(run.runId);
        // It may have been let out of the line to take a place that is still free: the next one gets its chance.
        this.#waiting.unpark(run.jobId, 1);
      }
    }
  }

  /** Runs that are let go here and may be pending still, older than a sweep looks back. */
  #tellForgotten(shards: readonly number[]): void {
    if (shards.length > 0) this.#options.signals.send('runs-forgotten', { shards: [...new Set(shards)] });
  }

  /** False when it was not alive, or claimed at another time than this. */
  #release(run: Pick<PendingRun, 'jobId' | 'runId'>, sinceMs?: number): boolean {
    if (!this.#live.remove(run, sinceMs)) return false;
    if (this.#uncertain.size > 0) this.#uncertain.delete(run.runId);
    if (this.#waiting.parkedCount > 0) this.#waiting.unpark(run.jobId, 1);
    return true;
  }

  #runsUnderWay(): Set<RunId> {
    return new Set([...this.#claiming.values()].flatMap((runs) => runs.map((run) => run.runId)));
  }

  /** Frees what the leases no longer hold: a lost signal must not block a job forever. */
  async #reconcile(): Promise<void> {
    const { clock, leases } = this.#options;
    if (this.#waiting.parkedCount === 0 && this.#uncertain.size === 0 && this.#doubted.size === 0) return;
    if (clock.monotonic() < this.#reconcileAt) return;
    this.#reconcileAt = clock.monotonic() + RECONCILE_MS;
    // Only claims that are over can be judged: one under way is alive here and not in the leases yet.
    const underWay = this.#runsUnderWay();
    const suspects = new Map<RunId, Living>();
    for (const run of this.#live.all()) if (!underWay.has(run.runId)) suspects.set(run.runId, run);
    for (const run of await leases.live([...this.#epochs.keys()])) suspects.delete(run.runId);
    this.#tellForgotten([...suspects.values()].map((run) => run.shard));
    for (const run of suspects.values()) this.#release(run);
    for (const run of this.#doubted.values()) {
      if (this.#epochs.has(run.shard) && this.#live.find(run) === undefined) this.#waiting.admit(run);
    }
    this.#doubted.clear();
    for (const jobId of [...this.#waiting.parkedJobs()]) {
      this.#waiting.unpark(jobId, this.#waiting.limitOfParked(jobId) - this.#live.count(jobId));
      // A stop that was asked for while the claim was under way found nothing to stop.
      const next = this.#waiting.firstParked(jobId);
      if (next && isReplacing(next)) this.#stopOldest(next);
    }
  }
}

/** Retries wait for their turn; only a fresh occurrence takes the place of what runs. */
function isReplacing(run: PendingRun): boolean {
  return run.overlap === 'replace' && run.attempt === 1;
}
