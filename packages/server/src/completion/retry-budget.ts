/**
 * How many failed runs this server tries again per second, over all jobs (hazard 17). When something many jobs depend on
 * breaks, their retries spread over the seconds to come instead of multiplying the load. Nothing is dropped: a retry that
 * finds its second full takes a later one. A budget of none is the kill switch: failures become dead letters at once.
 */
import type { Clock } from '@carillon/foundation';

export class RetryBudget {
  readonly #perSecond: number;
  readonly #clock: Pick<Clock, 'now'>;
  /** Retries planned, by second. */
  readonly #planned = new Map<number, number>();
  /** From a full second to one that was free when last looked at: a storm must not walk the same full seconds each time. */
  readonly #skipTo = new Map<number, number>();
  #prunedAt = 0;

  constructor({ perSecond, clock }: { perSecond: number; clock: Pick<Clock, 'now'> }) {
    this.#perSecond = perSecond;
    this.#clock = clock;
  }

  get isStopped(): boolean {
    return this.#perSecond === 0;
  }

  /** Takes a place in the budget; answers the instant for a retry that is wanted at atMs. */
  plan(atMs: number): number {
    this.#prune();
    const wanted = Math.floor(atMs / 1_000);
    const second = this.#freeFrom(wanted);
    this.#planned.set(second, (this.#planned.get(second) ?? 0) + 1);
    return second === wanted ? atMs : second * 1_000 + (atMs % 1_000);
  }

  #freeFrom(wanted: number): number {
    const walked: number[] = [];
    let second = wanted;
    while ((this.#planned.get(second) ?? 0) >= this.#perSecond) {
      walked.push(second);
      second = this.#skipTo.get(second) ?? second + 1;
    }
    for (const full of walked) this.#skipTo.set(full, second);
    return second;
  }

  #prune(): void {
    const now = Math.floor(this.#clock.now() / 1_000);
    if (now === this.#prunedAt) return;
    this.#prunedAt = now;
    for (const map of [this.#planned, this.#skipTo])
      for (const second of map.keys()) if (second < now) map.delete(second);
  }
}
