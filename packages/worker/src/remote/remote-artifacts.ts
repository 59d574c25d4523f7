/**
 * Files that runs of a remote worker leave, on their way to the server: those of one run after the other, and one part on its way at a
 * time, so that neither side holds more. Another stream may lead to another server: there they begin anew.
 */
import { create } from '@bufbuild/protobuf';
import {
  ArtifactsPartSchema,
  type FrameQueue,
  ResultPartSchema,
  RUN_BYTES,
  type SessionRequest,
  URGENCY,
} from '../protocol/index.ts';
import type { HeldRun, RunArtifacts } from '../run-channel.ts';

type Frames = FrameQueue<SessionRequest>;

interface Part {
  readonly offset: number;
  readonly bytes: Uint8Array;
  readonly last: boolean;
}

export class RemoteArtifacts implements RunArtifacts {
  /** Shared with whatever else is answered in the same way. */
  readonly #nextSequence: () => number;
  #frames: Frames | undefined;
  #attached = Promise.withResolvers<void>();
  /** As the server said last: it counts while there is no stream. */
  #bytesMax = 0;
  /** Settles when the files before are kept or given up. */
  #before: Promise<void> = Promise.resolve();
  /** Of the part on its way: why it was refused, empty when it is kept. Undefined: the stream broke. */
  #answer: { readonly sequence: number; readonly resolve: (error?: string) => void } | undefined;

  constructor(nextSequence: () => number) {
    this.#nextSequence = nextSequence;
  }

  get bytesMax(): number {
    return this.#bytesMax;
  }

  save(run: HeldRun, parts: () => AsyncIterable<Uint8Array>): Promise<void> {
    const saving = this.#before.then(() => this.#save(run, parts));
    this.#before = saving.catch(() => undefined);
    return saving;
  }

  attach(frames: Frames, bytesMax: number): void {
    this.detach();
    this.#frames = frames;
    this.#bytesMax = bytesMax;
    this.#attached.resolve();
  }

  detach(): void {
    this.#frames = undefined;
    this.#attached.resolve();
    this.#attached = Promise.withResolvers();
    this.#answer?.resolve();
    this.#answer = undefined;
  }

  answered(sequence: number, { error }: { readonly error: string }): void {
    if (this.#answer?.sequence !== sequence) return;
    this.#answer.resolve(error);
    this.#answer = undefined;
  }

  async #save(run: HeldRun, parts: () => AsyncIterable<Uint8Array>): Promise<void> {
    for (;;) {
      while (!this.#frames) await this.#attached.promise;
      if (await this.#sendAll(run, parts, this.#frames)) return;
    }
  }

  /** False: the stream broke before all were kept. */
  async #sendAll(run: HeldRun, parts: () => AsyncIterable<Uint8Array>, frames: Frames): Promise<boolean> {
    let offset = 0;
    let held: Uint8Array | undefined;
    for await (const bytes of parts()) {
      if (held) {
        if (!(await this.#send(run, { offset, bytes: held, last: false }, frames))) return false;
        offset += held.length;
      }
      held = bytes;
    }
    return held === undefined || this.#send(run, { offset, bytes: held, last: true }, frames);
  }

  async #send(run: HeldRun, { offset, bytes, last }: Part, frames: Frames): Promise<boolean> {
    if (this.#frames !== frames) return false;
    const { leaseId, position, epoch } = run;
    const sequence = this.#nextSequence();
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    this.#answer = { sequence, resolve };
    const artifacts = create(ArtifactsPartSchema, { last });
    const part = create(ResultPartSchema, {
      ...{ sequence, leaseId, position, epoch, offset: BigInt(offset), bytes, artifacts },
    });
    frames.put(URGENCY.output, RUN_BYTES + bytes.length, (frame) => frame.resultParts.push(part));
    const error = await promise;
    if (error) throw new Error(error);
    return error !== undefined;
  }
}
