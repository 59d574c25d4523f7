/**
 * Makes outcomes durable: collects reports into batches, decides what follows each (finish, try again, dead letter) and
 * settles the batch in one transaction. A report about a run that was taken back is refused, and kept on record. Outcomes of a
 * job that a transaction has locked are set aside, and delay nothing else.
 */
import { DEFAULT_RETRY, decideNext, type NextStep, type RunOutcome } from '@carillon/domain';
import { BatchBuffer, type Clock, type Log, type Random, type Service, sleep } from '@carillon/foundation';
import type { ReportAnswer, RunningReport, RunReport } from '@carillon/worker';
import type { SignalBus } from '../signal-bus/signal-bus.ts';
import { applyInBatches } from '../storage/apply-in-batches.ts';
import { tenantOf } from '../storage/lane.ts';
import type { LeasedRun, LeaseStore, Settled, Settlement, SettleVerdict } from '../storage/lease-store.ts';
import { StorageTimeout, StorageUnavailable } from '../storage/storage.ts';
import type { RunReports } from '../worker-link/run-reports.ts';
import { JobsSetAside } from './jobs-set-aside.ts';
import { RetryBudget } from './retry-budget.ts';

export interface OutcomeRecorderOptions {
  readonly leases: LeaseStore;
  readonly signals: SignalBus;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Failed runs of one tenant tried again per second; 0: none. */
  readonly retriesPerSecond: number;
}

const BATCH_MAX = 1_000;
const FLUSHES_MAX = 3;
const CAPACITY = 100_000;
/** Fewer outcomes than this wait for the transaction under way instead of opening another. */
const BESIDE_MIN = 100;

/** Outcomes of a busy server gather for about this long. */
const COOLDOWN_MS_MAX = 8;

/** Outcomes that were set aside are settled one such batch at a time. */
const ASIDE_BATCH_MAX = 100;
/** One locked row among a thousand is found by so many halvings. */
const TIMEOUTS_MAX = 12;
const SHOW_TRIES = 5;
const SHOW_AGAIN_MS = 1_000;

const FINISH: NextStep['next'] = { kind: 'finish' };

export class OutcomeRecorder implements RunReports, Service {
  readonly #options: OutcomeRecorderOptions;
  readonly #buffer: BatchBuffer<RunReport, ReportAnswer>;
  readonly #asideBuffer: BatchBuffer<RunReport, ReportAnswer>;
  readonly #aside: JobsSetAside;
  readonly #budget: RetryBudget;
  readonly #plannedAt = new WeakMap<RunReport, number>();
  readonly #showing = new Set<Promise<void>>();
  readonly #stopping = new AbortController();

