/**
 * Fair shares: lanes that are ready, handed out so that every namespace gets as many runs as every other, and in a namespace
 * every user, whatever the number of their lanes and handlers. There is a line per handler, so what a worker does not offer
 * stands before nothing that it does. A choice costs the same for one tenant and for ten thousand, but for a logarithm.
 */
import { namespaceOf } from '../storage/lane.ts';
import { Line, type Settlement, Share, Shares, Turn } from './shares.ts';

/** Who could not be served for long, for want of a worker that offers its handler, catches up with the others by this much. */
export const CATCH_UP_RUNS_MAX = 10_000;

class Namespace extends Share {
  readonly users = new Shares<Share>((key, given) => new Share(key, given));
}

/** Lanes of one handler in one namespace. */
class NamespaceTurn extends Turn {
  readonly users = new Line();
  readonly counts: LaneCounts = { ready: 0, taken: 0, tenants: 0 };
}

class UserTurn<Lane> extends Turn {
  readonly lanes: Lane[] = [];
}

/** Lanes of one handler. */
class HandlerQueue {
  readonly line = new Line();
  readonly counts: LaneCounts = { ready: 0, taken: 0, tenants: 0 };
}

interface LaneCounts {
  /** Lanes that can be taken, and those that are taken at the moment. */
  ready: number;
  taken: number;
  /** Who has lanes that can be taken, counted once for each handler. */
  tenants: number;
}

export type QueueCounts = Readonly<LaneCounts>;

/** Which lanes a worker may be given. */
export interface LaneOffer {
  readonly offers: (handlerKey: number) => boolean;
  /** Only lanes of these namespaces: they are few. Left out: of all. */
  readonly namespaces?: readonly number[] | undefined;
  /** Not those of these namespaces, which have enough. */
  readonly full?: ReadonlySet<number> | undefined;
}

const EVERY_LANE: LaneOffer = { offers: () => true };

interface Choice<Lane> {
  readonly handler: HandlerQueue;
  readonly turn: NamespaceTurn;
  readonly userTurn: UserTurn<Lane>;
}

export class FairQueue<Lane extends { readonly tenant: number; readonly handlerKey: number }> {
  readonly #namespaces = new Shares<Namespace>((key, given) => new Namespace(key, given));
  readonly #prefers: (lane: Lane) => boolean;
  /** Of all handlers that were ever offered: they are few. */
  readonly #handlers = new Map<number, HandlerQueue>();

  /** prefers: which lanes of a user come first. */
  constructor({ prefers = () => false }: { readonly prefers?: (lane: Lane) => boolean } = {}) {
    this.#prefers = prefers;
  }

