/** Notices when claims are sent and none is answered, whether they hang or break off. */
import type { Clock } from '@carillon/foundation';

/** A claim of nothing is sent no more often than this. */
const PROBE_MS = 1_000;

export class ClaimWatch {
  readonly #clock: Pick<Clock, 'monotonic'>;
  #underWay = 0;
  /** When the first was sent of those after the last answer. */
  #since: number | undefined;
  #probeAt = 0;

  constructor({ clock }: { readonly clock: Pick<Clock, 'monotonic'> }) {
    this.#clock = clock;
  }

  get unansweredMs(): number {
    return this.#since === undefined ? 0 : this.#clock.monotonic() - this.#since;
  }

  /** Answers what the claim does. */
  async follow<Answer>(claim: Promise<Answer>): Promise<Answer> {
    this.#underWay += 1;
    this.#since ??= this.#clock.monotonic();
    try {
      const answer = await claim;
      this.#since = this.#underWay > 1 ? this.#clock.monotonic() : undefined;
      return answer;
    } finally {
      this.#underWay -= 1;
    }
  }

  /** Whether to send a claim of nothing: when there is a doubt, or the last claims were not answered. */
  mayProbe(isInDoubt: boolean): boolean {
    const now = this.#clock.monotonic();
    if (now < this.#probeAt || !(isInDoubt || this.#since !== undefined)) return false;
    this.#probeAt = now + PROBE_MS;
    return true;
  }
}
