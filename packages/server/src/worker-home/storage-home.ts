/**
 * The home of the worker in this process: the storage, the recorder and the link, by function calls. The worker of a server is a
 * worker like any other, and its home adds no message and no promise to a run.
 */
import type { BootId, LeaseId, NodeId } from '@carillon/domain';
import type { Clock, Log, Random } from '@carillon/foundation';
import {
  type Heard,
  type HomeWorker,
  type PassingFault,
  type ReportAnswer,
  ReportSender,
  type RunChannel,
  type RunningReport,
  type RunReport,
  SILENT_CHANNEL,
  type WorkerHome,
} from '@carillon/worker';
import type { SignalBus } from '../signal-bus/signal-bus.ts';
import type { MemberStore, UnreceivedRun } from '../storage/member-store.ts';
import { StorageTimeout, StorageUnavailable, StorageUnfit } from '../storage/storage.ts';
import type { RunReports } from '../worker-link/run-reports.ts';
import type { LocalWorkers } from '../worker-link/worker-link.ts';
import type { CheckedLeases, LeaseChecks } from './lease-checks.ts';
import { LeaseWatch } from './lease-watch.ts';
import { NEVER_ARRIVED } from './returned-by-home.ts';

export interface StorageHomeOptions {
  readonly nodeId: NodeId;
  readonly incarnation: number;
  readonly bootId: BootId;
  readonly members: MemberStore;
  readonly reports: RunReports;
  readonly link: LocalWorkers;
  readonly signals: SignalBus;
  /** Of all workers of this server. */
  readonly leaseChecks: LeaseChecks;
  /** What the worker says of itself. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Keeps what runs say. Left out: nobody does. */
  readonly channel?: RunChannel;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Others take the runs back after this much silence. */
  readonly silentMs: number;
}

/** Of the silence period: for how long an answered beat is trusted. */
const TRUSTED_SHARE = 0.8;
const BEATS_PER_SILENCE = 5;
/** A worker in this process has one life, and no number of a stream. */
const NO_STREAM = 0;

/** How often a worker beats, and for how long an answer is trusted. */
export function beatTimes(silentMs: number): { beatMs: number; trustMs: number } {
  return { beatMs: silentMs / BEATS_PER_SILENCE, trustMs: silentMs * TRUSTED_SHARE };
}

/** Of an error of the storage. Only what an outcome itself causes may replace it: the rest passes once somebody has put it right. */
export function passingFault(error: Error): PassingFault | undefined {
  if (error instanceof StorageTimeout) return { kind: 'locked', look: error.look };
  const passes = error instanceof StorageUnavailable || error instanceof StorageUnfit;
  return passes ? { kind: 'away' } : undefined;
}

export class StorageHome implements WorkerHome {
  readonly channel: RunChannel;
  readonly heedsUnrecordedLeft = true;
  readonly #options: StorageHomeOptions;
  #worker!: HomeWorker;
  #leaseWatch!: LeaseWatch;
  /** For runs that never reached the worker, which it cannot report. */
  readonly #sender: ReportSender;
  #checked!: CheckedLeases;
  #unsubscribe: (() => void) | undefined;

  constructor(options: StorageHomeOptions) {
    this.#options = options;
    this.channel = options.channel ?? SILENT_CHANNEL;
    this.#sender = new ReportSender({ ...options, reports: this, onAnswered: () => this.changed() });
  }

  open(worker: HomeWorker): void {
    this.#worker = worker;
    this.#leaseWatch = new LeaseWatch({
      ...this.#options,
      workerId: () => worker.workerId,
      session: NO_STREAM,
      unreported: () => worker.heldLeases(),
      onUnreceived: (runs) => this.#giveUp(runs),
    });
    this.#checked = {
      unreported: () => worker.heldLeases(),
      onCancel: (runIds) => worker.cancel(runIds),
      onUnknown: (leases) => worker.stopUnknown(leases),
    };
    this.#unsubscribe = this.#options.signals.on('workers-asked', () => worker.beatSoon());
  }

  watch(): void {
    this.#leaseWatch.start();
    this.#options.leaseChecks.add(this.#checked);
  }

  async register(): Promise<Heard | undefined> {
    const { members, nodeId, incarnation, bootId, clock, labels } = this.#options;
    const { workerId, handlers, isDraining: draining } = this.#worker;
    const sentAt = clock.monotonic();
    const worker = {
      workerId,
      nodeId,
      incarnation,
      bootId,
      session: NO_STREAM,
      slots: this.#worker.slotsMax,
      handlers,
      labels,
      draining,
    };
    const isRegistered = (await members.registerWorker(worker, clock.now())) === 'registered';
    return isRegistered ? this.#heard(sentAt, draining) : undefined;
  }

  attach(): void {
    this.#options.link.attach(this.#worker);
  }

  async beat(): Promise<Heard | undefined> {
    const { members, clock } = this.#options;
    const sentAt = clock.monotonic();
    const { workerId, stuckCount } = this.#worker;
    const { alive, draining } = await members.beatWorker(workerId, clock.now(), { stuck: stuckCount });
    return alive ? this.#heard(sentAt, draining) : undefined;
  }

  ended(reports: readonly RunReport[]): Promise<readonly ReportAnswer[]> {
    return this.#options.reports.ended(reports);
  }

  faultOf(error: Error): PassingFault | undefined {
    return passingFault(error);
  }

  wasGivenUp(leaseId: LeaseId): boolean {
    return this.#leaseWatch.wasGivenUp(leaseId);
  }

  running(reports: readonly RunningReport[]): void {
    this.#options.reports.running(reports);
  }

  changed(): void {
    this.#options.link.freed();
  }

  takeNoMore(): void {
    this.detach();
  }

  detach(): void {
    this.#options.link.detach(this.#worker);
  }

  async leave(): Promise<void> {
    this.#unsubscribe?.();
    const { members, bootId, leaseChecks } = this.#options;
    try {
      // LEASE-15.
      await this.#leaseWatch.giveUpAll();
    } finally {
      await this.#leaseWatch.stop();
      await leaseChecks.remove(this.#checked);
      await this.#sender.stop();
    }
    await members.forgetLeft({ workerId: this.#worker.workerId, bootId, session: NO_STREAM });
  }

  #giveUp(runs: readonly UnreceivedRun[]): void {
    const endedAtMs = this.#options.clock.now();
    for (const run of runs)
      this.#sender.send({ run, startedAtMs: undefined, endedAtMs, outcome: NEVER_ARRIVED });
  }

  #heard(sentAt: number, draining: boolean): Heard {
    return { sentAt, draining, ...beatTimes(this.#options.silentMs) };
  }
}