  /** Of these lanes. */
  counts({ offers, namespaces, full }: LaneOffer): QueueCounts {
    const sum: LaneCounts = { ready: 0, taken: 0, tenants: 0 };
    for (const [key, handler] of this.#handlers) {
      if (!offers(key)) continue;
      if (namespaces) {
        for (const turn of this.#turns(key, namespaces, full)) add(sum, turn.counts);
        continue;
      }
      add(sum, handler.counts);
      if (full) for (const turn of this.#turns(key, full)) add(sum, turn.counts, -1);
    }
    return sum;
  }

  /** Everything in memory: shares, and entries in the lines. */
  get size(): number {
    let size = this.#namespaces.size;
    for (const { users, turns } of this.#namespaces.members) {
      size += users.size;
      for (const turn of turns.values()) size += (turn as NamespaceTurn).users.entryCount;
    }
    for (const { line } of this.#handlers.values()) size += line.entryCount;
    return size;
  }

  add(lane: Lane): void {
    const { tenant, handlerKey: key } = lane;
    const namespace = this.#namespaces.of(namespaceOf(tenant));
    const user = namespace.users.of(tenant);
    this.#namespaces.join(namespace);
    namespace.users.join(user);
    const handler = made(this.#handlers, key, () => new HandlerQueue());
    handler.counts.ready += 1;
    const turn = made(
      namespace.turns,
      key,
      () => new NamespaceTurn(namespace, handler.line),
    ) as NamespaceTurn;
    turn.counts.ready += 1;
    const userTurn = made(user.turns, key, () => new UserTurn<Lane>(user, turn.users)) as UserTurn<Lane>;
    userTurn.lanes.push(lane);
    if (!userTurn.entry) {
      turn.users.enter(userTurn);
      handler.counts.tenants += 1;
      turn.counts.tenants += 1;
    }
    if (!turn.entry) handler.line.enter(turn);
  }

  /** The lane whose turn it is, of those that are offered; its tenant is charged for as many runs until it is given back. */
  take(charge: number, offer: LaneOffer = EVERY_LANE): Lane | undefined {
    const choice = this.#first(offer);
    if (!choice) return undefined;
    const { handler, turn, userTurn } = choice;
    const lane = userTurn.lanes.find(this.#prefers) ?? userTurn.lanes[0]!;
    this.#withdraw(lane, choice);
    handler.counts.taken += 1;
    turn.counts.taken += 1;
    const namespace = turn.share as Namespace;
    take(this.#namespaces, namespace, charge);
    take(namespace.users, userTurn.share, charge);
    return lane;
  }

  /** The lane is not taken any more. */
  giveBack({ tenant, handlerKey }: Lane, settlement: Settlement): void {
    const namespace = this.#namespaces.of(namespaceOf(tenant));
    const user = namespace.users.of(tenant);
    user.settle(settlement);
    namespace.settle(settlement);
    (namespace.turns.get(handlerKey) as NamespaceTurn).counts.taken -= 1;
    namespace.users.part(user);
    this.#namespaces.part(namespace);
    this.#handlers.get(handlerKey)!.counts.taken -= 1;
  }

  /** The lane, which was added and not taken, cannot be taken any more. */
  remove(lane: Lane): void {
    const { tenant, handlerKey: key } = lane;
    const namespace = this.#namespaces.of(namespaceOf(tenant));
    const user = namespace.users.of(tenant);
    const turn = namespace.turns.get(key) as NamespaceTurn;
    const userTurn = user.turns.get(key) as UserTurn<Lane>;
    this.#withdraw(lane, { handler: this.#handlers.get(key)!, turn, userTurn });
    namespace.users.part(user);
    this.#namespaces.part(namespace);
  }

  #withdraw(lane: Lane, { handler, turn, userTurn }: Choice<Lane>): void {
    // A user has few lanes of one handler: one in each part.
    userTurn.lanes.splice(userTurn.lanes.indexOf(lane), 1);
    handler.counts.ready -= 1;
    turn.counts.ready -= 1;
    if (userTurn.lanes.length === 0) {
      turn.users.leave(userTurn);
      handler.counts.tenants -= 1;
      turn.counts.tenants -= 1;
    }
    if (turn.users.size === 0) handler.line.leave(turn);
  }

  #first({ offers, namespaces, full }: LaneOffer): Choice<Lane> | undefined {
    let best: Choice<Lane> | undefined;
    for (const [key, handler] of this.#handlers) {
      if (handler.counts.ready === 0 || !offers(key)) continue;
      const turns = namespaces
        ? this.#turns(key, namespaces, full).filter(({ counts }) => counts.ready > 0)
        : [handler.line.first(full) as NamespaceTurn | undefined];
      for (const turn of turns) {
        if (!turn) continue;
        const choice = { handler, turn, userTurn: turn.users.first() as UserTurn<Lane> };
        if (!best || isBefore(choice, best)) best = choice;
      }
    }
    return best;
  }

  /** Those of the namespaces that have, or had, lanes of the handler. */
  #turns(
    handlerKey: number,
    namespaces: Iterable<number>,
    full?: ReadonlySet<number> | undefined,
  ): NamespaceTurn[] {
    const turns: NamespaceTurn[] = [];
    for (const key of namespaces) {
      if (full?.has(key)) continue;
      const turn = this.#namespaces.get(key)?.turns.get(handlerKey);
      if (turn) turns.push(turn as NamespaceTurn);
    }
    return turns;
  }
}

function add(sum: LaneCounts, { ready, taken, tenants }: QueueCounts, times = 1): void {
  sum.ready += times * ready;
  sum.taken += times * taken;
  sum.tenants += times * tenants;
}

function made<Value>(values: Map<number, Value>, key: number, make: () => Value): Value {
  let value = values.get(key);
  if (value === undefined) {
    value = make();
    values.set(key, value);
  }
  return value;
}

/** Of one namespace, the user that got least. */
function isBefore<Lane>(a: Choice<Lane>, b: Choice<Lane>): boolean {
  if (a.turn.share !== b.turn.share) return a.turn.share.passed < b.turn.share.passed;
  return a.userTurn.share.passed < b.userTurn.share.passed;
}

function take<Member extends Share>(shares: Shares<Member>, member: Member, charge: number): void {
  shares.reach(member.given);
  member.given = Math.max(member.given, shares.joinAt - CATCH_UP_RUNS_MAX);
  member.charged += charge;
}
