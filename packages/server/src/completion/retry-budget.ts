/**
 * How many failed runs this server tries again per second (hazard 17). When something many jobs depend on breaks, their
 * retries spread over the seconds to come instead of multiplying the load. Nothing is dropped: a retry that finds its second
 * full takes a later one. A budget of none is the kill switch: failures become dead letters at once.
 *
 * The budget is shared between tenants (hazard 45). In each second a tenant may plan as many retries as are still free of
 * twice the budget. So one tenant alone gets the budget and no more; those who come later find half of what the others left,
 * and who wants little keeps its instant behind the storms of many (about log2 of the budget). All together never get more
 * than twice the budget. What is planned is not moved: it has been written down already.
 */
import type { Clock } from '@carillon/foundation';

const CAPACITY_PER_BUDGET = 2;

/** Once full it stays so until it has passed: planned retries are never taken back. */
interface Second {
  planned: number;
  /** Set when it is full for everybody: a later second that was not, when last looked at. */
  skipTo: number | undefined;
  readonly shares: Map<string, Share>;
}

/** What one tenant has planned in a second: one retry at least, so there are never more shares than planned retries. */
interface Share {
  planned: number;
  /** Set when it is full for this tenant. A storm must not walk the same full seconds each time. */
  skipTo: number | undefined;
}

export class RetryBudget {
  readonly #perSecond: number;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #seconds = new Map<number, Second>();
  #prunedAt = 0;

  constructor({ perSecond, clock }: { perSecond: number; clock: Pick<Clock, 'now'> }) {
    this.#perSecond = perSecond;
    this.#clock = clock;
  }

  get isStopped(): boolean {
    return this.#perSecond === 0;
  }

  /** For tests: shares of tenants that are remembered. */
  get size(): number {
    let size = 0;
    for (const { shares } of this.#seconds.values()) size += shares.size;
    return size;
  }

  /** Takes a place in the budget; answers the instant for a retry of this tenant that is wanted at atMs. */
  plan(tenant: string, atMs: number): number {
    this.#prune();
    const wanted = Math.floor(atMs / 1_000);
    const second = this.#freeFrom(wanted, tenant);
    this.#take(second, tenant);
    return second === wanted ? atMs : second * 1_000 + (atMs % 1_000);
  }

  #take(at: number, tenant: string): void {
    let second = this.#seconds.get(at);
    if (!second) {
      second = { planned: 0, skipTo: undefined, shares: new Map() };
      this.#seconds.set(at, second);
    }
    second.planned += 1;
    const share = second.shares.get(tenant);
    if (share) share.planned += 1;
    else second.shares.set(tenant, { planned: 1, skipTo: undefined });
  }

  #freeFrom(wanted: number, tenant: string): number {
    const walked: Share[] = [];
    let at = this.#notFullFrom(wanted);
    for (;;) {
      const second = this.#seconds.get(at);
      const share = second?.shares.get(tenant);
      if (!second || !share || share.planned < this.#leftIn(second)) break;
      walked.push(share);
      at = this.#notFullFrom(share.skipTo ?? at + 1);
    }
    for (const share of walked) share.skipTo = at;
    return at;
  }

  /** The first second from there on that is not full for everybody. */
  #notFullFrom(wanted: number): number {
    const walked: Second[] = [];
    let at = wanted;
    for (;;) {
      const second = this.#seconds.get(at);
      if (!second || this.#leftIn(second) > 0) break;
      walked.push(second);
      at = second.skipTo ?? at + 1;
    }
    for (const second of walked) second.skipTo = at;
    return at;
  }

  #leftIn({ planned }: Second): number {
    return this.#perSecond * CAPACITY_PER_BUDGET - planned;
  }

  #prune(): void {
    const now = Math.floor(this.#clock.now() / 1_000);
    if (now === this.#prunedAt) return;
    this.#prunedAt = now;
    for (const second of this.#seconds.keys()) if (second < now) this.#seconds.delete(second);
  }
}
