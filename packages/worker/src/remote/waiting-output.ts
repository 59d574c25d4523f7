/**
 * Output of runs that waits to be sent. What a run writes to one stream is joined while it waits: many short lines are few messages.
 * Runs take turns, so that one that writes much does not hold up the others.
 */
import type { HeldRun, OutputChunk } from '../run-channel.ts';

/** One message of output: a frame holds several. */
export const CHUNK_BYTES_MAX = 64 * 1_024;
/** What a message costs beside its bytes, in memory and in a frame. */
export const CHUNK_BYTES = 256;
/** Lines further apart than this are not joined: a message has one time. */
const JOINED_MS_MAX = 1_000;
const JOINED_BYTES_MIN = 1_024;

interface WaitingChunk extends Omit<OutputChunk, 'bytes'> {
  /** The first `length` are in use. */
  bytes: Uint8Array;
  length: number;
  /** Says that output is missing. */
  readonly isMark: boolean;
}

interface RunQueue {
  readonly chunks: WaitingChunk[];
  /** Those before this index are taken. */
  first: number;
}

export class WaitingOutput {
  readonly #queues = new Map<HeldRun, RunQueue>();
  #bytes = 0;

  /** With what messages cost; 0: nothing waits. */
  get bytes(): number {
    return this.#bytes;
  }

  has(run: HeldRun): boolean {
    return this.#queues.has(run);
  }

  add(run: HeldRun, { stream, atMs, bytes }: OutputChunk): void {
    if (bytes.length === 0) return;
    const { chunks } = this.#queueOf(run);
    for (let from = 0; from < bytes.length; from += CHUNK_BYTES_MAX) {
      const part = { stream, atMs, bytes: bytes.subarray(from, from + CHUNK_BYTES_MAX) };
      if (this.#join(chunks.at(-1), part)) continue;
      chunks.push({ ...part, length: part.bytes.length, isMark: false });
      this.#bytes += CHUNK_BYTES + part.bytes.length;
    }
  }

  /** After all that waits. */
  markLast(run: HeldRun, mark: OutputChunk): void {
    const { chunks } = this.#queueOf(run);
    if (chunks.at(-1)?.isMark) return;
    chunks.push(this.#marked(mark));
  }

  /** Before all that waits. */
  markFirst(run: HeldRun, mark: OutputChunk): void {
    const { chunks, first } = this.#queueOf(run);
    if (chunks[first]?.isMark) return;
    chunks.splice(first, 0, this.#marked(mark));
  }

  /** The next message, or as much of it as may be sent, if it has room. */
  take(room: number, bytesMax: number): { readonly run: HeldRun; readonly chunk: OutputChunk } | undefined {
    const [entry] = this.#queues;
    if (!entry) return undefined;
    const [run, queue] = entry;
    const next = queue.chunks[queue.first]!;
    const { stream, atMs, bytes } = next;
    const length = Math.min(next.length, bytesMax);
    if (CHUNK_BYTES + length > room) return undefined;
    this.#bytes -= length;
    next.bytes = bytes.subarray(length);
    next.length -= length;
    if (next.length === 0) {
      this.#bytes -= CHUNK_BYTES;
      queue.first += 1;
    }
    this.#queues.delete(run);
    // The last in the order of the runs.
    if (queue.first < queue.chunks.length) this.#queues.set(run, compacted(queue));
    return { run, chunk: { stream, atMs, bytes: bytes.subarray(0, length) } };
  }

  #queueOf(run: HeldRun): RunQueue {
    const queue = this.#queues.get(run) ?? { chunks: [], first: 0 };
    this.#queues.set(run, queue);
    return queue;
  }

  #marked(mark: OutputChunk): WaitingChunk {
    this.#bytes += CHUNK_BYTES + mark.bytes.length;
    return { ...mark, length: mark.bytes.length, isMark: true };
  }

  /** Into memory of its own, that grows by doubling: lines are copied a few times, however many there are. */
  #join(last: WaitingChunk | undefined, { stream, atMs, bytes }: OutputChunk): boolean {
    if (!last || last.isMark || last.stream !== stream || atMs - last.atMs > JOINED_MS_MAX) return false;
    const length = last.length + bytes.length;
    if (length > CHUNK_BYTES_MAX) return false;
    if (length > last.bytes.length) {
      const grown = new Uint8Array(Math.min(Math.max(2 * length, JOINED_BYTES_MIN), CHUNK_BYTES_MAX));
      grown.set(last.bytes.subarray(0, last.length));
      last.bytes = grown;
    }
    last.bytes.set(bytes, last.length);
    last.length = length;
    this.#bytes += bytes.length;
    return true;
  }
}

/** Forgets what was taken, when it is the larger part. */
function compacted({ chunks, first }: RunQueue): RunQueue {
  if (2 * first < chunks.length) return { chunks, first };
  return { chunks: chunks.slice(first), first: 0 };
}
