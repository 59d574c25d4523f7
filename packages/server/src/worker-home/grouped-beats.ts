/**
 * The beats of all streams of a server on their way to the storage. Those that come within a moment are recorded by one statement, so
 * that many workers cost as many statements as few. The promises are those of a single beat: each is answered only once the storage
 * has it, and a worker whose row somebody else holds is waited for by itself, and holds up no other.
 */
import type { WorkerId } from '@carillon/domain';
import type { Clock } from '@carillon/foundation';
import type { MemberStore, SaidByBeat, WorkerBeaten } from '../storage/member-store.ts';

export interface GroupedBeatsOptions {
  readonly members: Pick<MemberStore, 'beatWorker' | 'beatWorkers'>;
  readonly clock: Clock;
}

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
    const { members, clock } = this.#options;
    const group = this.#waiting;
    this.#waiting = new Map();
    const beats = Array.from(group, ([workerId, { said }]) => ({ workerId, ...said }));
    try {
      const beaten = beats.length > 1 ? await members.beatWorkers(beats, clock.now()) : new Map();
      for (const [workerId, { said, resolve, reject }] of group) {
        const answer = beaten.get(workerId);
        if (answer) resolve(answer);
        else this.#beatAlone(workerId, said).then(resolve, reject);
      }
    } catch (error) {
      for (const { reject } of group.values()) reject(error);
    }
  }

  #beatAlone(workerId: WorkerId, said: SaidByBeat): Promise<WorkerBeaten> {
    const { members, clock } = this.#options;
    return members.beatWorker(workerId, clock.now(), said);
  }
}
