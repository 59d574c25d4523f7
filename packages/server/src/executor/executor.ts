/**
 * The worker in this process: registers, beats, runs what it is handed, reports. Without an answered heartbeat for most of the
 * silence period it stops its runs itself, before another server takes them back (hazard 14).
 */
import {
  type BootId,
  type ClaimedBatch,
  type LeaseId,
  type NodeId,
  RUN_ERRORS,
  type WorkerId,
} from '@carillon/domain';
import { type Clock, type Log, Loop, type Random, type Service, sleep } from '@carillon/foundation';
import { ExecutionEngine, type Handler } from '@carillon/worker';
import type { SignalBus } from '../signal-bus/signal-bus.ts';
import type { MemberStore, UnreceivedRun } from '../storage/member-store.ts';
import type { ReportedRun, RunReports } from '../worker-link/run-reports.ts';
import type { LocalWorker, LocalWorkers } from '../worker-link/worker-link.ts';
import { LeaseWatch } from './lease-watch.ts';
import { ReportSender } from './report-sender.ts';
import { UnrecordedBound } from './unrecorded-bound.ts';

export interface ExecutorOptions {
  readonly nodeId: NodeId;
  readonly incarnation: number;
  readonly bootId: BootId;
  readonly members: MemberStore;
  readonly reports: RunReports;
  readonly link: LocalWorkers;
  readonly signals: SignalBus;
  readonly handlers: ReadonlyMap<string, Handler>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly slots: number;
  /** Others take the runs back after this much silence. */
  readonly silentMs: number;
  /** How long stop() waits for runs to end by themselves. */
  readonly drainMs: number;
}

/** A little longer than the engine waits for handlers that do not stop. */
const GIVE_BACK_MS = 6_000;
const TRUSTED_SHARE = 0.8;
/** Given-up leases that are remembered: more than claims can be under way. */
const GIVEN_UP_MAX = 1_000;
/** Hexadecimal digits at the end of a UUID that are random whatever its version. */
const BOOT_CHARACTERS = 8;

export class Executor implements Service, LocalWorker {
  readonly #options: ExecutorOptions;
  readonly #engine: ExecutionEngine;
  readonly #loop: Loop;
  readonly #leaseWatch: LeaseWatch;
  readonly #unsubscribe: (() => void)[];
  readonly #sender: ReportSender;
  readonly #handlers: readonly string[];
  readonly #bound: UnrecordedBound;
  readonly #stopping = new AbortController();
  /** Leases whose runs were returned because they had not arrived: should they arrive later, their runs belong to other workers. */
  readonly #givenUp = new Set<LeaseId>();
  #workerId: WorkerId;
  #generation = 0;
  #registered = false;
  #trustedUntil = 0;
  /** Somebody asked it to take no more runs. */
  #draining = false;
  /** Handlers that had not returned at the last heartbeat, though their runs were reported. */
  #stuck = 0;
  #cancelWatch: (() => void) | undefined;

