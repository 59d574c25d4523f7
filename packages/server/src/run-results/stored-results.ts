/**
 * Results that are too large for the database, in the store of logs, beside the log of their attempt: written in parts, so that a server holds
 * little of them, and removed with the logs of their day. In a store that servers share each writes a result of its own, so that one that
 * stood still while the worker went to another takes nothing from what that has kept.
 */
import {
  type NodeId,
  type RunId,
  type RunOutcome,
  readStoredResult,
  type StoredResult,
  writeStoredResult,
} from '@carillon/domain';
import { type HeldRun, type LargeResults, protocol, type RunChannel } from '@carillon/worker';
import { dayOf, type LogKey, type LogStore } from '../log-store/log-store.ts';

export interface ResultPart {
  readonly offset: number;
  readonly bytes: Uint8Array;
  /** Of the whole result. */
  readonly bytesTotal: number;
}

export interface StoredResultsOptions {
  readonly store: LogStore;
  readonly nodeId: NodeId;
  /** Of one result. */
  readonly bytesMax: number;
}

/** Results of this length that the attempts of one run may leave here. An attempt that is given back costs no retry, and may come again. */
const LEFT_PER_RUN_MAX = 4;
/** Runs whose results are counted; of those before them it is not known any more. */
const COUNTED_RUNS_MAX = 10_000;

/** What one attempt has written. */
interface Written {
  readonly key: LogKey;
  bytes: number;
  /** Resolves when the store is through with the last part. */
  writing: Promise<void>;
}

/** Also in parts, which workers on other machines send. */
export interface PartedResults extends LargeResults {
  /** From the beginning on. Answers what stands for the result after the last part. */
  savePart(run: HeldRun, part: ResultPart): Promise<string | undefined>;
  /** Whether this is what stands for a result of the attempt. One that an earlier server took is known by its day alone. */
  isTaken(run: HeldRun, stored: StoredResult): boolean;
  /** The attempt has ended with this outcome: what it left and does not name is dropped. */
  settled(run: AttemptRef, outcome: RunOutcome): Promise<void>;
}

type AttemptRef = Pick<HeldRun, 'runId' | 'epoch'>;

/** Keeps what the runs of workers say, wherever they are. */
export interface HomeChannel extends RunChannel {
  readonly results?: PartedResults;
}

const { RESULT_PART_BYTES_MAX } = protocol;

export class StoredResults implements PartedResults {
  readonly #options: StoredResultsOptions;
  /** By run and epoch: of attempts whose result is not dropped. */
  readonly #written = new Map<RunId, Map<number, Written>>();

  constructor(options: StoredResultsOptions) {
    this.#options = options;
  }

  get bytesMax(): number {
    return this.#options.bytesMax;
  }

  async save(run: HeldRun, bytes: Uint8Array): Promise<string> {
    let stored: string | undefined;
    for (let offset = 0; offset < bytes.length; offset += RESULT_PART_BYTES_MAX) {
      const part = bytes.subarray(offset, offset + RESULT_PART_BYTES_MAX);
      stored = await this.savePart(run, { offset, bytes: part, bytesTotal: bytes.length });
    }
    if (stored === undefined) throw new Error('it is empty');
    return stored;
  }

  async savePart(run: HeldRun, { offset, bytes, bytesTotal }: ResultPart): Promise<string | undefined> {
    const { store, nodeId, bytesMax } = this.#options;
    const end = offset + bytes.length;
    if (bytesTotal > bytesMax) throw new Error(`this server takes results of up to ${bytesMax} bytes`);
    if (bytes.length === 0 || end > bytesTotal) throw new Error('its parts are not as long as it is');
    // The day of all its parts, whenever they come.
    const day = dayOf(run.claimedAtMs);
    const where = { day, ...(store.isShared ? { writer: nodeId } : { server: nodeId }) };
    await this.#write(run, resultKey(run, where), { offset, bytes });
    return end < bytesTotal ? undefined : writeStoredResult({ bytes: bytesTotal, ...where });
  }

  isTaken(
    { runId, epoch, claimedAtMs, isFromEarlier = false }: HeldRun,
    { bytes, day, server, writer }: StoredResult,
  ): boolean {
    const { store, nodeId } = this.#options;
    if (day !== dayOf(claimedAtMs)) return false;
    if (isFromEarlier) return true;
    const written = this.#written.get(runId)?.get(epoch);
    if (written?.bytes !== bytes || writer !== written.key.writer) return false;
    return server === (store.isShared ? undefined : nodeId);
  }

  async settled({ runId, epoch }: AttemptRef, outcome: RunOutcome): Promise<void> {
    const attempts = this.#written.get(runId);
    const written = attempts?.get(epoch);
    if (!attempts || !written) return;
    const named = 'result' in outcome ? readStoredResult(outcome.result) : undefined;
    if (named && named.writer === written.key.writer) return;
    attempts.delete(epoch);
    if (attempts.size === 0) this.#written.delete(runId);
    await written.writing;
    await this.#options.store.dropSegment(written.key, 0);
  }

  async #write(
    run: HeldRun,
    key: LogKey,
    { offset, bytes }: Pick<ResultPart, 'offset' | 'bytes'>,
  ): Promise<void> {
    const { store, bytesMax } = this.#options;
    const attempts = this.#attemptsOf(run.runId);
    const end = offset + bytes.length;
    const written: Written = attempts.get(run.epoch) ?? { key, bytes: 0, writing: Promise.resolve() };
    const others = [...attempts.values()].reduce((sum, each) => sum + (each === written ? 0 : each.bytes), 0);
    if (others + Math.max(written.bytes, end) > LEFT_PER_RUN_MAX * bytesMax)
      throw new Error(`the attempts of one run may leave ${LEFT_PER_RUN_MAX * bytesMax} bytes of results`);
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

export function resultKey(
  { runId, epoch }: Pick<LogKey, 'runId' | 'epoch'>,
  { day, writer }: Pick<StoredResult, 'day' | 'writer'>,
): LogKey {
  return { day, runId, epoch, writer: writer as NodeId | undefined, part: 'result' };
}
