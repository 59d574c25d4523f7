/**
 * How many failed runs this server tries again per second (hazard 17). When something many jobs depend on breaks, their
 * retries spread over the seconds to come instead of multiplying the load. Nothing is dropped: a retry that finds its second
 * full takes a later one. A budget of none is the kill switch: failures become dead letters at once.
 *
 * The budget is shared between namespaces, and in a namespace between its users (hazard 45). In each second a namespace may plan
 * as many retries as are still free of four times the budget, and a user as many as its namespace still may. So one user alone
 * gets the budget and no more, all users of a namespace never more than twice the budget, and all namespaces never more than four
 * times; those who come later find a part of what the others left, and who wants little keeps its instant behind the storms of
 * many (at least log2 of the budget). What is planned is not moved: it has been written down already.
 */
import type { Clock } from '@carillon/foundation';
import { namespaceOf } from '../storage/lane.ts';

const CAPACITY_PER_BUDGET = 4;

/** Shares of users, about 100 bytes each. Where there are more, users of a namespace have shares in groups. */
const USER_SHARES_MAX = 100_000;
const USER_GROUPS = 64;

/** What was planned in a second: by all, by a namespace or by a user. */
interface Share {
  planned: number;
  /** Set when it is full: a later second that was not, when last looked at. A storm must not walk the same full seconds each time. */
  skipTo: number | undefined;
  /** Of namespaces, or of users. None once it is full: it stays so, planned retries are never taken back. */
  parts: Map<number, Share> | undefined;
}

/** A namespace, and a tenant of it or a group of them. */
type Path = readonly [number, number];

export class RetryBudget {
  /** Of a second. */
  readonly #capacity: number;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #seconds = new Map<number, Share>();
  #prunedAt = 0;
  #userShares = 0;

  constructor({ perSecond, clock }: { perSecond: number; clock: Pick<Clock, 'now'> }) {
    this.#capacity = perSecond * CAPACITY_PER_BUDGET;
    this.#clock = clock;
  }

  get isStopped(): boolean {
    return this.#capacity === 0;
  }

  /** For tests: shares of namespaces and users that are remembered. */
  get size(): number {
    const partsOf = ({ parts }: Share): Share[] => [...(parts?.values() ?? [])];
    const namespaces = [...this.#seconds.values()].flatMap(partsOf);
    return namespaces.length + namespaces.flatMap(partsOf).length;
  }

  /** Charges the budget, and returns the instant for a retry of this tenant that is wanted at atMs. */
  plan(tenant: number, atMs: number): number {
    this.#prune();
    const wanted = Math.floor(atMs / 1_000);
    const user = this.#userShares < USER_SHARES_MAX ? tenant : tenant % USER_GROUPS;
    const path: Path = [namespaceOf(tenant), user];
    const second = this.#freeFrom(wanted, path, path.length);
    this.#take(second, path);
    return second === wanted ? atMs : second * 1_000 + (atMs % 1_000);
  }

  #take(at: number, path: Path): void {
    let share = made(this.#seconds, at);
    share.planned += 1;
    let room = this.#capacity - share.planned;
    for (const [depth, key] of path.entries()) {
      if (room <= 0) {
        this.#userShares -= userSharesIn(share, depth);
        share.parts = undefined;
        return;
      }
      share.parts ??= new Map();
      share = made(share.parts, key);
      share.planned += 1;
      room = roomOf(share, room);
    }
    if (share.planned === 1) this.#userShares += 1;
  }

  /** The first second from there on in which nobody is full, from all down to this depth of the path. */
  #freeFrom(wanted: number, path: Path, depth: number): number {
    let at = depth === 0 ? wanted : this.#freeFrom(wanted, path, depth - 1);
    const walked: Share[] = [];
    for (let full = this.#fullAt(at, path, depth); full; full = this.#fullAt(at, path, depth)) {
      walked.push(full);
      const next = full.skipTo ?? at + 1;
      at = depth === 0 ? next : this.#freeFrom(next, path, depth - 1);
    }
    for (const share of walked) share.skipTo = at;
    return at;
  }

  /** The share at this depth of the path, if it is full in that second. */
  #fullAt(at: number, path: Path, depth: number): Share | undefined {
    let share = this.#seconds.get(at);
    let room = this.#capacity - (share?.planned ?? 0);
    for (let i = 0; i < depth && share; i += 1) {
      share = share.parts?.get(path[i]!);
      if (share) room = roomOf(share, room);
    }
    return room > 0 ? undefined : share;
  }

  #prune(): void {
    const now = Math.floor(this.#clock.now() / 1_000);
    if (now === this.#prunedAt) return;
    this.#prunedAt = now;
    for (const [second, share] of this.#seconds) {
      if (second >= now) continue;
      this.#seconds.delete(second);
      this.#userShares -= userSharesIn(share, 0);
    }
  }
}

function userSharesIn({ parts }: Share, depth: number): number {
  if (!parts || depth === 1) return parts?.size ?? 0;
  return [...parts.values()].reduce((sum, part) => sum + userSharesIn(part, depth + 1), 0);
}

/** How many more it may plan: half of what is free around it, what it has planned counted in. */
function roomOf({ planned }: Share, roomAround: number): number {
  return (roomAround - planned) / 2;
}

function made(shares: Map<number, Share>, key: number): Share {
  let share = shares.get(key);
  if (!share) {
    share = { planned: 0, skipTo: undefined, parts: undefined };
    shares.set(key, share);
  }
  return share;
}