  constructor(options: OutcomeRecorderOptions) {
    this.#options = options;
    this.#budget = new RetryBudget({ perSecond: options.retriesPerSecond, clock: options.clock });
    this.#buffer = new BatchBuffer({
      flush: (reports) => this.#record(reports),
      batchMax: BATCH_MAX,
      flushesMax: FLUSHES_MAX,
      besideMin: BESIDE_MIN,
      cooldown: { msMax: COOLDOWN_MS_MAX, clock: options.clock },
      capacity: CAPACITY,
      onFull,
    });
    this.#aside = new JobsSetAside(options);
    this.#asideBuffer = new BatchBuffer({
      flush: (reports) => this.#record(reports),
      batchMax: ASIDE_BATCH_MAX,
      flushesMax: 1,
      capacity: CAPACITY,
      onFull,
    });
  }

  start(): void {}

  /** Waits until all outcomes are recorded; runs that are only to be shown as RUNNING are not tried again. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([this.#buffer.drained(), this.#asideBuffer.drained(), ...this.#showing]);
  }

  async ended(reports: readonly RunReport[]): Promise<readonly ReportAnswer[]> {
    if (reports.length <= BATCH_MAX) return this.#inLane(reports);
    const first = this.#inLane(reports.slice(0, BATCH_MAX));
    return [...(await first), ...(await this.ended(reports.slice(BATCH_MAX)))];
  }

  running(reports: readonly RunningReport[]): void {
    if (this.#stopping.signal.aborted) return;
    const showing = this.#show(reports).finally(() => this.#showing.delete(showing));
    this.#showing.add(showing);
  }

  async #show(reports: readonly RunningReport[], tries = 1): Promise<void> {
    const { leases, clock, log } = this.#options;
    const { signal } = this.#stopping;
    try {
      await leases.showRunning(reports, clock.now());
    } catch (error) {
      if (!(error instanceof StorageTimeout) || tries === SHOW_TRIES) {
        log.debug({ err: error, runs: reports.length }, 'could not show runs as running');
        return;
      }
      await sleep(clock, SHOW_AGAIN_MS, signal);
      if (!signal.aborted) await this.#show(reports, tries + 1);
    }
  }

  /**
   * Reports about jobs that were set aside have a buffer of their own. Those that came with others are refused now, since the answer to
   * all would wait for them: their sender sends them again by themselves.
   */
  async #inLane(reports: readonly RunReport[]): Promise<readonly ReportAnswer[]> {
    if (this.#aside.isEmpty) return this.#buffer.addAll(reports);
    const others = reports.filter(({ run }) => !this.#aside.has(run.jobId));
    if (others.length === reports.length) return this.#buffer.addAll(reports);
    if (others.length === 0) return this.#asideBuffer.addAll(reports);
    const answers = await this.#buffer.addAll(others);
    const isOther = new Set(others);
    let next = 0;
    return reports.map((report) => (isOther.has(report) ? answers[next++]! : new StorageTimeout(ASIDE)));
  }

  /** Unrelated runs share a transaction, and must not fail or wait for each other. */
  #record(reports: readonly RunReport[]): Promise<readonly ReportAnswer[]> {
    return applyInBatches<RunReport, ReportAnswer>(reports, {
      apply: (batch) => this.#settle(batch),
      fail: (error) => error as Error,
      timeoutsMax: TIMEOUTS_MAX,
      suspects: (batch) => this.#aboutLockedJobs(batch),
      onSlow: (slow) => this.#setAside(slow),
    });
  }

  async #aboutLockedJobs(reports: readonly RunReport[]): Promise<ReadonlySet<RunReport>> {
    const jobIds = new Set(reports.map(({ run }) => run.jobId));
    const locked = await this.#options.leases.lockedJobs([...jobIds]);
    return new Set(reports.filter(({ run }) => locked.has(run.jobId)));
  }

  /** Logged at debug level only: the sender logs a lasting lock, since it knows how many outcomes wait. */
  #setAside(reports: readonly RunReport[]): void {
    const jobs = this.#aside.add(reports.map(({ run }) => run.jobId));
    if (jobs === 0) return;
    const { jobId, runId } = reports[0]!.run;
    this.#options.log.debug({ jobs, runs: reports.length, jobId, runId }, 'set jobs aside that are locked');
  }

  async #settle(reports: readonly RunReport[]): Promise<SettleVerdict[]> {
    const { leases, clock } = this.#options;
    const leased = await this.#leasedRuns(reports);
    const settlements = reports.map((report) => this.#settlement(report, leased.get(report)));
    const settled = await leases.settle(settlements, clock.now());
    this.#announce(settled);
    await this.#recordLate(reports, settled.verdicts);
    return [...settled.verdicts];
  }

  /** Success needs no decision; for everything else the run's attempts and policy are looked up. */
  async #leasedRuns(reports: readonly RunReport[]): Promise<Map<RunReport, LeasedRun>> {
    const undecided = reports.filter((report) => !isPlain(report.outcome));
    const found = new Map<RunReport, LeasedRun>();
    if (undecided.length === 0) return found;
    const leased = await this.#options.leases.leased(undecided.map((report) => report.run));
    undecided.forEach((report, i) => {
      const run = leased[i];
      if (run) found.set(report, run);
    });
    return found;
  }

  #settlement(report: RunReport, leased: LeasedRun | undefined): Settlement {
    const { run, outcome, usage } = report;
    const step = isPlain(outcome) ? undefined : this.#decide(report, leased);
    return {
      leaseId: run.leaseId,
      position: run.position,
      leaseSize: run.leaseSize,
      epoch: run.epoch,
      status: step ? step.status : outcome.kind === 'CANCELLED' ? 'CANCELLED' : 'SUCCESS',
      startedAtMs: report.startedAtMs,
      endedAtMs: report.endedAtMs,
      error: 'error' in outcome ? outcome.error : undefined,
      result: 'result' in outcome ? outcome.result : undefined,
      next: step ? step.next : FINISH,
      usage: usage && { ...usage, runId: run.runId, claimedAtMs: run.claimedAtMs },
    };
  }

  /** The storage refuses what is no longer leased, whatever is decided here. */
  #decide(report: RunReport, leased: LeasedRun | undefined): NextStep {
    const { clock, random } = this.#options;
    const { outcome } = report;
    const nowMs = clock.now();
    const soFar = leased ?? { attempt: 1, crashes: 0, nominalAtMs: nowMs };
    const policy = leased?.retry ?? DEFAULT_RETRY;
    const step = decideNext(outcome, { soFar, policy, nowMs, random: random.next() });
    // An interruption (a worker lost, a server stopped) is no retry, and always runs again (LEASE-8).
    const isRetry = outcome.kind === 'FAILED' || outcome.kind === 'TIMED_OUT';
    if (!isRetry || step.next.kind !== 'again' || !leased) return step;
    if (this.#budget.isStopped) return { ...step, next: { kind: 'dead', reason: 'retries_stopped' } };
    const atMs = this.#planned(report, { tenant: tenantOf(leased), wantedMs: step.next.atMs, nowMs });
    // The budget only delays: a retry that would miss its deadline by that keeps its own instant.
    const isTooLate = atMs > soFar.nominalAtMs + (policy.deadlineMs ?? Infinity);
    return isTooLate ? step : { ...step, next: { ...step.next, atMs } };
  }

  /** An outcome that is reported again keeps the instant it was charged for while that lies ahead. */
  #planned(
    report: RunReport,
    { tenant, wantedMs, nowMs }: { tenant: number; wantedMs: number; nowMs: number },
  ): number {
    const before = this.#plannedAt.get(report);
    if (before !== undefined && before >= nowMs) return before;
    const atMs = this.#budget.plan(tenant, wantedMs);
    this.#plannedAt.set(report, atMs);
    return atMs;
  }

  #announce({ freed, opened, planned }: Settled): void {
    const { signals } = this.#options;
    signals.send('events-recorded', {});
    if (freed.length > 0) signals.send('slots-freed', { jobIds: freed });
    if (opened.length > 0) signals.send('runs-open', { lanes: opened });
    if (planned.length > 0) signals.send('shards-due', { shards: planned });
  }

  async #recordLate(reports: readonly RunReport[], verdicts: readonly SettleVerdict[]): Promise<void> {
    const late = reports.filter((report, i) => verdicts[i] === 'stale' && report.outcome.kind !== 'LOST');
    if (late.length === 0) return;
    const { leases, log } = this.#options;
    log.warn(
      { runs: late.length, runId: late[0]!.run.runId },
      'refused reports about runs that were taken back',
    );
    await leases
      .recordLate(
        late.map(({ run: { runId, epoch, claimedAtMs }, outcome }) => ({
          runId,
          epoch,
          claimedAtMs,
          report: outcome.kind,
        })),
      )
      .catch((error: unknown) => log.warn({ err: error }, 'could not keep refused reports'));
  }
}

const ASIDE = 'the job was found locked a moment ago';

function onFull(): Error {
  return new StorageUnavailable('too many outcomes wait to be recorded');
}

/** Outcomes after which nothing has to be decided. */
function isPlain(outcome: RunOutcome): boolean {
  return outcome.kind === 'SUCCESS' || outcome.kind === 'CANCELLED';
}
