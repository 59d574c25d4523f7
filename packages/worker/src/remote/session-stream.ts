/** One stream to a server: what waits to be sent, and whose answers are awaited. When it breaks, everything that waits fails with it. */
import { create } from '@bufbuild/protobuf';
import {
  type BeatAnswer,
  endedOf,
  FrameQueue,
  type SessionRequest,
  SessionRequestSchema,
  type Settled,
  URGENCY,
  verdictOf,
  type Welcome,
} from '../protocol/index.ts';
import type { ReportAnswer, RunReport } from '../runtime/worker-home.ts';

/** Reports that were told together: one promise for all of them. */
interface ToldGroup {
  readonly answers: ReportAnswer[];
  left: number;
  readonly settled: PromiseWithResolvers<readonly ReportAnswer[]>;
}

type BeatAnswered = PromiseWithResolvers<BeatAnswer>;

export class StreamBroken extends Error {
  override readonly name = 'StreamBroken';
}

export class SessionStream {
  readonly frames = new FrameQueue<SessionRequest>(() => create(SessionRequestSchema));
  readonly welcome = Promise.withResolvers<Welcome>();
  /** Resolves when the server has ended its side. */
  readonly ended = Promise.withResolvers<void>();
  readonly #aborter = new AbortController();
  readonly #told = new Map<string, Map<number, { group: ToldGroup; index: number }>>();
  #beat: { readonly sequence: number; readonly answered: BeatAnswered } | undefined;
  #sequence = 0;
  /** Runs that were accepted on this stream. */
  accepted = 0;
  isChangeQueued = false;
  isWelcome = false;

  constructor() {
    this.welcome.promise.catch(() => undefined);
  }

  get signal(): AbortSignal {
    return this.#aborter.signal;
  }

  beat(heldLeases: readonly string[], stuck: number): Promise<BeatAnswer> {
    this.#sequence += 1;
    const sequence = this.#sequence;
    const answered: BeatAnswered = Promise.withResolvers();
    this.#beat = { sequence, answered };
    this.frames.put(URGENCY.life, 40 * heldLeases.length, (frame) => {
      frame.beat = { $typeName: 'carillon.worker.v1.Beat', sequence, heldLeases: [...heldLeases], stuck };
    });
    return answered.promise;
  }

  beaten(answer: BeatAnswer): void {
    const { sequence, buried } = answer;
    if (this.#beat && (buried || this.#beat.sequence === sequence)) this.#beat.answered.resolve(answer);
  }

  tell(reports: readonly RunReport[]): Promise<readonly ReportAnswer[]> {
    const settled = Promise.withResolvers<readonly ReportAnswer[]>();
    const group: ToldGroup = { answers: new Array(reports.length), left: reports.length, settled };
    const messages = endedOf(reports, (index, error) => {
      group.answers[index] = error;
      group.left -= 1;
    });
    if (group.left === 0) settled.resolve(group.answers);
    for (const [index, { run }] of reports.entries()) {
      if (group.answers[index] !== undefined) continue;
      let ofLease = this.#told.get(run.leaseId);
      if (!ofLease) {
        ofLease = new Map();
        this.#told.set(run.leaseId, ofLease);
      }
      ofLease.set(run.position, { group, index });
    }
    for (const { message, bytes } of messages)
      this.frames.put(URGENCY.ends, bytes, (frame) => frame.ended.push(message));
    return settled.promise;
  }

  settled({ leaseId, positions, verdicts }: Settled): void {
    const ofLease = this.#told.get(leaseId);
    if (!ofLease) return;
    for (const [i, position] of positions.entries()) {
      const told = ofLease.get(position);
      if (!told) continue;
      ofLease.delete(position);
      const { group, index } = told;
      group.answers[index] = verdictOf(verdicts[i]);
      group.left -= 1;
      if (group.left === 0) group.settled.resolve(group.answers);
    }
    if (ofLease.size === 0) this.#told.delete(leaseId);
  }

  /** Everything that waits for an answer fails. */
  break(error: Error): void {
    this.frames.end();
    this.#aborter.abort(error);
    this.welcome.reject(error);
    this.#beat?.answered.reject(error);
    this.#beat?.answered.promise.catch(() => undefined);
    const groups = new Set(
      [...this.#told.values()].flatMap((runs) => [...runs.values()].map((told) => told.group)),
    );
    this.#told.clear();
    for (const group of groups) {
      for (let i = 0; i < group.answers.length; i += 1) group.answers[i] ??= error;
      group.settled.resolve(group.answers);
    }
  }
}
