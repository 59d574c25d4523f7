/**
 * Brings reports to where they are recorded. Those of one turn travel together; what is not answered is told again until it is
 * durable or refused. When the server shuts down with a dead database, it gives up, and others recover the runs.
 */
import type { LeaseId, RunOutcome } from '@carillon/domain';
import { type Clock, type Log, type Random, sleep } from '@carillon/foundation';
import { StorageUnavailable } from '../storage/storage.ts';
import type { RunReport, RunReports } from '../worker-link/run-reports.ts';

export interface ReportCourierOptions {
  readonly reports: RunReports;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Called once for every report that was answered for good, or given up. */
  readonly onAnswered: (leaseId: LeaseId) => void;
}

const GROUP_MAX = 500;
const RETRY_MS = 100;
const RETRY_MS_MAX = 2_000;
const TRIES_QUIET = 10;

const UNRECORDABLE: RunOutcome = {
  kind: 'FAILED',
  error: 'the run ended, but its outcome could not be stored',
  retryable: false,
};

export class ReportCourier {
  readonly #options: ReportCourierOptions;
  readonly #underWay = new Set<Promise<void>>();
  #gathered: RunReport[] = [];
  #unrecorded = 0;
  #isStopping = false;

  constructor(options: ReportCourierOptions) {
    this.#options = options;
  }

  /** Reports that were taken and are neither durable nor refused yet. */
  get unrecordedCount(): number {
    return this.#unrecorded;
  }

  take(report: RunReport): void {
    this.#unrecorded += 1;
    this.#gathered.push(report);
    if (this.#gathered.length === 1) queueMicrotask(() => this.#leave());
    else if (this.#gathered.length === GROUP_MAX) this.#leave();
  }

  /** Resolves when every report was answered, or cannot be. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#leave();
    await Promise.all(this.#underWay);
  }

  #leave(): void {
    const group = this.#gathered;
    if (group.length === 0) return;
    this.#gathered = [];
    const delivery = this.#deliver(group).finally(() => this.#underWay.delete(delivery));
    this.#underWay.add(delivery);
  }

  async #deliver(group: readonly RunReport[]): Promise<void> {
    const { clock, random } = this.#options;
    let left = group;
    for (let tries = 1; ; tries += 1) {
      left = await this.#tell(left, tries);
      if (left.length === 0) return;
      if (this.#isStopping && tries > TRIES_QUIET) break;
      const pauseMs = Math.min(RETRY_MS * 2 ** Math.min(tries - 1, 10), RETRY_MS_MAX);
      await sleep(clock, pauseMs * (0.5 + random.next() / 2));
    }
    for (const report of left) this.#answered(report);
  }

  #answered({ run }: RunReport): void {
    this.#unrecorded -= 1;
    this.#options.onAnswered(run.leaseId);
  }

  /** Answers what must be told again. */
  async #tell(group: readonly RunReport[], tries: number): Promise<RunReport[]> {
    const { reports } = this.#options;
    const answers = await reports.ended(group).catch((error: unknown) => group.map(() => error as Error));
    const again: RunReport[] = [];
    for (let i = 0; i < group.length; i += 1) {
      const answer = answers[i];
      if (answer instanceof Error) again.push(this.#afterFailure(group[i]!, answer, tries));
      else this.#answered(group[i]!);
    }
    return again;
  }

  /** Logged once in a while, not for every try: an outage is logged by those who notice it. */
  #afterFailure(report: RunReport, error: Error, tries: number): RunReport {
    if (tries !== TRIES_QUIET) return report;
    const { runId } = report.run;
    this.#options.log.error({ err: error, runId, tries }, 'an outcome cannot be recorded; still trying');
    // Not for want of a database: something in the outcome cannot be stored, and never will be.
    return error instanceof StorageUnavailable ? report : { ...report, outcome: UNRECORDABLE };
  }
}
