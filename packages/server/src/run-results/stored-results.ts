/**
 * Results that are too large for the database, in the store of logs, beside the log of their attempt: written in parts, so that a server holds
 * little of them, and removed with the logs of their day.
 */
import { type StoredResult, writeStoredResult } from '@carillon/domain';
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
  readonly nodeId: string;
  readonly bytesMax: number;
}

/** Also in parts, which workers on other machines send. */
export interface PartedResults extends LargeResults {
  /** From the beginning on. Answers what stands for the result after the last part. */
  savePart(run: HeldRun, part: ResultPart): Promise<string | undefined>;
}

/** Keeps what the runs of workers say, wherever they are. */
export interface HomeChannel extends RunChannel {
  readonly results?: PartedResults;
}

const { RESULT_PART_BYTES_MAX } = protocol;

export class StoredResults implements PartedResults {
  readonly #options: StoredResultsOptions;

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
    await store.write(resultKey(run, { day }), { segment: 0, offset }, bytes);
    if (end < bytesTotal) return undefined;
    return writeStoredResult({ bytes: bytesTotal, day, server: store.isShared ? undefined : nodeId });
  }
}

export function resultKey(
  { runId, epoch }: Pick<LogKey, 'runId' | 'epoch'>,
  { day }: Pick<StoredResult, 'day'>,
): LogKey {
  return { day, runId, epoch, part: 'result' };
}
