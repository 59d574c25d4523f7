/**
 * Records which attempts have said something, those of a moment in one statement. What cannot be recorded now is tried again, up to a
 * bound: a log that is not recorded is not found, and costs nothing else.
 */
import { type Clock, type Log, sleep } from '@carillon/foundation';
import type { RunLogRecord, RunLogStore } from '../storage/run-log-store.ts';

export interface LogRecorderOptions {
  readonly records: Pick<RunLogStore, 'recordLogs'>;
  readonly clock: Clock;
  readonly log: Log;
}

const RETRY_MS = 1_000;
const PENDING_MAX = 10_000;
const BATCH_MAX = 1_000;

export class LogRecorder {
  readonly #options: LogRecorderOptions;
  readonly #pending = new Map<string, { readonly record: RunLogRecord; readonly done: () => void }>();
  readonly #stopped = new AbortController();
  #writing: Promise<void> | undefined;

  constructor(options: LogRecorderOptions) {
    this.#options = options;
  }

  /** Resolves when it is recorded, or given up. */
  record(record: RunLogRecord): Promise<void> {
    return new Promise((resolve) => {
      const key = `${record.runId} ${record.epoch}`;
      const before = this.#pending.get(key);
      const done = () => {
        before?.done();
        resolve();
      };
      this.#pending.set(key, { record, done });
      const [oldest] = this.#pending.keys();
      if (this.#pending.size > PENDING_MAX) this.#take([oldest!]);
      this.#writing ??= this.#writeAll();
    });
  }

  /** Makes one last try of what is left. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    const { records, clock, log } = this.#options;
    let failures = 0;
    // Those of the same turn share the first statement.
    await Promise.resolve();
    while (this.#pending.size > 0) {
      const batch = [...this.#pending].slice(0, BATCH_MAX);
      try {
        await records.recordLogs(batch.map(([, { record }]) => record));
        failures = 0;
        // What was recorded anew meanwhile stays.
        this.#take(batch.filter(([key, entry]) => this.#pending.get(key) === entry).map(([key]) => key));
        for (const [, { done }] of batch) done();
      } catch (error) {
        failures += 1;
        if (failures === 1) log.warn({ err: error }, 'could not record the logs of runs; trying again');
        if (this.#stopped.signal.aborted) this.#take([...this.#pending.keys()]);
        else await sleep(clock, RETRY_MS, this.#stopped.signal);
      }
    }
    this.#writing = undefined;
  }

  #take(keys: readonly string[]): void {
    for (const key of keys) {
      const entry = this.#pending.get(key);
      this.#pending.delete(key);
      entry?.done();
    }
  }
}
