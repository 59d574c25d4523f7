/**
 * Results of a remote worker that are too large for an outcome, on their way to the server: one result after the other, and one part on its
 * way at a time, so that neither side holds more. Another stream may lead to another server: there the result begins anew.
 */
import { create } from '@bufbuild/protobuf';
import {
  type FrameQueue,
  RESULT_PART_BYTES_MAX,
  ResultPartSchema,
  RUN_BYTES,
  type SessionRequest,
  URGENCY,
} from '../protocol/index.ts';
import type { HeldRun, LargeResults } from '../run-channel.ts';

interface PendingResult {
  readonly run: HeldRun;
  readonly bytes: Uint8Array;
  readonly stored: PromiseWithResolvers<string>;
  offset: number;
}

export class RemoteResults implements LargeResults {
  #frames: FrameQueue<SessionRequest> | undefined;
  /** As the server said last: it counts while there is no stream. */
  #bytesMax = 0;
  /** The first of them is on its way. */
  readonly #pending: PendingResult[] = [];
  readonly #nextSequence: () => number;
  /** Of the part on its way. */
  #sequence = 0;

  /** nextSequence: shared with whatever else is answered in the same way. */
  constructor(nextSequence: () => number) {
    this.#nextSequence = nextSequence;
  }

  get bytesMax(): number {
    return this.#bytesMax;
  }

  save(run: HeldRun, bytes: Uint8Array): Promise<string> {
    const pending = { run, bytes, stored: Promise.withResolvers<string>(), offset: 0 };
    this.#pending.push(pending);
    if (this.#pending.length === 1) this.#send();
    return pending.stored.promise;
  }

  attach(frames: FrameQueue<SessionRequest>, bytesMax: number): void {
    this.#frames = frames;
    this.#bytesMax = bytesMax;
    const [first] = this.#pending;
    if (first) first.offset = 0;
    this.#send();
  }

  detach(): void {
    this.#frames = undefined;
  }

  answered(sequence: number, { error, stored }: { readonly error: string; readonly stored: string }): void {
    const [first] = this.#pending;
    // To a part that was sent on an earlier stream.
    if (!first || sequence !== this.#sequence) return;
    first.offset += RESULT_PART_BYTES_MAX;
    if (error === '' && first.offset < first.bytes.length) {
      this.#send();
      return;
    }
    this.#pending.shift();
    if (error !== '' || stored === '') first.stored.reject(new Error(error || 'the server has not kept it'));
    else first.stored.resolve(stored);
    this.#send();
  }

  #send(): void {
    const [first] = this.#pending;
    const frames = this.#frames;
    if (!first || !frames) return;
    if (first.bytes.length > this.#bytesMax) {
      this.#pending.shift();
      first.stored.reject(new Error(`this server takes results of up to ${this.#bytesMax} bytes`));
      this.#send();
      return;
    }
    this.#sequence = this.#nextSequence();
    const { leaseId, position, epoch } = first.run;
    const bytes = first.bytes.subarray(first.offset, first.offset + RESULT_PART_BYTES_MAX);
    const part = create(ResultPartSchema, {
      ...{ sequence: this.#sequence, leaseId, position, epoch, offset: BigInt(first.offset), bytes },
      bytesTotal: BigInt(first.bytes.length),
    });
    frames.put(URGENCY.output, RUN_BYTES + bytes.length, (frame) => frame.resultParts.push(part));
  }
}
