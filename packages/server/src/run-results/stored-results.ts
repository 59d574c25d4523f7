/**
 * Results that are too large for the database, in the store of logs, beside the log of their attempt: written in parts, so that a server holds
 * little of them, and removed with the logs of their day. In a store that servers share each writes a result of its own, so that one that
 * stood still while the worker went to another takes nothing from what that has kept.
 */
import {
  type NodeId,
  type RunOutcome,
  readStoredResult,
  type StoredResult,
  writeStoredResult,
} from '@carillon/domain';
import { type HeldRun, type LargeResults, protocol, type RunChannel } from '@carillon/worker';
import { dayOf, type LogKey, type LogStore } from '../log-store/log-store.ts';
import { AttemptParts } from './attempt-parts.ts';
import type { PartedArtifacts } from './stored-artifacts.ts';

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
  readonly artifacts?: PartedArtifacts;
}

const { RESULT_PART_BYTES_MAX } = protocol;

export class StoredResults implements PartedResults {
  readonly #options: StoredResultsOptions;
  readonly #parts: AttemptParts;

  constructor(options: StoredResultsOptions) {
    this.#options = options;
    const leftBytesMax = LEFT_PER_RUN_MAX * options.bytesMax;
    this.#parts = new AttemptParts({ store: options.store, what: 'results', leftBytesMax });
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
    await this.#parts.write(run, resultKey(run, where), { offset, bytes });
    return end < bytesTotal ? undefined : writeStoredResult({ bytes: bytesTotal, ...where });
  }

  isTaken(run: HeldRun, { bytes, day, server, writer }: StoredResult): boolean {
    const { store, nodeId } = this.#options;
    const { claimedAtMs, isFromEarlier = false } = run;
    if (day !== dayOf(claimedAtMs)) return false;
    if (isFromEarlier) return true;
    const written = this.#parts.of(run);
    if (written?.bytes !== bytes || writer !== written.key.writer) return false;
    return server === (store.isShared ? undefined : nodeId);
  }

  async settled(run: AttemptRef, outcome: RunOutcome): Promise<void> {
    const written = this.#parts.of(run);
    const named = 'result' in outcome ? readStoredResult(outcome.result) : undefined;
    if (written && named && named.writer === written.key.writer) return;
    await this.#parts.drop(run);
  }
}

export function resultKey(
  { runId, epoch }: Pick<LogKey, 'runId' | 'epoch'>,
  { day, writer }: Pick<StoredResult, 'day' | 'writer'>,
): LogKey {
  return { day, runId, epoch, writer: writer as NodeId | undefined, part: 'result' };
}
