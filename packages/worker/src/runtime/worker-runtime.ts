/**
 * A worker, wherever it runs: registers with its home, beats, runs what it is handed, reports. Without an answered beat for most of
 * the silence period it stops its runs itself, before another worker is given them (hazard 14).
 */
import { type ClaimedBatch, type LeaseId, RUN_ERRORS, type RunId, type WorkerId } from '@carillon/domain';
import {
  type Clock,
  type Log,
  Loop,
  type Random,
  type Service,
  silentLog,
  sleep,
} from '@carillon/foundation';
import { ExecutionEngine } from '../execution-engine.ts';
import type { Handler } from '../handler.ts';
import { WorkerTrust } from '../worker-trust.ts';
import { ReportSender } from './report-sender.ts';
import { UnrecordedBound } from './unrecorded-bound.ts';
import type { Heard, HomeWorker, WorkerHome } from './worker-home.ts';

export interface WorkerRuntimeOptions {
  readonly home: WorkerHome;
  /** A new id at every call: the first when the worker starts, another after each burial. */
  readonly nextId: () => WorkerId;
  readonly handlers: ReadonlyMap<string, Handler>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly slots: number;
  /** How long stop() waits for runs to end by themselves. */
  readonly drainMs: number;
}

/** A little longer than the engine waits for handlers that do not stop. */
const GIVE_BACK_MS = 6_000;
/** Until the home has said how often it wants to hear the worker. */
const BEAT_MS = 3_000;

export class WorkerRuntime implements Service, HomeWorker {
  readonly #options: WorkerRuntimeOptions;
  readonly #engine: ExecutionEngine;
  readonly #loop: Loop;
  readonly #sender: ReportSender;
  readonly #handlers: readonly string[];
  readonly #bound: UnrecordedBound;
  readonly #trust: WorkerTrust;
  readonly #stopping = new AbortController();
  readonly #leaving = new AbortController();
  #workerId: WorkerId;
  #isRegistered = false;
  #cancelWatch: (() => void) | undefined;
  #isDraining = false;
  #isStopping = false;
  /** Handlers that had not returned at the last beat, though their runs were reported. */
  #stuck = 0;

