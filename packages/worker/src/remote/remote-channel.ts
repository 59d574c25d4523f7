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
  OUTPUT_STREAMS,
  OutputSchema,
  RUN_BYTES,
  RunProgressSchema,
  type SessionRequest,
  URGENCY,
  type Welcome,
} from '../protocol/index.ts';
import type { HeldRun, OutputChunk, Progress, RunChannel } from '../run-channel.ts';
import { RemoteArtifacts } from './remote-artifacts.ts';
import { RemoteResults } from './remote-results.ts';
import { CHUNK_BYTES, CHUNK_BYTES_MAX, WaitingOutput } from './waiting-output.ts';

type Frames = FrameQueue<SessionRequest>;

/** By a server, with a stream. */
interface Granted {
  readonly window: number;
  readonly resultBytesMax: number;
  readonly artifactBytesMax: number;
}

export function grantedBy({ outputWindow, resultBytesMax, artifactBytesMax }: Welcome): Granted {
  return {
    window: outputWindow,
    resultBytesMax: Number(resultBytesMax),
    artifactBytesMax: Number(artifactBytesMax),
  };
}

interface PendingCheckpoint {
  readonly run: HeldRun;
  readonly value: string;
  readonly answer: PromiseWithResolvers<void>;
}

/** Above this, whoever can wait waits; above the other, output is dropped and the gap marked. */
const WAITING_BYTES_SLOW = 256 * 1_024;
const WAITING_BYTES_MAX = 16 * 1_024 * 1_024;
/** Of what one part tells of the progress of runs. */
const PROGRESS_BYTES = 64 * 1_024;
const MISSING = 'Output is missing here: the connection to the server was lost.\n';
const DROPPED = 'Output is missing here: it came faster than the server took it.\n';

