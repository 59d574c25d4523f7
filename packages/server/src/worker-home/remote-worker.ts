/**
 * A worker at the end of a stream, as the dispatcher and its home see it: what it offers, how many of its slots are free, and what it
 * was handed. A message that breaks the protocol throws, and costs this stream and nothing else.
 */
import { create } from '@bufbuild/protobuf';
import type { ClaimedBatch, ClaimedRun, LeaseId, RunId, RunOutcome, WorkerId } from '@carillon/domain';
import type { Clock, Log, Random } from '@carillon/foundation';
import {
  protocol as P,
  type ReportedRun,
  ReportSender,
  type ReportVerdict,
  type RunReport,
  unrecordedMax,
} from '@carillon/worker';
import type { HomeChannel } from '../run-results/stored-results.ts';
import type { LeaseStore } from '../storage/lease-store.ts';
import type { MemberStore, UnreceivedRun } from '../storage/member-store.ts';
import type { RunReports } from '../worker-link/run-reports.ts';
import type { LocalWorker, LocalWorkers } from '../worker-link/worker-link.ts';
import { endedRows } from './ended-rows.ts';
import { ProtocolBroken, StreamStalled } from './frame-bounds.ts';
import type { CheckedLeases, LeaseChecks } from './lease-checks.ts';
import { LeaseWatch } from './lease-watch.ts';
import { RemoteLeases, within } from './remote-leases.ts';
import { RemoteVoice } from './remote-voice.ts';
import { FORGOTTEN, LEFT, NEVER_ARRIVED } from './returned-by-home.ts';
import { SettledAnswers } from './settled-answers.ts';
import { beatTimes, passingFault } from './storage-home.ts';

export interface RemoteWorkerOptions {
  readonly workerId: WorkerId;
  readonly slots: number;
  readonly handlers: readonly string[];
  /** Only runs of jobs in these namespaces. Left out: in all. */
  readonly namespaces?: readonly string[] | undefined;
  /** Slots in use when it said hello, by runs of earlier streams. */
  readonly executing: number;
  /** What it said it holds: positions by lease. */
  readonly heldRuns: ReadonlyMap<string, ReadonlySet<number>>;
  /** The number of its stream. */
  readonly session: number;
  readonly members: MemberStore;
  readonly leases: LeaseStore;
  readonly leaseChecks: LeaseChecks;
  readonly reports: RunReports;
  readonly link: Pick<LocalWorkers, 'freed'>;
  readonly channel: HomeChannel;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly silentMs: number;
}

/** Answers that wait for a worker to read them, beside one for each run that it may hold or tell of again. */
const UNREAD_MAX = 10_000;

export class RemoteWorker implements LocalWorker {
  readonly workerId: WorkerId;
  readonly frames = new P.FrameQueue(() => create(P.SessionResponseSchema));
  readonly #options: RemoteWorkerOptions;
  readonly #leases: RemoteLeases;
  readonly #sender: ReportSender;
  readonly #voice: RemoteVoice;
  readonly #watch: LeaseWatch;
  readonly #checked: CheckedLeases;
  readonly #settled = new SettledAnswers(this.frames);
  #handlers: readonly string[];
  #slots: number;
  #isTaking = true;
  #isDraining = false;
  #executing: number;
  #assigned = 0;
  #freed = 0;
  /** Assigned here or on an earlier stream, and not yet durable or refused. */
  #unsettled = 0;
  /** Leases that the storage does not know: told with the next answer to a beat. */
  readonly #unknown = new Set<LeaseId>();
  #isLeaving = false;
  #hasUnrecorded = false;

