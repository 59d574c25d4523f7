/**
 * Closes logs whose attempts are over without this server having been told: their workers died, or went on at another server. Also
 * those that an earlier process of this server has left open.
 */
import { isFinal, type NodeId, type RunId } from '@carillon/domain';
import { type Clock, type Log, Loop, type Random, type Service } from '@carillon/foundation';
import type { LeaseStore } from '../storage/lease-store.ts';
import type { RunLogRecord, RunLogStore } from '../storage/run-log-store.ts';
import type { RunStore } from '../storage/run-store.ts';
import { QUIET_MS_MIN, type RunOutput } from './run-output.ts';

export interface LogCloserOptions {
  readonly output: RunOutput;
  readonly leases: Pick<LeaseStore, 'leased'>;
  readonly runs: Pick<RunStore, 'attempts'>;
  readonly records: Pick<RunLogStore, 'openLogs'>;
  readonly nodeId: NodeId;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Runs of one question to the storage. */
const RUNS_PER_CALL = 500;
/** Logs left by earlier processes that one pass looks at, each with a question of its own. */
const LEFT_PER_PASS = 50;

export class LogCloser implements Service {
  readonly #options: LogCloserOptions;
  readonly #loop: Loop;
  /** The next page of what was left begins after this run. */
  #after: RunId | undefined;

  constructor(options: LogCloserOptions) {
    this.#options = options;
    this.#loop = new Loop({ ...options, name: 'logs', idleMs: QUIET_MS_MIN, runOnce: () => this.runOnce() });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async runOnce(): Promise<undefined> {
    await this.#closeQuiet();
    await this.#closeLeft();
    return undefined;
  }

  async #closeQuiet(): Promise<void> {
    const { output, leases } = this.#options;
    const quiet = output.quiet();
    for (let from = 0; from < quiet.length; from += RUNS_PER_CALL) {
      const runs = quiet.slice(from, from + RUNS_PER_CALL);
      const held = await leases.leased(runs);
      await Promise.all(runs.filter((_, i) => held[i] === undefined).map((run) => output.close(run)));
    }
  }

  async #closeLeft(): Promise<void> {
    const { output, records, nodeId: of } = this.#options;
    const open = await records.openLogs({ of, after: this.#after, limit: LEFT_PER_PASS });
    this.#after = open.length === LEFT_PER_PASS ? open.at(-1)!.runId : undefined;
    for (const record of open)
      if (!output.isOpen(record) && (await this.#isOver(record))) await output.closeLeft(record);
  }

  async #isOver({ runId, epoch }: RunLogRecord): Promise<boolean> {
    const { runs, clock } = this.#options;
    const attempts = await runs.attempts(runId, clock.now());
    const own = attempts.find((attempt) => attempt.epoch === epoch);
    return own === undefined || isFinal(own.status);
  }
}
