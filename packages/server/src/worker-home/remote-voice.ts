/**
 * What runs at the end of a stream say, on its way to whoever keeps it. Only what the worker holds may speak; output is taken as fast
 * as it is kept, and the worker sends no more than the window before it is.
 */
import { create } from '@bufbuild/protobuf';
import { type RunOutcome, readStoredResult } from '@carillon/domain';
import type { Clock, Log } from '@carillon/foundation';
import {
  type HeldRun,
  type OutputStream,
  protocol as P,
  readProgress,
  withoutResult,
} from '@carillon/worker';
import type { HomeChannel } from '../run-results/stored-results.ts';
import { ProtocolBroken } from './frame-bounds.ts';
import { type RemoteLeases, within } from './remote-leases.ts';

export interface RemoteVoiceOptions {
  readonly channel: HomeChannel;
  readonly leases: RemoteLeases;
  readonly frames: P.FrameQueue<P.SessionResponse>;
  /** Throws when too many answers wait for the worker. */
  readonly requireRead: () => void;
  readonly clock: Clock;
  readonly log: Log;
}

/** How many bytes of output may be on their way. */
export const OUTPUT_WINDOW = 256 * 1_024;
/** Checkpoints of one stream that are on their way to the storage, which all streams share. */
const SAVING_MAX = 16;
const NOT_HELD = 'The run is not this worker’s any more.';

export class RemoteVoice {
  readonly #options: RemoteVoiceOptions;
  /** Sent by the worker and not taken yet. */
  #outstanding = 0;
  #taken = 0;
  readonly #saving = new Set<Promise<void>>();

  constructor(options: RemoteVoiceOptions) {
    this.#options = options;
  }

  /** Resolves when the next message may be read. */
  async hear({ outputs, progress, checkpoints, resultParts }: P.SessionRequest): Promise<void> {
    for (const output of outputs) this.#output(output);
    for (const each of progress) this.#progress(each);
    for (const checkpoint of checkpoints) await this.#start(() => this.#save(checkpoint));
    for (const part of resultParts) await this.#start(() => this.#savePart(part));
  }

  /** Resolves when it is under way. */
  async #start(save: () => Promise<void>): Promise<void> {
    this.#options.requireRead();
    while (this.#saving.size >= SAVING_MAX) await Promise.race(this.#saving);
    const saving = save().then(() => void this.#saving.delete(saving));
    this.#saving.add(saving);
  }

  #output(output: P.Output): void {
    const { stream, atMs, bytes } = output;
    const { leases } = this.#options;
    this.#outstanding += bytes.length;
    // One write may go over the window: the worker does not split what a handler wrote at once.
    if (this.#outstanding > OUTPUT_WINDOW + P.FRAME_BYTES_MAX)
      throw new ProtocolBroken('more output was sent than was taken');
    const run = leases.speaks(output);
    const kept = run && this.#keep(run, { stream: P.streamOf(stream), atMs, bytes });
    if (kept === undefined) this.#take(bytes.length);
    else void kept.then(() => this.#take(bytes.length));
  }

  #keep(
    run: HeldRun,
    { stream, atMs, bytes }: { stream: OutputStream; atMs: bigint; bytes: Uint8Array },
  ): Promise<void> | undefined {
    const { channel, leases, clock } = this.#options;
    const mask = leases.maskOf(run);
    const shown = mask ? mask.output(stream, bytes) : bytes;
    if (!shown) return undefined;
    const told = within(atMs, { fromMs: run.claimedAtMs, nowMs: clock.now() });
    return channel.output(run, { stream, atMs: told, bytes: shown });
  }

  /** The run has ended like this. Undefined: there is nothing to wait for. */
  close(run: HeldRun, kind: RunOutcome['kind']): Promise<void> | undefined {
    const { channel, leases, clock } = this.#options;
    const isCut = kind !== 'SUCCESS' && kind !== 'FAILED';
    for (const rest of leases.maskOf(run)?.rest({ isCut }) ?? [])
      void channel.output(run, { ...rest, atMs: clock.now() });
    return channel.close(run);
  }

  /** As the worker told it. A result that says it is stored counts where it was taken: GET of it would fail otherwise. */
  withResultTaken(run: HeldRun, outcome: RunOutcome): RunOutcome {
    const stored = 'result' in outcome ? readStoredResult(outcome.result) : undefined;
    if (!stored || this.#options.channel.results?.isTaken(run, stored)) return outcome;
    return withoutResult(outcome, 'it says that it is stored ($stored), and no server has taken it');
  }

  /** Its end is recorded with this outcome. */
  settled(run: Pick<HeldRun, 'runId' | 'epoch'>, outcome: RunOutcome): void {
    this.#options.channel.results?.settled(run, outcome).catch((error: unknown) => {
      // It is removed with the logs of its day.
      this.#options.log.debug({ err: error }, 'a result that no outcome names could not be dropped');
    });
  }