  constructor(options: ExecutorOptions) {
    this.#options = options;
    const { clock, handlers, silentMs, signals, link } = options;
    this.#workerId = this.#nextId();
    this.#handlers = [...handlers.keys()];
    this.#sender = new ReportSender({
      ...options,
      onAnswered: (leaseId) => {
        // Known only for runs that were started; for the others there is nothing to count.
        this.#engine.reported(leaseId);
        this.#bound.update(this);
        link.freed();
      },
    });
    this.#bound = new UnrecordedBound(options);
    this.#engine = new ExecutionEngine({
      handlers,
      clock,
      isTrusted: () => this.#isTrusted(),
      onEnded: (ended) => {
        this.#sender.send(ended);
        this.#bound.update(this);
      },
      onSlotFree: () => link.freed(),
      onRunning: (runs) =>
        options.reports.running(runs.map(({ run, startedAtMs }) => ({ ...run, startedAtMs }))),
    });
    this.#loop = new Loop({
      ...options,
      name: 'executor',
      idleMs: silentMs / 5,
      runOnce: () => this.runOnce(),
    });
    this.#leaseWatch = new LeaseWatch({
      ...options,
      workerId: () => this.workerId,
      unreported: () => this.#engine.unreportedLeases(),
      onCancel: (runIds) => this.#engine.cancel(runIds),
      onUnreceived: (runs) => this.#giveUp(runs),
      onUnknown: (leases) => this.#engine.giveBack(leases, RUN_ERRORS.unknown()),
    });
    // A hint alone stops nothing: the storage decides which runs are to stop.
    this.#unsubscribe = [
      signals.on('cancel-requested', () => this.#leaseWatch.checkSoon()),
      signals.on('workers-asked', () => this.#loop.wake()),
    ];
  }

  get workerId(): WorkerId {
    return this.#workerId;
  }

  get slots(): number {
    return this.#isTrusted() && !this.#draining ? this.#options.slots : 0;
  }

  get runningCount(): number {
    return this.#engine.runningCount;
  }

  /** Runs that have ended and whose outcome is not safe yet. */
  get unrecordedCount(): number {
    return this.#sender.unrecordedCount;
  }

  get unrecordedLeft(): number {
    return this.#bound.left(this);
  }

  /** How long no run was started because outcomes could not be recorded; undefined while runs are. */
  get boundReachedMs(): number | undefined {
    return this.#bound.reachedMs;
  }

  /** Registers before it resolves if the database answers; else as soon as it does. */
  async start(): Promise<void> {
    await this.#register().catch((error: unknown) =>
      this.#options.log.warn({ err: error }, 'could not register this worker yet'),
    );
    this.#loop.start();
    this.#leaseWatch.start();
  }

  /** Waits for runs to end, then returns the rest; every report is delivered before it resolves. */
  async stop(): Promise<void> {
    const { link, clock, drainMs, members, log } = this.#options;
    link.detach(this.workerId);
    await Promise.race([this.#engine.drained(), sleep(clock, drainMs, this.#stopping.signal)]);
    this.#engine.giveBackAll(RUN_ERRORS.shutDown());
    await Promise.race([this.#engine.drained(), sleep(clock, GIVE_BACK_MS, this.#stopping.signal)]);
    this.#stopping.abort();
    await this.#sender.stop();
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    await this.#leaseWatch.stop();
    await this.#loop.stop();
    this.#cancelWatch?.();
    await members
      .forgetWorkers([this.workerId])
      .catch((error: unknown) => log.warn({ err: error }, 'could not remove this worker'));
  }

  get handlers(): readonly string[] {
    return this.#handlers;
  }

  accept(batch: ClaimedBatch): void {
    if (this.#givenUp.has(batch.leaseId)) this.#options.link.freed();
    else if (this.#isTrusted()) this.#engine.accept(batch);
    else for (const run of batch.runs) this.#return(run, RUN_ERRORS.unheard());
  }

  /** One heartbeat and nothing else, since trust rests on it: nothing slow may delay it. */
  async runOnce(): Promise<undefined> {
    if (this.#registered) await this.#beat();
    else await this.#register();
    return undefined;
  }

  async #register(): Promise<void> {
    const { members, nodeId, incarnation, bootId, slots, handlers, clock, link } = this.#options;
    const sentAt = clock.monotonic();
    const worker = {
      workerId: this.workerId,
      nodeId,
      incarnation,
      bootId,
      slots,
      handlers: [...handlers.keys()],
      draining: this.#draining,
    };
    const { draining } = await members.registerWorker(worker, clock.now());
    this.#draining = draining;
    this.#heard(sentAt);
    this.#registered = true;
    link.attach(this);
  }

  async #beat(): Promise<void> {
    const { members, clock } = this.#options;
    const sentAt = clock.monotonic();
    this.#noteStuck(this.#engine.stuckCount);
    const { alive, draining } = await members.beatWorker(this.workerId, clock.now(), this.#stuck);
    if (!alive) {
      this.#comeBack();
      return;
    }
    this.#drain(draining);
    this.#heard(sentAt);
  }

  #drain(draining: boolean): void {
    if (draining === this.#draining) return;
    this.#draining = draining;
    const message = draining ? 'this worker takes no more runs: it was asked to drain' : 'this worker takes runs again';
    this.#options.log.info({ workerId: this.workerId, running: this.runningCount }, message);
  }

  #noteStuck(stuck: number): void {
    const message = 'handlers have not returned though they were told to stop and their runs were reported; their slots stay in use';
    if (stuck > this.#stuck) this.#options.log.warn({ workerId: this.workerId, stuck }, message);
    this.#stuck = stuck;
  }

  /**
   * LEASE-3. A timer ends the trust, not the answer of the next heartbeat: that may take longer than the silence period.
   */
  #heard(sentAt: number): void {
    const { clock, silentMs, link } = this.#options;
    this.#trustedUntil = sentAt + silentMs * TRUSTED_SHARE;
    this.#cancelWatch?.();
    this.#cancelWatch = clock.timer(this.#trustedUntil - clock.monotonic(), () =>
      this.#engine.giveBackAll(RUN_ERRORS.unheard()),
    );
    link.freed();
  }

  #isTrusted(): boolean {
    return this.#options.clock.monotonic() < this.#trustedUntil;
  }

  /** Marked dead: its runs belong to other workers now. It registers under a new id. */
  #comeBack(): void {
    const { link, log } = this.#options;
    log.warn({ workerId: this.workerId }, 'this worker was marked dead; starting over under a new id');
    this.#engine.giveBackAll(RUN_ERRORS.givenUp());
    link.detach(this.workerId);
    this.#workerId = this.#nextId();
    this.#registered = false;
    this.#loop.wake();
  }

  /** LEASE-11: runs that were claimed for this worker and never arrived. */
  #giveUp(runs: readonly UnreceivedRun[]): void {
    // They may have arrived meanwhile.
    const arrived = new Set(this.#engine.unreportedLeases());
    const missing = runs.filter(({ leaseId }) => !arrived.has(leaseId) && !this.#givenUp.has(leaseId));
    if (missing.length === 0) return;
    for (const { leaseId } of missing) this.#givenUp.add(leaseId);
    for (const leaseId of this.#givenUp) {
      if (this.#givenUp.size <= GIVEN_UP_MAX) break;
      this.#givenUp.delete(leaseId);
    }
    this.#options.log.warn({ runs: missing.length }, 'giving back runs that never arrived');
    for (const run of missing) this.#return(run, 'the run never reached its worker');
  }

  /** Gives back a run that was never started. */
  #return(run: ReportedRun, error: string): void {
    const endedAtMs = this.#options.clock.now();
    this.#sender.send({ run, startedAtMs: undefined, endedAtMs, outcome: { kind: 'RETURNED', error } });
  }

  /** With the random end of the boot id: two processes share no worker id, whatever else they share (hazard 44). */
  #nextId(): WorkerId {
    this.#generation += 1;
    const { nodeId, bootId } = this.#options;
    return `${nodeId}.${bootId.slice(-BOOT_CHARACTERS)}.${this.#generation}` as WorkerId;
  }
}
