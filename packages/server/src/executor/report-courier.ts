/**
 * Brings reports to where they are recorded. Those of one turn travel together; what is not answered is told again until it is
 * durable or refused. When the server shuts down with a dead database, it gives up, and others recover the runs.
 */
import type { LeaseId, RunOutcome } from '@carillon/domain';
import { type Clock, type Log, type Random, sleep } from '@carillon/foundation';
import { StorageTimeout, StorageUnavailable } from '../storage/storage.ts';
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
    const { reports, log } = this.#options;
    const answers = await reports.ended(group).catch((error: unknown) => group.map(() => error as Error));
    const again: RunReport[] = [];
    let error: Error | undefined;
    for (let i = 0; i < group.length; i += 1) {
      const answer = answers[i];
      if (!(answer instanceof Error)) this.#answered(group[i]!);
      else {
        again.push(tries === TRIES_QUIET ? storable(group[i]!, answer) : group[i]!);
        error ??= answer;
      }
    }
    // Once for all of them, and not for every try: an outage is logged by those who notice it.
    if (error && tries === TRIES_QUIET) {
      const { runId } = again[0]!.run;
      log.error(
        { err: error, runId, runs: again.length, tries },
        'outcomes cannot be recorded; still trying',
      );
    }
    return again;
  }
}

/** Not for want of a database that has time for it: something in the outcome cannot be stored, and never will be. */
function storable(report: RunReport, error: Error): RunReport {
  const isTheWorlds = error instanceof StorageUnavailable || error instanceof StorageTimeout;
  return isTheWorlds ? report : { ...report, outcome: UNRECORDABLE };
}
