/**
 * What runs of a remote worker say, on its way to the server. Output waits for the window that the server grants and goes on after a
 * stream broke; what was on its way then is marked as missing. Checkpoints are sent until they are answered.
 */
import { create } from '@bufbuild/protobuf';
import type { Clock } from '@carillon/foundation';
import { HandlerError } from '../handler.ts';
import {
  CheckpointSchema,
  type FrameQueue,
  OutputSchema,
  OutputStream as OutputStreams,
  RunProgressSchema,
  type SessionRequest,
  URGENCY,
} from '../protocol/index.ts';
import type { HeldRun, OutputChunk, Progress, RunChannel } from '../run-channel.ts';

type Frames = FrameQueue<SessionRequest>;

interface WaitingOutput {
  readonly run: HeldRun;
  readonly chunk: OutputChunk;
}

interface PendingCheckpoint {
  readonly run: HeldRun;
  readonly value: string;
  readonly answer: PromiseWithResolvers<void>;
}

const STREAMS = {
  stdout: OutputStreams.UNSPECIFIED,
  stderr: OutputStreams.STDERR,
  system: OutputStreams.SYSTEM,
} as const;
/** Above this, whoever can wait waits; above the other, output is dropped and the gap marked. */
const WAITING_BYTES_SLOW = 256 * 1_024;
const WAITING_BYTES_MAX = 16 * 1_024 * 1_024;
/** One message of output: a frame holds several. */
const CHUNK_BYTES_MAX = 64 * 1_024;
/** What names the run in a message. */
const RUN_BYTES = 120;
const MISSING = 'Output is missing here: the connection to the server was lost.\n';
const DROPPED = 'Output is missing here: it came faster than the server took it.\n';

export class RemoteChannel implements RunChannel {
  readonly #clock: Clock;
  #frames: Frames | undefined;
  #windowLeft = 0;
  #waiting: WaitingOutput[] = [];
  #waitingBytes = 0;
  /** Runs with output on its way, and how much in all. */
  #sent: { readonly run: HeldRun; bytes: number }[] = [];
  #emptied: (() => void)[] = [];
  readonly #closing = new Map<HeldRun, () => void>();
  readonly #gaps = new Set<HeldRun>();
  readonly #progress = new Map<HeldRun, Progress>();
  readonly #checkpoints = new Map<number, PendingCheckpoint>();
  #sequence = 0;

  constructor({ clock }: { clock: Clock }) {
    this.#clock = clock;
  }

  output(run: HeldRun, chunk: OutputChunk): Promise<void> | undefined {
    const { bytes } = chunk;
    if (this.#waitingBytes + bytes.length > WAITING_BYTES_MAX) {
      this.#markGap(run, DROPPED);
      return this.#whenEmptied();
    }
    this.#gaps.delete(run);
    for (let from = 0; from < bytes.length; from += CHUNK_BYTES_MAX) {
      const part = bytes.subarray(from, from + CHUNK_BYTES_MAX);
      this.#waiting.push({ run, chunk: { ...chunk, bytes: part } });
    }
    this.#waitingBytes += bytes.length;
    this.#send();
    return this.#waitingBytes > WAITING_BYTES_SLOW ? this.#whenEmptied() : undefined;
  }

