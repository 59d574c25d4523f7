/**
 * What attempts of runs write into the store of logs in parts, beside their logs: each in the order in which its parts came, and all
 * attempts of one run together within a bound.
 */
import type { RunId } from '@carillon/domain';
import type { HeldRun } from '@carillon/worker';
import type { LogKey, LogStore } from '../log-store/log-store.ts';

export interface AttemptPartsOptions {
  readonly store: LogStore;
  /** For sentences, such as "results". */
  readonly what: string;
  /** That the attempts of one run may leave here. */
  readonly leftBytesMax: number;
}

/** What one attempt has written. */
export interface Written {
  readonly key: LogKey;
  bytes: number;
  /** Resolves when the store is through with the last part. */
  writing: Promise<void>;
}

type AttemptRef = Pick<HeldRun, 'runId' | 'epoch'>;

/** Runs whose parts are counted; of those before them it is not known any more. */
const COUNTED_RUNS_MAX = 10_000;

export class AttemptParts {
  readonly #options: AttemptPartsOptions;
  /** By run and epoch: of attempts whose parts are not dropped. */
  readonly #written = new Map<RunId, Map<number, Written>>();

  constructor(options: AttemptPartsOptions) {
    this.#options = options;
  }

  of({ runId, epoch }: AttemptRef): Written | undefined {
    return this.#written.get(runId)?.get(epoch);
  }

  async drop({ runId, epoch }: AttemptRef): Promise<void> {
    const attempts = this.#written.get(runId);
    const written = attempts?.get(epoch);
    if (!attempts || !written) return;
    attempts.delete(epoch);
    if (attempts.size === 0) this.#written.delete(runId);
    await written.writing;
    await this.#options.store.dropSegment(written.key, 0);
  }

  async write(
    run: AttemptRef,
    key: LogKey,
    { offset, bytes }: { readonly offset: number; readonly bytes: Uint8Array },
  ): Promise<void> {
    const { store, what, leftBytesMax } = this.#options;
    const attempts = this.#attemptsOf(run.runId);
    const end = offset + bytes.length;
    const written: Written = attempts.get(run.epoch) ?? { key, bytes: 0, writing: Promise.resolve() };
    const others = [...attempts.values()].reduce((sum, each) => sum + (each === written ? 0 : each.bytes), 0);
    if (others + Math.max(written.bytes, end) > leftBytesMax)
      throw new Error(`the attempts of one run may leave ${leftBytesMax} bytes of ${what}`);
    attempts.set(run.epoch, written);
    written.bytes = Math.max(written.bytes, end);
    // In the order in which they came: a worker that connects again sends all parts anew, while the first may still be under way.
    const writing = written.writing.then(() => store.write(key, { segment: 0, offset }, bytes));
    written.writing = writing.catch(() => undefined);
    await writing;
  }

  /** The run that wrote last stands last. */
  #attemptsOf(runId: RunId): Map<number, Written> {
    const attempts = this.#written.get(runId) ?? new Map<number, Written>();
    this.#written.delete(runId);
    this.#written.set(runId, attempts);
    for (const oldest of this.#written.keys()) {
      if (this.#written.size <= COUNTED_RUNS_MAX) break;
      this.#written.delete(oldest);
    }
    return attempts;
  }
}