export class RemoteChannel implements RunChannel {
  readonly #clock: Clock;
  #frames: Frames | undefined;
  #windowLeft = 0;
  readonly #waiting = new WaitingOutput();
  #isQueued = false;
  /** Runs with output on its way, and how much in all. */
  #sent: { readonly run: HeldRun; bytes: number }[] = [];
  #emptied: PromiseWithResolvers<void> | undefined;
  readonly #closing = new Map<HeldRun, () => void>();
  readonly #progress = new Map<HeldRun, Progress>();
  readonly #checkpoints = new Map<number, PendingCheckpoint>();
  #sequence = 0;
  #partSequence = 0;
  readonly #nextPart = () => (this.#partSequence += 1);
  readonly results = new RemoteResults(this.#nextPart);
  readonly artifacts = new RemoteArtifacts(this.#nextPart);

  constructor({ clock }: { clock: Clock }) {
    this.#clock = clock;
  }

  output(run: HeldRun, chunk: OutputChunk): Promise<void> | undefined {
    const isDropped = this.#waiting.bytes + chunk.bytes.length + CHUNK_BYTES > WAITING_BYTES_MAX;
    if (isDropped) this.#waiting.markLast(run, this.#mark(DROPPED));
    else this.#waiting.add(run, chunk);
    this.#send();
    return this.#waiting.bytes > WAITING_BYTES_SLOW ? this.#whenEmptied() : undefined;
  }

  progress(run: HeldRun, progress: Progress): void {
    this.#progress.set(run, progress);
    if (this.#progress.size === 1) this.#sendProgress();
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
    if (!this.#waiting.has(run)) return undefined;
    return new Promise((resolve) => this.#closing.set(run, resolve));
  }

  /** A stream that may be written to. */
  attach(frames: Frames, { window, resultBytesMax, artifactBytesMax }: Granted): void {
    this.#frames = frames;
    this.#windowLeft = window;
    this.results.attach(frames, resultBytesMax);
    this.artifacts.attach(frames, artifactBytesMax);
    this.#isQueued = false;
    for (const [sequence, pending] of this.#checkpoints) this.#sendCheckpoint(sequence, pending);
    if (this.#progress.size > 0) this.#sendProgress();
    this.#send();
  }

  /** The stream broke: nobody knows what of the output on its way has arrived. */
  detach(): void {
    this.#frames = undefined;
    this.results.detach();
    this.artifacts.detach();
    const runs = new Set(this.#sent.map(({ run }) => run));
    this.#sent = [];
    for (const run of runs) this.#waiting.markFirst(run, this.#mark(MISSING));
  }

  taken(bytes: number): void {
    this.#windowLeft += bytes;
    let left = bytes;
    let done = 0;
    while (left > 0 && done < this.#sent.length) {
      const first = this.#sent[done]!;
      const part = Math.min(left, first.bytes);
      first.bytes -= part;
      left -= part;
      if (first.bytes === 0) done += 1;
    }
    this.#sent.splice(0, done);
    this.#send();
  }

  partAnswered(sequence: number, answer: { readonly error: string; readonly stored: string }): void {
    this.results.answered(sequence, answer);
    this.artifacts.answered(sequence, answer);
  }

  answered(sequence: number, error: string): void {
    const pending = this.#checkpoints.get(sequence);
    this.#checkpoints.delete(sequence);
    if (error === '') pending?.answer.resolve();
    else pending?.answer.reject(new HandlerError(error, { retryable: true }));
  }

  /** One part at a time, filled when its frame is made: until then output can be joined, and is not lost with the stream. */
  #send(): void {
    const frames = this.#frames;
    if (!frames || this.#isQueued || this.#windowLeft <= 0 || this.#waiting.bytes === 0) return;
    this.#isQueued = true;
    frames.put(URGENCY.output, CHUNK_BYTES + CHUNK_BYTES_MAX, (frame) => {
      if (this.#frames !== frames) return;
      this.#isQueued = false;
      this.#fillOutput(frame);
      this.#send();
    });
  }

  #fillOutput(frame: SessionRequest): void {
    let room = CHUNK_BYTES + CHUNK_BYTES_MAX;
    while (this.#windowLeft > 0) {
      const next = this.#waiting.take(room, this.#windowLeft);
      if (!next) break;
      const { run, chunk } = next;
      const { length } = chunk.bytes;
      room -= CHUNK_BYTES + length;
      this.#windowLeft -= length;
      this.#sent.push({ run, bytes: length });
      const { leaseId, position, epoch } = run;
      frame.outputs.push(
        create(OutputSchema, {
          ...{ leaseId, position, epoch, stream: OUTPUT_STREAMS[chunk.stream], bytes: chunk.bytes },
          atMs: BigInt(Math.round(chunk.atMs)),
        }),
      );
      this.#closeIfSent(run);
    }
    if (this.#waiting.bytes > WAITING_BYTES_SLOW) return;
    this.#emptied?.resolve();
    this.#emptied = undefined;
  }

  #closeIfSent(run: HeldRun): void {
    if (this.#waiting.has(run)) return;
    this.#closing.get(run)?.();
    this.#closing.delete(run);
  }

  #mark(text: string): OutputChunk {
    return { stream: 'system', atMs: this.#clock.now(), bytes: Buffer.from(text) };
  }

  #whenEmptied(): Promise<void> {
    this.#emptied ??= Promise.withResolvers();
    return this.#emptied.promise;
  }

  /** One part at a time, with the latest of each run when its frame is made. */
  #sendProgress(): void {
    const frames = this.#frames;
    frames?.put(URGENCY.output, PROGRESS_BYTES, (frame) => {
      if (this.#frames !== frames) return;
      let room = PROGRESS_BYTES;
      for (const [run, { percent, message = '' }] of this.#progress) {
        const { leaseId, position, epoch } = run;
        room -= RUN_BYTES + Buffer.byteLength(message);
        if (room < 0) break;
        this.#progress.delete(run);
        frame.progress.push(create(RunProgressSchema, { leaseId, position, epoch, percent, message }));
      }
      if (this.#progress.size > 0) this.#sendProgress();
    });
  }

  #sendCheckpoint(sequence: number, { run, value }: PendingCheckpoint): void {
    const { leaseId, position, epoch } = run;
    const checkpoint = create(CheckpointSchema, { sequence, leaseId, position, epoch, value });
    this.#frames?.put(URGENCY.work, RUN_BYTES + Buffer.byteLength(value), (frame) =>
      frame.checkpoints.push(checkpoint),
    );
  }
}
