/**
 * Makes outcomes durable: collects reports into batches, decides what follows each (finish, try again, dead letter) and
 * settles the batch in one transaction. A report about a run that was taken back is refused, and kept on record.
 */
import { DEFAULT_RETRY, decideNext, type NextStep, type RunOutcome } from '@carillon/domain';
import { BatchBuffer, type Clock, type Log, type Random, type Service } from '@carillon/foundation';
import type { SignalBus } from '../signal-bus/signal-bus.ts';
import type { HeldRun, LeaseStore, Settled, Settlement, SettleVerdict } from '../storage/lease-store.ts';
import { StorageUnavailable } from '../storage/storage.ts';
import type { ReportAnswer, RunningReport, RunReport, RunReports } from '../worker-link/run-reports.ts';
import { RetryBudget } from './retry-budget.ts';

export interface OutcomeRecorderOptions {
  readonly leases: LeaseStore;
  readonly signals: SignalBus;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Failed runs tried again per second, over all jobs; 0: none. */
  readonly retriesPerSecond: number;
}

const BATCH_MAX = 1_000;
const FLUSHES_MAX = 3;
const CAPACITY = 100_000;
/** Fewer outcomes than this wait for the transaction under way instead of opening another. */
const BESIDE_MIN = 100;

/** Outcomes of a busy server gather for about this long. */
const REST_MS_MAX = 8;

const FINISH: NextStep['next'] = { kind: 'finish' };

export class OutcomeRecorder implements RunReports, Service {
  readonly #options: OutcomeRecorderOptions;
  readonly #buffer: BatchBuffer<RunReport, ReportAnswer>;
  readonly #budget: RetryBudget;

  constructor(options: OutcomeRecorderOptions) {
    this.#options = options;
    this.#budget = new RetryBudget({ perSecond: options.retriesPerSecond, clock: options.clock });
    this.#buffer = new BatchBuffer({
      flush: (reports) => this.#record(reports),
      batchMax: BATCH_MAX,
      flushesMax: FLUSHES_MAX,
      besideMin: BESIDE_MIN,
      rest: { msMax: REST_MS_MAX, clock: options.clock },
      capacity: CAPACITY,
      onFull: () => new StorageUnavailable('too many outcomes wait to be recorded'),
    });
  }

  start(): void {}

  async stop(): Promise<void> {
    await this.#buffer.drained();
  }

  async ended(reports: readonly RunReport[]): Promise<readonly ReportAnswer[]> {
    if (reports.length <= BATCH_MAX) return this.#buffer.addAll(reports);
    const first = this.#buffer.addAll(reports.slice(0, BATCH_MAX));
    return [...(await first), ...(await this.ended(reports.slice(BATCH_MAX)))];
  }

  running(reports: readonly RunningReport[]): void {
    const { leases, clock, log } = this.#options;
    leases.showRunning(reports, clock.now()).catch((error: unknown) => {
      log.debug({ err: error, runs: reports.length }, 'could not show runs as running');
    });
  }

  /**
   * Runs that have nothing to do with each other share a transaction, so one outcome that the storage cannot take must not
   * hold up the others: the batch is halved until it stands alone.
   */
  async #record(reports: readonly RunReport[]): Promise<ReportAnswer[]> {
    try {
      return await this.#settle(reports);
    } catch (error) {
      if (reports.length === 1 || error instanceof StorageUnavailable)
        return reports.map(() => error as Error);
      const half = Math.ceil(reports.length / 2);
      const first = await this.#record(reports.slice(0, half));
      return [...first, ...(await this.#record(reports.slice(half)))];
    }
  }

  async #settle(reports: readonly RunReport[]): Promise<SettleVerdict[]> {
    const { leases, clock } = this.#options;
    const held = await this.#heldBehind(reports);
    const settlements = reports.map((report) => this.#settlement(report, held.get(report)));
    const settled = await leases.settle(settlements, clock.now());
    this.#announce(settled);
    await this.#recordLate(reports, settled.verdicts);
    return [...settled.verdicts];
  }

  /** Success needs no decision; for everything else the run's attempts and policy are looked up. */
  async #heldBehind(reports: readonly RunReport[]): Promise<Map<RunReport, HeldRun>> {
    const undecided = reports.filter((report) => !isPlain(report.outcome));
    const found = new Map<RunReport, HeldRun>();
    if (undecided.length === 0) return found;
    const held = await this.#options.leases.held(undecided.map((report) => report.run));
    undecided.forEach((report, i) => {
      const run = held[i];
      if (run) found.set(report, run);
    });
    return found;
  }

  #settlement(report: RunReport, held: HeldRun | undefined): Settlement {
    const { run, outcome } = report;
    const step = isPlain(outcome) ? undefined : this.#decide(outcome, held);
    return {
      leaseId: run.leaseId,
      position: run.position,
      leaseSize: run.leaseSize,
      epoch: run.epoch,
      status: step ? step.status : outcome.kind === 'CANCELLED' ? 'CANCELLED' : 'SUCCESS',
      startedAtMs: report.startedAtMs,
      endedAtMs: report.endedAtMs,
      error: 'error' in outcome ? outcome.error : undefined,
      result: 'result' in outcome ? JSON.stringify(outcome.result) : undefined,
      next: step ? step.next : FINISH,
    };
  }

  /** What is no longer held is refused by the storage, whatever is decided here. */
  #decide(outcome: RunOutcome, held: HeldRun | undefined): NextStep {
    const { clock, random } = this.#options;
    const nowMs = clock.now();
    const soFar = held ?? { attempt: 1, crashes: 0, nominalAtMs: nowMs };
    const policy = held?.retry ?? DEFAULT_RETRY;
    const step = decideNext(outcome, { soFar, policy, nowMs, random: random.next() });
    // What nobody is to blame for (a worker lost, a server stopped) is no retry, and always runs again.
    const isRetry = outcome.kind === 'FAILED' || outcome.kind === 'TIMED_OUT';
    return isRetry && step.next.kind === 'again'
      ? { ...step, next: this.#withinBudget(step.next, soFar.nominalAtMs + (policy.deadlineMs ?? Infinity)) }
      : step;
  }

  #withinBudget(next: Extract<NextStep['next'], { kind: 'again' }>, deadlineAtMs: number): NextStep['next'] {
    if (this.#budget.isStopped) return { kind: 'dead', reason: 'retries_stopped' };
    const atMs = this.#budget.plan(next.atMs);
    // The budget delays, and never kills: what could not wait for its turn is tried when it would have been.
    return atMs > deadlineAtMs ? next : { ...next, atMs };
  }

  #announce({ freed, opened, asking }: Settled): void {
    const { signals } = this.#options;
    signals.send('events-recorded', {});
    if (freed.length > 0) signals.send('places-freed', { jobIds: freed });
    if (opened.length > 0) signals.send('runs-open', { lanes: opened });
    if (asking.length > 0) signals.send('shards-due', { shards: asking });
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

/** Outcomes after which nothing has to be decided. */
function isPlain(outcome: RunOutcome): boolean {
  return outcome.kind === 'SUCCESS' || outcome.kind === 'CANCELLED';
}