  constructor(options: WorkerRuntimeOptions) {
    this.#options = options;
    const { clock, handlers, home } = options;
    this.#workerId = options.nextId();
    this.#handlers = [...handlers.keys()];
    this.#sender = new ReportSender({
      ...options,
      reports: home,
      onAnswered: ({ run }) => {
        // Known only for runs that were started; for the others there is nothing to count.
        this.#engine.reported(run);
        this.#bound.update(this);
        home.changed();
      },
    });
    this.#bound = new UnrecordedBound({
      ...options,
      log: home.heedsUnrecordedLeft ? options.log : silentLog,
    });
    this.#trust = new WorkerTrust(clock, { onDoubted: () => this.#doubted() });
    this.#engine = new ExecutionEngine({
      handlers,
      slots: options.slots,
      clock,
      channel: home.channel,
      trustState: () => this.#trust.state,
      trust: this.#trust,
      onEnded: (ended) => {
        this.#sender.send(ended);
        this.#bound.update(this);
      },
      onSlotFree: () => home.changed(),
      onRunning: (runs) => home.running(runs.map(({ run, startedAtMs }) => ({ ...run, startedAtMs }))),
    });
    this.#loop = new Loop({ ...options, name: 'worker', idleMs: BEAT_MS, runOnce: () => this.runOnce() });
  }

  get workerId(): WorkerId {
    return this.#workerId;
  }

  get slots(): number {
    return this.#trust.state === 'given' && !this.#isDraining ? this.#options.slots : 0;
  }

  get slotsMax(): number {
    return this.#options.slots;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  get stuckCount(): number {
    return this.#engine.stuckCount;
  }

  get runningCount(): number {
    return this.#engine.runningCount;
  }

  heldBy(): ReadonlyMap<number, number> {
    return this.#engine.heldBy();
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

  get handlers(): readonly string[] {
    return this.#handlers;
  }

  /** Registers before it resolves if the home answers; else as soon as it does. */
  async start(): Promise<void> {
    const { home, log } = this.#options;
    home.open(this, this.#leaving.signal);
    await this.runOnce().catch((error: unknown) =>
      log.warn({ err: error }, 'could not register this worker yet'),
    );
    this.#loop.start();
    home.watch();
  }

  /** Waits for runs to end, then returns the rest; every report is delivered before it resolves. */
  async stop(drainMs = this.#options.drainMs): Promise<void> {
    const { home, clock, log } = this.#options;
    this.#isStopping = true;
    home.takeNoMore();
    await Promise.race([this.#engine.drained(), sleep(clock, drainMs, this.#stopping.signal)]);
    this.#engine.giveBackAll(RUN_ERRORS.shutDown());
    await Promise.race([this.#engine.drained(), sleep(clock, GIVE_BACK_MS, this.#stopping.signal)]);
    this.#stopping.abort();
    await this.#sender.stop();
    this.#leaving.abort();
    await this.#loop.stop();
    this.#cancelWatch?.();
    await home.leave().catch((error: unknown) => log.warn({ err: error }, 'could not remove this worker'));
  }

  accept(batch: ClaimedBatch): void {
    const { home } = this.#options;
    if (home.wasGivenUp(batch.leaseId)) home.changed();
    // LEASE-15: what was on its way when the worker was told to stop.
    else if (this.#isStopping) this.#refuse(batch, RUN_ERRORS.shutDown());
    else if (this.#trust.state === 'given') this.#engine.accept(batch);
    else this.#refuse(batch, RUN_ERRORS.unheard());
  }

  heldLeases(): readonly LeaseId[] {
    return this.#engine.unreportedLeases();
  }

  heldRuns(): ReadonlyMap<LeaseId, ReadonlySet<number>> {
    return this.#engine.unreportedRuns();
  }

  cancel(runIds: readonly RunId[]): void {
    this.#engine.cancel(runIds);
  }

  stopUnknown(leases: readonly LeaseId[]): number {
    return this.#engine.giveBack(leases, RUN_ERRORS.unknown());
  }

  beatSoon(): void {
    this.#loop.wake();
  }

  /** One beat and nothing else, since trust rests on it: nothing slow may delay it. */
  async runOnce(): Promise<number> {
    const { home } = this.#options;
    this.#noteStuck();
    const aheadMs = this.#trust.aheadMs();
    const heard = this.#isRegistered ? await home.beat() : await home.register();
    if (heard === undefined) return this.#comeBack();
    this.#heard(heard, aheadMs);
    if (!this.#isRegistered) home.attach();
    this.#isRegistered = true;
    return heard.beatMs;
  }

  /**
   * LEASE-3. A timer ends the trust, not the answer of the next beat: that may take longer than the silence period.
   */
  #heard({ sentAt, trustMs, draining = false }: Heard, aheadMs: number): void {
    this.#obey(draining);
    this.#trust.renew({ sentAt, aheadMs, trustMs });
    this.#watchTrust();
    this.#options.home.changed();
  }

  #watchTrust(): void {
    this.#cancelWatch?.();
    this.#cancelWatch = this.#options.clock.timer(this.#trust.endsInMs, () =>
      this.#engine.giveBackAll(RUN_ERRORS.unheard()),
    );
  }

  /** Nothing starts before the next answered beat, so that one is sent now. */
  #doubted(): void {
    const { workerId } = this;
    const message =
      'the wall clock ran ahead: the machine was suspended, or its clock was set; no run is started before the next answered beat';
    this.#options.log.warn({ workerId, running: this.runningCount }, message);
    this.#watchTrust();
    this.beatSoon();
  }

  #obey(draining: boolean): void {
    if (draining === this.#isDraining) return;
    this.#isDraining = draining;
    const message = draining
      ? 'this worker takes no more runs: it was asked to drain'
      : 'this worker takes runs again';
    this.#options.log.info({ workerId: this.workerId, running: this.runningCount }, message);
  }

  #noteStuck(): void {
    const stuck = this.stuckCount;
    const message =
      'handlers have not returned though their runs were reported; their slots stay in use until they do';
    if (stuck > this.#stuck) this.#options.log.warn({ workerId: this.workerId, stuck }, message);
    this.#stuck = stuck;
  }

  /** Marked dead: its runs belong to other workers now. It registers under a new id, at once. */
  #comeBack(): number {
    const { home, log } = this.#options;
    log.warn({ workerId: this.workerId }, 'this worker was marked dead; starting over under a new id');
    this.#engine.giveBackAll(RUN_ERRORS.givenUp());
    home.detach();
    this.#workerId = this.#options.nextId();
    this.#isRegistered = false;
    this.#loop.wake();
    return BEAT_MS;
  }

  /** Gives back runs that were never started. */
  #refuse({ runs }: ClaimedBatch, error: string): void {
    const endedAtMs = this.#options.clock.now();
    for (const run of runs)
      this.#sender.send({ run, startedAtMs: undefined, endedAtMs, outcome: { kind: 'RETURNED', error } });
  }
}
