/**
 * The beats of one stream on their way to the storage: one is recorded at a time, and not more often than a worker has reason to beat.
 * A newer one replaces the one that waits, and its answer counts for both. Whoever beats faster than that is read no faster.
 */
import { create } from '@bufbuild/protobuf';
import { type Clock, type Log, sleep } from '@carillon/foundation';
import { protocol as P } from '@carillon/worker';
import type { GroupedBeats } from './grouped-beats.ts';
import type { RemoteWorker } from './remote-worker.ts';

export interface SessionBeatsOptions {
  readonly worker: RemoteWorker;
  readonly beats: Pick<GroupedBeats, 'beat'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Between two that are recorded. */
  readonly gapMs: number;
  /** The stream has ended. */
  readonly signal: AbortSignal;
}

export class SessionBeats {
  readonly #options: SessionBeatsOptions;
  #waiting: P.Beat | undefined;
  /** Records the one that is under way. */
  #turn: Promise<void> | undefined;
  #isFailing = false;

  constructor(options: SessionBeatsOptions) {
    this.#options = options;
  }

  /** Resolves when the next message may be read. */
  async hear(beat: P.Beat): Promise<void> {
    const isFull = this.#waiting !== undefined;
    this.#waiting = beat;
    if (this.#turn === undefined) void this.#recordAll();
    else if (isFull) await this.#turn;
  }

  async #recordAll(): Promise<void> {
    const { clock, gapMs, signal } = this.#options;
    while (this.#waiting && !signal.aborted) {
      const beat = this.#waiting;
      this.#waiting = undefined;
      this.#turn = this.#record(beat).then(() => sleep(clock, gapMs, signal));
      await this.#turn;
    }
    this.#turn = undefined;
  }

  /** Answered only once the storage has it. A storage that does not answer costs the worker its trust. */
  async #record({ sequence, heldLeases, stuck }: P.Beat): Promise<void> {
    const { worker, beats, log } = this.#options;
    const { workerId, session } = worker;
    try {
      const { alive: isAlive, draining } = await beats.beat(workerId, { stuck, session });
      if (isAlive) worker.drain(draining);
      else worker.takeNoMore();
      const unknownLeases = isAlive ? await worker.beaten(heldLeases) : [...heldLeases];
      worker.frames.put(P.URGENCY.life, 40 * unknownLeases.length, (frame) => {
        const buried = !isAlive;
        frame.beatAnswer = create(P.BeatAnswerSchema, { sequence, unknownLeases, buried, draining });
      });
      this.#isFailing = false;
    } catch (error) {
      // Once, until it works again.
      if (!this.#isFailing) log.warn({ err: error, workerId }, 'the beat of a worker could not be recorded');
      this.#isFailing = true;
    }
  }
}
