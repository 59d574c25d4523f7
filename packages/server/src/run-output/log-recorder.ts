/**
 * Records which attempts have said something, those of a moment in one statement. What cannot be recorded now is tried again, up to a
 * bound; what the storage refuses is dropped. A log that is not recorded is not found, and costs nothing else.
 */
import { type Clock, type Log, sleep } from '@carillon/foundation';
import { applyInBatches } from '../storage/apply-in-batches.ts';
import type { RunLogRecord, RunLogStore } from '../storage/run-log-store.ts';
import { StorageTimeout, StorageUnavailable } from '../storage/storage.ts';

export interface LogRecorderOptions {
  readonly records: Pick<RunLogStore, 'recordLogs'>;
  readonly clock: Clock;
  readonly log: Log;
}

const RETRY_MS = 1_000;
const PENDING_MAX = 10_000;
const BATCH_MAX = 1_000;
const TIMEOUTS_MAX = 4;
/** How many runs a line of the server's log names. */
const NAMED_MAX = 10;

type Pending = readonly [string, { readonly record: RunLogRecord; readonly done: () => void }];

export class LogRecorder {
  readonly #options: LogRecorderOptions;
  readonly #pending = new Map<Pending[0], Pending[1]>();
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
    const { clock, log } = this.#options;
    let failures = 0;
    // Those of the same turn share the first statement.
    await Promise.resolve();
    while (this.#pending.size > 0) {
      const fault = await this.#write([...this.#pending].slice(0, BATCH_MAX));
      failures = fault === undefined ? 0 : failures + 1;
      if (fault === undefined) continue;
      if (failures === 1) log.warn({ err: fault }, 'could not record the logs of runs; trying again');
      if (this.#stopped.signal.aborted) this.#take([...this.#pending.keys()]);
      else await sleep(clock, RETRY_MS, this.#stopped.signal);
    }
    this.#writing = undefined;
  }

  /** Answers why the storage could not take all now. What it refuses is dropped: it would refuse it again, and what comes with it. */
  async #write(batch: readonly Pending[]): Promise<unknown> {
    const { records, log } = this.#options;
    let fault: unknown;
    let refusal: unknown;
    const refused: Pending[] = [];
    const written = await applyInBatches<Pending, boolean>(batch, {
      timeoutsMax: TIMEOUTS_MAX,
      apply: async (part) => {
        await records.recordLogs(part.map(([, { record }]) => record));
        return part.map(() => true);
      },
      fail: (error, entry) => {
        const isPassing = error instanceof StorageUnavailable || error instanceof StorageTimeout;
        if (isPassing) fault = error;
        else {
          refusal = error;
          refused.push(entry);
        }
        return !isPassing;
      },
    });
    if (refused.length > 0) {
      const runs = refused.slice(0, NAMED_MAX).map(([key]) => key);
      log.warn(
        { err: refusal, count: refused.length, runs },
        'the storage refuses the logs of runs; dropped',
      );
    }
    for (const [key, entry] of batch.filter((_, i) => written[i])) {
      // What was recorded anew meanwhile stays.
      if (this.#pending.get(key) === entry) this.#pending.delete(key);
      entry.done();
    }
    return fault;
  }

  #take(keys: readonly string[]): void {
    for (const key of keys) {
      const entry = this.#pending.get(key);
      this.#pending.delete(key);
      entry?.done();
    }
  }
}
