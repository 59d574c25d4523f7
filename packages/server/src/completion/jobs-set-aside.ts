/**
 * Jobs that somebody holds locked (hazard 47). Outcomes that may have to wait for one of them are kept apart from the rest for a
 * while: each would make all that share its transaction wait as well. Best effort: outcomes are safe in either lane.
 */
import type { JobId } from '@carillon/domain';
import type { Clock } from '@carillon/foundation';

/** From the last time it was found locked; longer than the pause before outcomes are tried again. */
const ASIDE_MS = 5_000;

export class JobsSetAside {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #until = new Map<JobId, number>();
  /** The latest of them. */
  #untilLast = 0;

  constructor({ clock }: { clock: Pick<Clock, 'monotonic'> }) {
    this.#clock = clock;
  }

  /** Answers how many of them were not set aside before. */
  add(jobIds: readonly JobId[]): number {
    this.#prune();
    const before = this.#until.size;
    const until = this.#clock.monotonic() + ASIDE_MS;
    for (const jobId of jobIds) this.#until.set(jobId, until);
    this.#untilLast = until;
    return this.#until.size - before;
  }

  /** Nearly always; then nobody has to be looked up. */
  get isEmpty(): boolean {
    if (this.#until.size > 0 && this.#untilLast <= this.#clock.monotonic()) this.#until.clear();
    return this.#until.size === 0;
  }

  has(jobId: JobId): boolean {
    const until = this.#until.get(jobId);
    return until !== undefined && until > this.#clock.monotonic();
  }

  #prune(): void {
    const now = this.#clock.monotonic();
    for (const [jobId, until] of this.#until) if (until <= now) this.#until.delete(jobId);
  }
}
