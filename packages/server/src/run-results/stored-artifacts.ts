/**
 * Files that runs leave, in the store of logs beside the log of their attempt, all of one attempt as one text of bytes
 * (domain/run/run-artifacts.ts). A line in the log of the run says that they are kept, and so the record of that log tells which server
 * has them. They are removed with the logs of their day. In a store that servers share each writes its own, as with results.
 */
import { ARTIFACT_END_BYTES, ARTIFACT_INDEX_BYTES_MAX, type NodeId } from '@carillon/domain';
import type { HeldRun, RunArtifacts, RunChannel } from '@carillon/worker';
import { dayOf, type LogKey, type LogStore } from '../log-store/log-store.ts';
import { AttemptParts } from './attempt-parts.ts';

export interface ArtifactsPart {
  readonly offset: number;
  readonly bytes: Uint8Array;
  readonly isLast: boolean;
}

export interface StoredArtifactsOptions {
  readonly store: LogStore;
  readonly nodeId: NodeId;
  /** Of the files of one attempt. */
  readonly bytesMax: number;
  readonly output: RunChannel['output'];
  readonly now: () => number;
}

/** Also in parts, which workers on other machines send. */
export interface PartedArtifacts extends RunArtifacts {
  /** From the beginning on. */
  savePart(run: HeldRun, part: ArtifactsPart): Promise<void>;
}

/** Attempts with as many files as there may be that one run may leave here. */
const LEFT_PER_RUN_MAX = 4;

export class StoredArtifacts implements PartedArtifacts {
  readonly #options: StoredArtifactsOptions;
  readonly #totalMax: number;
  readonly #parts: AttemptParts;

  constructor(options: StoredArtifactsOptions) {
    this.#options = options;
    this.#totalMax = options.bytesMax + ARTIFACT_INDEX_BYTES_MAX + ARTIFACT_END_BYTES;
    const leftBytesMax = LEFT_PER_RUN_MAX * this.#totalMax;
    this.#parts = new AttemptParts({ store: options.store, what: 'files', leftBytesMax });
  }

  get bytesMax(): number {
    return this.#options.bytesMax;
  }

  async save(run: HeldRun, parts: () => AsyncIterable<Uint8Array>): Promise<void> {
    let offset = 0;
    for await (const bytes of parts()) {
      await this.savePart(run, { offset, bytes, isLast: false });
      offset += bytes.length;
    }
    this.#tell(run, offset);
  }

  async savePart(run: HeldRun, { offset, bytes, isLast }: ArtifactsPart): Promise<void> {
    const { store, nodeId, bytesMax } = this.#options;
    const end = offset + bytes.length;
    if (bytesMax === 0) throw new Error('this server takes no files');
    if (end > this.#totalMax) throw new Error(`this server takes files of up to ${bytesMax} bytes in all`);
    if (bytes.length === 0) throw new Error('a part of them is empty');
    const writer = store.isShared ? nodeId : undefined;
    await this.#parts.write(run, artifactsKey(run, { claimedAtMs: run.claimedAtMs, writer }), {
      offset,
      bytes,
    });
    if (isLast) this.#tell(run, end);
  }

  #tell(run: HeldRun, bytes: number): void {
    const { output, now } = this.#options;
    const text = `The files of this attempt are kept (${bytes} bytes).\n`;
    void output(run, { stream: 'system', atMs: now(), bytes: Buffer.from(text) });
  }
}

export function artifactsKey(
  { runId, epoch }: Pick<LogKey, 'runId' | 'epoch'>,
  { claimedAtMs, writer }: { readonly claimedAtMs: number; readonly writer: NodeId | undefined },
): LogKey {
  return { day: dayOf(claimedAtMs), runId, epoch, writer, part: 'artifacts' };
}