  constructor(options: RemoteWorkerOptions) {
    this.#options = options;
    const { workerId, slots, handlers, executing, clock } = options;
    this.workerId = workerId;
    this.#slots = slots;
    this.#handlers = handlers;
    this.#executing = executing;
    this.#leases = new RemoteLeases(options);
    this.#sender = new ReportSender({
      ...options,
      reports: { ended: (reports) => options.reports.ended(reports), faultOf: passingFault },
      onAnswered: (report, verdict) => this.#answered(report, verdict),
    });
    this.#voice = new RemoteVoice({
      ...{ ...options, leases: this.#leases, frames: this.frames },
      requireRead: () => this.#requireRead(),
    });
    this.#watch = new LeaseWatch({
      ...options,
      clock,
      workerId: () => workerId,
      unreported: () => this.#leases.ids(),
      onUnreceived: (runs) => this.#giveUp(runs),
    });
    this.#checked = {
      unreported: () => this.#leases.ids(),
      onCancel: (runIds) => this.#cancel(runIds),
      onUnknown: (leases) => this.#stopUnknown(leases),
    };
  }

  get slots(): number {
    return this.#isTaking && !this.#isDraining ? this.#slots : 0;
  }

  get runningCount(): number {
    return this.#executing + this.#assigned - this.#freed;
  }

  heldBy(): ReadonlyMap<number, number> {
    return this.#leases.heldBy();
  }

  get handlers(): readonly string[] {
    return this.#handlers;
  }

  /** The number of its stream. */
  get session(): number {
    return this.#options.session;
  }

  get namespaces(): readonly string[] | undefined {
    return this.#options.namespaces;
  }

  get unrecordedLeft(): number {
    return unrecordedMax(this.#slots) - this.#unsettled;
  }

  get unrecordedCount(): number {
    return Math.max(0, this.#unsettled - this.runningCount);
  }

  /** How many leases it can hold by now. */
  get heldMax(): number {
    return this.#leases.heldMax(this.#options);
  }

  /** It has said that it takes nothing more and ends. */
  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  /** For tests: what it remembers of runs. */
  counts(): { readonly leases: number; readonly runs: number; readonly unsettled: number } {
    return { ...this.#leases.counts(), unsettled: this.#unsettled };
  }

  /** Finds what it holds from earlier streams; answers which of the leases that it named are not its own any more. */
  async open(): Promise<string[]> {
    const { heldRuns } = this.#options;
    const unknown = await this.unknownOf([...heldRuns.keys()]);
    // LEASE-9: a worker that dials again still has what it had.
    this.#unsettled += this.#leases.runCount;
    // LEASE-11: the stream broke in the middle of a lease. What of it is on its way on an older stream, the worker drops.
    const unnamed = this.#leases.takeUnnamed(heldRuns);
    if (unnamed.length > 0)
      this.#options.log.warn({ runs: unnamed.length }, 'giving back runs that never arrived');
    this.#giveBack(unnamed, NEVER_ARRIVED);
    this.#watch.start();
    this.#options.leaseChecks.add(this.#checked);
    return unknown;
  }

  /**
   * LEASE-15: it has said its last word, and starts nothing more. What it was assigned and has not ended goes back, and what was claimed
   * for it and never reached it. Answers how many runs that was.
   */
  async giveBackAll(): Promise<number> {
    const assigned = this.#leases.takeUnnamed(new Map());
    this.#giveBack(assigned, LEFT);
    const others = await this.#watch.giveUpAll();
    await this.told();
    return assigned.length + others;
  }

  /** Resolves when what it told is recorded, or given up. Answers whether all is recorded. */
  async told(): Promise<boolean> {
    await this.#sender.stop();
    return !this.#hasUnrecorded;
  }

  /** It takes nothing more, and ends when it has nothing left. */
  leaves(): void {
    this.#isLeaving = true;
    this.takeNoMore();
  }

  /** Nothing more is handed to it. */
  takeNoMore(): void {
    this.#isTaking = false;
    this.#options.link.freed();
  }

  /** Somebody asked it to take no more runs, or to take runs again; it stays connected. */
  drain(isDraining: boolean): void {
    if (isDraining === this.#isDraining) return;
    this.#isDraining = isDraining;
    this.#options.link.freed();
  }

  /** Resolves when what it told is recorded. */
  async close(): Promise<void> {
    this.takeNoMore();
    this.frames.end();
    await this.#options.leaseChecks.remove(this.#checked);
    await this.#watch.stop();
    await this.told();
  }

  /** A lease that does not fit one message is sent in several. When the stream breaks between them, the next hello says which arrived. */
  accept(batch: ClaimedBatch): void {
    if (this.#watch.wasGivenUp(batch.leaseId)) {
      this.#options.link.freed();
      return;
    }
    this.#leases.assigned(batch);
    this.#unsettled += batch.runs.length;
    // LEASE-15: it may have said its last word before these reach it.
    if (this.#isLeaving) {
      for (const run of batch.runs) this.#endHere(run, run.failure ?? LEFT);
      return;
    }
    for (const { message, bytes } of P.assignsOf(batch)) {
      this.#assigned += message.runIds.length;
      const isSent = this.#leases.sends(message.leaseId as LeaseId);
      this.frames.put(P.URGENCY.work, bytes, (frame) => {
        frame.assigns.push(message);
        isSent();
      });
    }
    for (const run of batch.runs) if (run.failure) this.#endHere(run, run.failure);
  }

  /** It ended on its way, as one whose secret is gone: the worker never hears of it. */
  #endHere({ leaseId, position, epoch }: ClaimedRun, outcome: RunOutcome): void {
    const found = this.#leases.ends({ leaseId, position, epoch });
    if (typeof found !== 'object') return;
    this.#sender.send({
      run: found.run,
      startedAtMs: undefined,
      endedAtMs: this.#options.clock.now(),
      // Its payload may have got its secrets before, and the error may quote it.
      outcome: this.#leases.maskOf(found.run)?.outcome(outcome) ?? outcome,
    });
  }

  /** Everything but the hello and the beat, which are the session's. */
  async receive(message: P.SessionRequest): Promise<void> {
    const { ended, started, checkpoints, outputs, progress, resultParts, slotsFreed, capacity } = message;
    if (capacity) this.#takes(capacity);
    const about: string[] = [];
    for (const each of [ended, started, checkpoints, outputs, progress, resultParts])
      for (const { leaseId } of each) about.push(leaseId);
    await this.#leases.hear(about, { strangeMax: UNREAD_MAX + unrecordedMax(this.#slots) });
    this.#show(started);
    await this.#voice.hear(message);
    for (const each of ended) this.#end(each);
    if (slotsFreed > 0n) this.#free(Number(slotsFreed));
    this.#requireRead();
  }

  #requireRead(): void {
    const unread = this.frames.waiting + this.#settled.waiting;
    if (unread <= UNREAD_MAX + 2 * unrecordedMax(this.#slots)) return;
    this.frames.clear();
    throw new StreamStalled(`the worker does not read its stream: ${unread} answers wait for it`);
  }

  /** Which leases to name as unknown in the answer to a beat that named these. */
  async beaten(held: readonly string[]): Promise<string[]> {
    this.#giveBackMissing(held);
    return this.unknownOf(held);
  }

  /**
   * LEASE-16. The worker lives, was sent these leases, and does not name them: it has forgotten them. A stream whose beats are not
   * answered is dead to the worker, so that one that beats on has heard the answers of a while ago, and what was sent before them.
   */
  #giveBackMissing(held: readonly string[]): void {
    const { clock, silentMs, log } = this.#options;
    const missing = this.#leases.missing(held, { at: clock.monotonic(), ...beatTimes(silentMs) });
    if (missing.length === 0) return;
    const leases = missing.length;
    log.warn({ workerId: this.workerId, leases }, 'a worker has forgotten runs: giving them back');
    this.#giveBack(this.#leases.takeUnnamed(new Map(), missing), FORGOTTEN);
    for (const leaseId of missing) this.#unknown.add(leaseId);
  }

  async unknownOf(held: readonly string[]): Promise<string[]> {
    await this.#leases.find(held);
    this.#leases.forgetStrange();
    const unknown = new Set<string>(this.#unknown);
    this.#unknown.clear();
    for (const leaseId of held) if (!this.#leases.has(leaseId)) unknown.add(leaseId);
    return [...unknown];
  }

  #takes({ slots, draining }: P.Capacity): void {
    if (slots > this.#slots) throw new ProtocolBroken('slots are not added while a stream lasts');
    if (slots > 0) this.#slots = slots;
    if (draining) this.leaves();
  }

  #free(freed: number): void {
    if (freed < this.#freed || freed > this.#executing + this.#assigned)
      throw new ProtocolBroken('more slots were freed than were in use');
    this.#freed = freed;
    this.#options.link.freed();
  }

  #show(started: readonly P.Started[]): void {
    const running = started.flatMap((each) => {
      const run = this.#leases.held(each);
      if (!run) return [];
      const { leaseId, position, epoch, claimedAtMs } = run;
      return [{ leaseId, position, epoch, startedAtMs: this.#within(each.startedAtMs, claimedAtMs) }];
    });
    if (running.length > 0) this.#options.reports.running(running);
  }

  #end(ended: P.Ended): void {
    for (const { leaseId, position, epoch, startedAtMs, endedAtMs, told } of endedRows(ended)) {
      const found = this.#leases.ends({ leaseId, position, epoch });
      if (found === undefined) {
        this.#settled.tell(leaseId, position, 'stale');
        this.#requireRead();
      }
      if (found === undefined || found === 'told') continue;
      const { run, hasSpoken } = found;
      const started = startedAtMs === 0n ? undefined : this.#within(startedAtMs, run.claimedAtMs);
      const outcome = this.#voice.withResultTaken(run, P.outcomeOf(told));
      const report: RunReport = {
        run,
        startedAtMs: started,
        endedAtMs: this.#within(endedAtMs, started ?? run.claimedAtMs),
        outcome: this.#leases.maskOf(run)?.outcome(outcome) ?? outcome,
        usage: P.usageOf(told),
      };
      const closing = hasSpoken ? this.#voice.close(run, outcome.kind) : undefined;
      if (closing === undefined) this.#sender.send(report);
      else void closing.then(() => this.#sender.send(report));
    }
  }

  #within(told: bigint, fromMs: number): number {
    return within(told, { fromMs, nowMs: this.#options.clock.now() });
  }

  #answered({ run, outcome }: RunReport, verdict: ReportVerdict | undefined): void {
    if (verdict !== undefined && verdict !== 'stale') this.#voice.settled(run, outcome);
    this.#unsettled = Math.max(0, this.#unsettled - 1);
    this.#leases.settled(run);
    // Without a verdict this server stops: the worker tells the next one.
    if (verdict === undefined) this.#hasUnrecorded = true;
    else this.#settled.tell(run.leaseId, run.position, verdict);
    this.#options.link.freed();
  }

  #cancel(runIds: readonly RunId[]): void {
    const cancels = runIds.map((runId) => create(P.CancelSchema, { runId }));
    this.frames.put(P.URGENCY.life, 40 * cancels.length, (frame) => frame.cancels.push(...cancels));
  }

  /** LEASE-11: claimed for the worker, and lost before they reached it. */
  #giveUp(runs: readonly UnreceivedRun[]): void {
    const lost = runs.filter(({ leaseId }) => !this.#leases.has(leaseId));
    this.#unsettled += lost.length;
    this.#giveBack(lost, NEVER_ARRIVED);
  }

  #giveBack(runs: readonly ReportedRun[], outcome: RunOutcome): void {
    const endedAtMs = this.#options.clock.now();
    for (const run of runs) this.#sender.send({ run, startedAtMs: undefined, endedAtMs, outcome });
  }

  /** Whatever the worker says of them from now on is stale, so nothing is remembered of them, should it say nothing. */
  #stopUnknown(leases: readonly LeaseId[]): number {
    let runs = 0;
    for (const leaseId of leases) {
      runs += this.#leases.forget(leaseId);
      this.#unknown.add(leaseId);
    }
    this.#unsettled = Math.max(0, this.#unsettled - runs);
    return runs;
  }
}
