/** Verdicts over ends that a worker has told, on their way to it: those of one turn share a frame, in columns. */
import { create } from '@bufbuild/protobuf';
import type { LeaseId } from '@carillon/domain';
import { protocol as P, type ReportVerdict } from '@carillon/worker';

export class SettledAnswers {
  readonly #frames: P.FrameQueue<P.SessionResponse>;
  #settled = new Map<LeaseId, P.Settled>();
  #count = 0;

  constructor(frames: P.FrameQueue<P.SessionResponse>) {
    this.#frames = frames;
  }

  /** Those that no frame has taken yet. */
  get waiting(): number {
    return this.#count;
  }

  tell(leaseId: LeaseId, position: number, verdict: ReportVerdict): void {
    if (this.#settled.size === 0) {
      this.#frames.put(P.URGENCY.ends, 0, (frame) => {
        frame.settled.push(...this.#settled.values());
        this.#settled = new Map();
        this.#count = 0;
      });
    }
    let settled = this.#settled.get(leaseId);
    if (!settled) {
      settled = create(P.SettledSchema, { leaseId });
      this.#settled.set(leaseId, settled);
    }
    settled.positions.push(position);
    settled.verdicts.push(P.VERDICTS[verdict]);
    this.#count += 1;
  }
}