  #take(bytes: number): void {
    if (this.#taken === 0) {
      this.#options.frames.put(P.URGENCY.work, 0, (frame) => {
        frame.outputsTaken.push(create(P.OutputTakenSchema, { bytes: BigInt(this.#taken) }));
        this.#taken = 0;
      });
    }
    this.#taken += bytes;
    this.#outstanding -= bytes;
  }

  #progress(told: P.RunProgress): void {
    const run = this.#options.leases.speaks(told);
    if (!run) return;
    try {
      const progress = readProgress(told);
      if (!progress) return;
      const message = this.#options.leases.maskOf(run)?.text(told.message) ?? told.message;
      this.#options.channel.progress(run, { ...progress, message: message || undefined });
    } catch (error) {
      this.#note(run, (error as Error).message);
    }
  }

  /** Progress is not answered: what is refused is said in the log of the run. */
  #note(run: HeldRun, text: string): void {
    const { channel, clock } = this.#options;
    void channel.output(run, { stream: 'system', atMs: clock.now(), bytes: Buffer.from(`${text}\n`) });
  }

  async #save(checkpoint: P.Checkpoint): Promise<void> {
    const { sequence } = checkpoint;
    const error = await this.#saved(checkpoint).catch((failure: unknown) => {
      this.#options.log.debug({ err: failure }, 'a checkpoint could not be saved');
      return failure instanceof Error ? failure.message : String(failure);
    });
    const answer = create(P.CheckpointAnswerSchema, { sequence, error: error ?? '' });
    this.#options.frames.put(P.URGENCY.work, error?.length ?? 0, (frame) =>
      frame.checkpointAnswers.push(answer),
    );
  }

  /** Masked by the worker: a part may hold half a secret. */
  async #savePart(part: P.ResultPart): Promise<void> {
    const { sequence, bytes } = part;
    const run = this.#options.leases.speaks(part);
    const { channel, frames, log } = this.#options;
    let [error, stored]: [string, string | undefined] = ['', undefined];
    try {
      if (!run) throw new Error(NOT_HELD);
      const [offset, bytesTotal] = [Number(part.offset), Number(part.bytesTotal)];
      if (part.artifacts) {
        if (!channel.artifacts) throw new Error('this server takes no files');
        await channel.artifacts.savePart(run, { offset, bytes, isLast: part.artifacts.last });
      } else stored = await channel.results?.savePart(run, { offset, bytes, bytesTotal });
    } catch (failure) {
      log.debug({ err: failure }, 'a part of a result or of files could not be kept');
      error = failure instanceof Error ? failure.message : String(failure);
    }
    const answer = create(P.ResultPartAnswerSchema, { sequence, error, stored: stored ?? '' });
    frames.put(P.URGENCY.work, error.length, (frame) => frame.resultPartAnswers.push(answer));
  }

  async #saved(checkpoint: P.Checkpoint): Promise<string | undefined> {
    const { value, sequence } = checkpoint;
    const run = this.#options.leases.speaks(checkpoint);
    if (!run) return NOT_HELD;
    await this.#options.channel.saveCheckpoint(run, value, sequence);
    return undefined;
  }
}
