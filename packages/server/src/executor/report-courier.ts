/**
 * Brings reports to where they are recorded. Those of one turn travel together; what is not answered is told again until it is
 * durable or refused. When the server shuts down with a dead database, it gives up, and others recover the runs.
 */
import type { LeaseId, RunOutcome } from '@carillon/domain';
import { type Clock, LastingCondition, type Log, type Random, sleep } from '@carillon/foundation';
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
/** A lock that is held no longer than this is not worth telling of. */
const LOCKED_QUIET_MS = 2_000;

const UNRECORDABLE: RunOutcome = {
  kind: 'FAILED',
  error: 'the run ended, but its outcome could not be stored',
  retryable: false,
};

export class ReportCourier {
  readonly #options: ReportCourierOptions;
  readonly #underWay = new Set<Promise<void>>();
  #gathered: RunReport[] = [];
  readonly #locked: LastingCondition;
  readonly #failing: LastingCondition;
  #unrecorded = 0;
  /** Of these, those that were told at least once and could not be recorded. */
  #late = 0;
  #isStopping = false;

  constructor(options: ReportCourierOptions) {
    this.#options = options;
    this.#locked = new LastingCondition(options);
    this.#failing = new LastingCondition(options);
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
    let lateSince: number | undefined;
    for (let tries = 1; ; tries += 1) {
      const { again, error } = await this.#tell(left, tries);
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
    for (const report of left) this.#answered(report);
    if (left.length === 0 && this.#late === 0) this.#logOver();
  }

  #answered({ run }: RunReport): void {
    this.#unrecorded -= 1;
    this.#options.onAnswered(run.leaseId);
  }

  /** Answers what must be told again, and why. */
  async #tell(
    group: readonly RunReport[],
    tries: number,
  ): Promise<{ again: RunReport[]; error: Error | undefined }> {
    const { reports } = this.#options;
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
    return { again, error };
  }

  /** Once for all groups, and not for every try: an outage is logged by those who notice it. */
  #logLate(
    { run: { jobId, runId } }: RunReport,
    { error, tries, lateMs }: { error: Error; tries: number; lateMs: number },
  ): void {
    const { log } = this.#options;
    const facts = { unrecorded: this.#unrecorded, retried: this.#late, jobId, runId };
    if (error instanceof StorageTimeout) {
      if (lateMs < LOCKED_QUIET_MS || !this.#locked.notice()) return;
      log.warn(
        { ...facts, reason: error.message, look: error.look },
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
}

/** Not for want of a database that has time for it: something in the outcome cannot be stored, and never will be. */
function storable(report: RunReport, error: Error): RunReport {
  const isTheWorlds = error instanceof StorageUnavailable || error instanceof StorageTimeout;
  return isTheWorlds ? report : { ...report, outcome: UNRECORDABLE };
}
