/**
 * Saves the checkpoints of runs: those that come together share one statement. A save is answered when it is durable. While the
 * storage does not answer it is repeated, for a slow database is no reason for a run to fail; a run that lost its worker meanwhile is told so.
 */
import { RUN_ERRORS } from '@carillon/domain';
import {
  BatchBuffer,
  type Clock,
  LastingCondition,
  type Log,
  type Random,
  sleep,
} from '@carillon/foundation';
import { HandlerError, type HeldRun, requireCheckpoint } from '@carillon/worker';
import { applyInBatches } from '../storage/apply-in-batches.ts';
import type { RunStateStore, SavedCheckpoint } from '../storage/run-state-store.ts';
import { StorageTimeout, StorageUnavailable } from '../storage/storage.ts';

export interface CheckpointSaverOptions {
  readonly store: RunStateStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** How long a save is repeated. A run that its worker has to stop meanwhile does not wait for it. */
  readonly patienceMs: number;
}

/** Of one statement: 8 MiB at most. */
const BATCH_MAX = 32;
const FLUSHES_MAX = 2;
/** More waiting than this are refused: far more than a worker has slots. */
const CAPACITY = 10_000;
const RETRY_MS_MIN = 100;
const RETRY_MS_MAX = 2_000;

type Answer = 'saved' | 'not_held' | 'not_stored' | 'refused';

export class CheckpointSaver {
  readonly #options: CheckpointSaverOptions;
  readonly #buffer: BatchBuffer<SavedCheckpoint, Answer>;
  readonly #away: LastingCondition;
  /** Per run, the save under way: saves of one run follow each other, or an earlier one could overwrite a later. */
  readonly #last = new Map<string, Promise<Answer>>();
  /** Of runs in this process, which are nowhere else at their epochs. */
  #sequence = 0;

  constructor(options: CheckpointSaverOptions) {
    this.#options = options;
    this.#away = new LastingCondition(options);
    this.#buffer = new BatchBuffer({
      flush: (batch) => this.#write(batch),
      batchMax: BATCH_MAX,
      flushesMax: FLUSHES_MAX,
      capacity: CAPACITY,
      onFull: () => new HandlerError('Too many checkpoints wait to be saved; this one was not.'),
    });
  }

  /** JSON text. sequence: as the worker has numbered it. */
  async save(run: HeldRun, value: string, sequence = this.#next()): Promise<void> {
    const { leaseId, position, epoch } = run;
    const saved = { leaseId, position, epoch, sequence, data: checked(value) };
    const key = `${leaseId}/${position}`;
    const before = this.#last.get(key);
    const answer =
      before === undefined
        ? this.#repeated(saved)
        : before.catch(() => undefined).then(() => this.#repeated(saved));
    this.#last.set(key, answer);
    try {
      const verdict = await answer;
      if (verdict === 'not_held') throw new HandlerError(RUN_ERRORS.takenBack());
      if (verdict === 'not_stored')
        throw new HandlerError('The checkpoint could not be saved: the database did not answer in time.');
      if (verdict === 'refused')
        throw new HandlerError('The checkpoint could not be saved: the database refuses it.');
    } finally {
      if (this.#last.get(key) === answer) this.#last.delete(key);
    }
  }

  /** For tests: runs with a save under way. */
  get savingCount(): number {
    return this.#last.size;
  }

  #next(): number {
    this.#sequence += 1;
    return this.#sequence;
  }

  /** Between two tries it is in no batch: one that has to wait for a lock holds up no others. */
  async #repeated(saved: SavedCheckpoint): Promise<Answer> {
    const { clock, random, patienceMs } = this.#options;
    const until = clock.monotonic() + patienceMs;
    for (let pauseMs = RETRY_MS_MIN; ; pauseMs = Math.min(pauseMs * 2, RETRY_MS_MAX)) {
      const answer = await this.#buffer.add(saved);
      if (answer !== 'not_stored' || clock.monotonic() + pauseMs >= until) return answer;
      await sleep(clock, pauseMs * (0.5 + random.next()));
    }
  }

  /** Runs of unrelated workers share a statement: what the storage refuses is refused alone. */
  async #write(batch: readonly SavedCheckpoint[]): Promise<Answer[]> {
    const { store, clock, log } = this.#options;
    let fault: unknown;
    let refused:
      | (Pick<SavedCheckpoint, 'leaseId' | 'position'> & { err: unknown; checkpoints: number })
      | undefined;
    const answers = await applyInBatches<SavedCheckpoint, Answer>(batch, {
      apply: async (part) => {
        const held = await store.saveCheckpoints(part, clock.now());
        return held.map((isHeld) => (isHeld ? 'saved' : 'not_held'));
      },
      fail: (error, { leaseId, position }) => {
        if (error instanceof StorageUnavailable || error instanceof StorageTimeout) {
          fault = error;
          return 'not_stored';
        }
        refused = { err: error, checkpoints: (refused?.checkpoints ?? 0) + 1, leaseId, position };
        return 'refused';
      },
      timeoutsMax: 1,
    });
    if (refused) log.warn(refused, 'the storage refuses checkpoints');
    if (fault === undefined) this.#away.end();
    else if (this.#away.notice())
      log.warn({ err: fault, checkpoints: batch.length }, 'checkpoints cannot be saved; trying again');
    return [...answers];
  }
}

/** JSON without line breaks: between its tokens they mean no more than spaces, and within strings they are escaped. */
function checked(value: string): string {
  requireCheckpoint(value);
  return value.replaceAll(/[\r\n]/g, ' ');
}
