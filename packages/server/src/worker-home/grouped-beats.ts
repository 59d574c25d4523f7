/**
 * The beats of all streams of a server on their way to the storage. Those that come within a moment are recorded by one statement, so
 * that many workers cost as many statements as few. The promises are those of a single beat: each is answered only once the storage
 * has it; a worker whose row somebody else holds is waited for by itself, and holds up no other; and one whose beat cannot be recorded
 * fails alone.
 */
import type { WorkerId } from '@carillon/domain';
import type { Clock } from '@carillon/foundation';
import { applyInBatches } from '../storage/apply-in-batches.ts';
import type { MemberStore, SaidByBeat, WorkerBeaten } from '../storage/member-store.ts';

export interface GroupedBeatsOptions {
  readonly members: Pick<MemberStore, 'beatWorker' | 'beatWorkers'>;
  readonly clock: Clock;
}

type Entry = readonly [WorkerId, Waiting];

interface Waiting {
  readonly said: SaidByBeat;
  readonly resolve: (beaten: WorkerBeaten) => void;
  readonly reject: (error: unknown) => void;
}

/** Far less than the time between two beats of a worker, which its trust outlasts several times. */
const GROUP_MS = 20;

export class GroupedBeats {
  readonly #options: GroupedBeatsOptions;
  #waiting = new Map<WorkerId, Waiting>();

  constructor(options: GroupedBeatsOptions) {
    this.#options = options;
  }

  beat(workerId: WorkerId, said: SaidByBeat): Promise<WorkerBeaten> {
    // Two streams of one worker: only one of them can be in a statement.
    if (this.#waiting.has(workerId)) return this.#beatAlone(workerId, said);
    return new Promise((resolve, reject) => {
      if (this.#waiting.size === 0) this.#options.clock.timer(GROUP_MS, () => void this.#record());
      this.#waiting.set(workerId, { said, resolve, reject });
    });
  }

  async #record(): Promise<void> {
    const group = [...this.#waiting];
    this.#waiting = new Map();
    if (group.length === 1) this.#recordAlone(group[0]!);
    else
      await applyInBatches<Entry, boolean>(group, {
        apply: (batch) => this.#recordTogether(batch),
        fail: (error, [, { reject }]) => {
          reject(error);
          return false;
        },
        // The statement waits for no row: if it takes too long, so would others.
        timeoutsMax: 1,
      });
  }

  async #recordTogether(batch: readonly Entry[]): Promise<boolean[]> {
    const { members, clock } = this.#options;
    const beats = batch.map(([workerId, { said }]) => ({ workerId, ...said }));
    const beaten = await members.beatWorkers(beats, clock.now());
    return batch.map((entry) => {
      const answer = beaten.get(entry[0]);
      if (answer) entry[1].resolve(answer);
      else this.#recordAlone(entry);
      return true;
    });
  }

  #recordAlone([workerId, { said, resolve, reject }]: Entry): void {
    this.#beatAlone(workerId, said).then(resolve, reject);
  }

  #beatAlone(workerId: WorkerId, said: SaidByBeat): Promise<WorkerBeaten> {
    const { members, clock } = this.#options;
    return members.beatWorker(workerId, clock.now(), said);
  }
}
