/**
 * Sends reports to the recorder. Reports of one turn of the event loop share a call; a report that fails is sent again until it is
 * durable or refused (LEASE-10). When the worker shuts down while nobody records, the sender gives up, and other servers recover the runs.
 */
import { RUN_ERRORS, type RunOutcome } from '@carillon/domain';
import { type Clock, LastingCondition, type Log, type Random, sleep } from '@carillon/foundation';
import type { ReportAnswer, ReportTaker, ReportVerdict, RunReport } from './worker-home.ts';

export interface ReportSenderOptions {
  readonly reports: ReportTaker;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Called once for every report: when it is durable or refused, or, without a verdict, when the sender gives up. */
  readonly onAnswered: (report: RunReport, verdict: ReportVerdict | undefined) => void;
}

const GROUP_MAX = 500;
const RETRY_MS = 100;
const RETRY_MS_MAX = 2_000;
const TRIES_QUIET = 10;
/** A lock that lasts no longer than this is not logged. */
const LOCKED_QUIET_MS = 2_000;

const UNRECORDABLE: RunOutcome = {
  kind: 'FAILED',
  error: RUN_ERRORS.notStored(),
  retryable: false,
};

export class ReportSender {
  readonly #options: ReportSenderOptions;
  readonly #underWay = new Set<Promise<void>>();
  #collected: RunReport[] = [];
  readonly #locked: LastingCondition;
  readonly #failing: LastingCondition;
  #unrecorded = 0;
  /** Of these, those that failed at least once. */
  #late = 0;
  #isStopping = false;

  constructor(options: ReportSenderOptions) {
    this.#options = options;
    this.#locked = new LastingCondition(options);
    this.#failing = new LastingCondition(options);
  }

  /** Reports that are neither durable nor refused yet. */
  get unrecordedCount(): number {
    return this.#unrecorded;
  }

  send(report: RunReport): void {
    this.#unrecorded += 1;
    this.#collected.push(report);
    if (this.#collected.length === 1) queueMicrotask(() => this.#flush());
    else if (this.#collected.length === GROUP_MAX) this.#flush();
  }

  /** Resolves when every report is durable, refused or given up. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#flush();
    await Promise.all(this.#underWay);
  }

  #flush(): void {
    const group = this.#collected;
    if (group.length === 0) return;
    this.#collected = [];
    const delivery = this.#deliver(group).finally(() => this.#underWay.delete(delivery));
    this.#underWay.add(delivery);
  }

  async #deliver(group: readonly RunReport[]): Promise<void> {
    const { clock, random } = this.#options;
    let left = group;
    let lateSince: number | undefined;
    for (let tries = 1; ; tries += 1) {
      const { again, error } = await this.#report(left, tries);
      if (tries === 1) this.#late += again.length;
      else this.#late -= left.length - again.length;
      left = again;
      if (!error) break;
      lateSince ??= clock.monotonic();
      this.#logLate(left[0]!, { error, tries, lateMs: clock.monotonic() - lateSince });
      if (this.#isStopping && tries > TRIES_QUIET) break;
      const pauseMs = Math.min(RETRY_MS * 2 ** Math.min(tries - 1, 10), RETRY_MS_MAX);
      await sleep(clock, pauseMs * (0.5 + random.next() / 2));
    }
    this.#late -= left.length;
    for (const report of left) this.#answered(report, undefined);
    if (left.length === 0 && this.#late === 0) this.#logOver();
  }

  #answered(report: RunReport, verdict: ReportVerdict | undefined): void {
    this.#unrecorded -= 1;
    this.#options.onAnswered(report, verdict);
  }

  /** Returns the reports that must be sent again, and the first error. */
  async #report(
    group: readonly RunReport[],
    tries: number,
  ): Promise<{ again: RunReport[]; error: Error | undefined }> {
    const answers = await this.#ended(group);
    const again: RunReport[] = [];
    let error: Error | undefined;
    for (let i = 0; i < group.length; i += 1) {
      const answer = answers[i];
      if (!(answer instanceof Error)) this.#answered(group[i]!, answer);
      else {
        again.push(tries === TRIES_QUIET ? this.#storable(group[i]!, answer) : group[i]!);
        error ??= answer;
      }
    }
    return { again, error };
  }

  /** Whether the call fails or throws, nothing but a report of its own ends the delivery of the others. */
  async #ended(group: readonly RunReport[]): Promise<readonly ReportAnswer[]> {
    try {
      return await this.#options.reports.ended(group);
    } catch (error) {
      return group.map(() => error as Error);
    }
  }

  /** Logged once for all groups and not for every try: the loops log an outage themselves. */
  #logLate(
    { run: { jobId, runId } }: RunReport,
    { error, tries, lateMs }: { error: Error; tries: number; lateMs: number },
  ): void {
    const { log } = this.#options;
    const facts = { unrecorded: this.#unrecorded, retried: this.#late, jobId, runId };
    const fault = this.#options.reports.faultOf(error);
    if (fault?.kind === 'locked') {
      if (lateMs < LOCKED_QUIET_MS || !this.#locked.notice()) return;
      log.warn(
        { ...facts, reason: error.message, look: fault.look },
        'outcomes wait for what somebody holds locked in the database; the query in "look" shows who, the oldest transaction first',
      );
    } else if (tries >= TRIES_QUIET && this.#failing.notice())
      log.error({ err: error, ...facts, tries }, 'outcomes cannot be recorded; still trying');
  }

  #logOver(): void {
    const lastedMs = [this.#locked.end(), this.#failing.end()].filter((ms) => ms !== undefined);
    if (lastedMs.length > 0)
      this.#options.log.info({ lastedMs: Math.max(...lastedMs) }, 'every outcome that waited is recorded');
  }

  /** An error that does not pass: the outcome, or what the run used, can never be sent or stored. */
  #storable(report: RunReport, error: Error): RunReport {
    return this.#options.reports.faultOf(error)
      ? report
      : { ...report, outcome: UNRECORDABLE, usage: undefined };
  }
}