  progress(run: HeldRun, progress: Progress): void {
    if (this.#progress.size === 0) this.#frames?.put(URGENCY.output, 0, (frame) => this.#fillProgress(frame));
    this.#progress.set(run, progress);
  }

  saveCheckpoint(run: HeldRun, value: string): Promise<void> {
    this.#sequence += 1;
    const pending = { run, value, answer: Promise.withResolvers<void>() };
    this.#checkpoints.set(this.#sequence, pending);
    this.#sendCheckpoint(this.#sequence, pending);
    return pending.answer.promise;
  }

  /** Resolves when the output of the run is on its way: what follows on the same stream comes after it. */
  close(run: HeldRun): Promise<void> | undefined {
    this.#gaps.delete(run);
    if (!this.#waiting.some((waiting) => waiting.run === run)) return undefined;
    return new Promise((resolve) => this.#closing.set(run, resolve));
  }

  /** A stream that may be written to. */
  attach(frames: Frames, window: number): void {
    this.#frames = frames;
    this.#windowLeft = window;
    for (const [sequence, pending] of this.#checkpoints) this.#sendCheckpoint(sequence, pending);
    if (this.#progress.size > 0) frames.put(URGENCY.output, 0, (frame) => this.#fillProgress(frame));
    this.#send();
  }

  /** The stream broke: nobody knows what of the output on its way has arrived. */
  detach(): void {
    this.#frames = undefined;
    const runs = new Set(this.#sent.map(({ run }) => run));
    this.#sent = [];
    for (const run of runs) this.#markGap(run, MISSING);
  }

  taken(bytes: number): void {
    this.#windowLeft += bytes;
    let left = bytes;
    while (left > 0 && this.#sent.length > 0) {
      const first = this.#sent[0]!;
      const part = Math.min(left, first.bytes);
      first.bytes -= part;
      left -= part;
      if (first.bytes === 0) this.#sent.shift();
    }
    this.#send();
  }

  answered(sequence: number, error: string): void {
    const pending = this.#checkpoints.get(sequence);
    this.#checkpoints.delete(sequence);
    if (error === '') pending?.answer.resolve();
    else pending?.answer.reject(new HandlerError(error, { retryable: true }));
  }

  #send(): void {
    const frames = this.#frames;
    while (frames && this.#windowLeft > 0 && this.#waiting.length > 0) {
      const { run, chunk } = this.#waiting.shift()!;
      const { length } = chunk.bytes;
      this.#waitingBytes -= length;
      this.#windowLeft -= length;
      this.#sent.push({ run, bytes: length });
      const { leaseId, position, epoch } = run;
      const output = create(OutputSchema, {
        ...{ leaseId, position, epoch, stream: STREAMS[chunk.stream], bytes: chunk.bytes },
        atMs: BigInt(Math.round(chunk.atMs)),
      });
      frames.put(URGENCY.output, length, (frame) => {
        frame.outputs.push(output);
        this.#closeIfSent(run);
      });
    }
    if (this.#waitingBytes <= WAITING_BYTES_SLOW) for (const resolve of this.#emptied.splice(0)) resolve();
  }

  #closeIfSent(run: HeldRun): void {
    const resolve = this.#closing.get(run);
    if (!resolve || this.#waiting.some((waiting) => waiting.run === run)) return;
    this.#closing.delete(run);
    resolve();
  }

  /** Once until output goes on. */
  #markGap(run: HeldRun, text: string): void {
    if (this.#gaps.has(run)) return;
    this.#gaps.add(run);
    const chunk = { stream: 'system', atMs: this.#clock.now(), bytes: Buffer.from(text) } as const;
    this.#waiting.push({ run, chunk });
    this.#waitingBytes += chunk.bytes.length;
  }

  #whenEmptied(): Promise<void> {
    return new Promise((resolve) => this.#emptied.push(resolve));
  }

  #fillProgress(frame: SessionRequest): void {
    for (const [{ leaseId, position, epoch }, { percent, message = '' }] of this.#progress)
      frame.progress.push(create(RunProgressSchema, { leaseId, position, epoch, percent, message }));
    this.#progress.clear();
  }

  #sendCheckpoint(sequence: number, { run, value }: PendingCheckpoint): void {
    const { leaseId, position, epoch } = run;
    const checkpoint = create(CheckpointSchema, { sequence, leaseId, position, epoch, value });
    this.#frames?.put(URGENCY.work, RUN_BYTES + Buffer.byteLength(value), (frame) =>
      frame.checkpoints.push(checkpoint),
    );
  }
}
