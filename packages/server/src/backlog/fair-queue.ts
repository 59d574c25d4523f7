/**
 * Fair shares: lanes that are ready, handed out so that every namespace gets as many runs as every other, and in a namespace
 * every user, whatever the number of their lanes and handlers. There is a line per handler, so what a worker does not offer
 * stands before nothing that it does. A choice costs the same for one tenant and for ten thousand, but for a logarithm.
 */
import { namespaceOf } from '../storage/lane.ts';
import { Line, Share, Shares, Turn } from './shares.ts';

/** Who could not be served for long, for want of a worker that offers its handler, catches up with the others by this much. */
export const CATCH_UP_RUNS_MAX = 10_000;

class Namespace extends Share {
  readonly users = new Shares<Share>((key, passed) => new Share(key, passed));
}

class NamespaceTurn extends Turn {
  readonly users = new Line();
}

class UserTurn<Lane> extends Turn {
  readonly lanes: Lane[] = [];
}

/** Lanes of one handler. */
class HandlerQueue {
  readonly line = new Line();
  ready = 0;
  taken = 0;
}

interface Choice<Lane> {
  readonly handler: HandlerQueue;
  readonly turn: NamespaceTurn;
  readonly userTurn: UserTurn<Lane>;
}

export class FairQueue<Lane extends { readonly tenant: number; readonly handlerKey: number }> {
  readonly #namespaces = new Shares<Namespace>((key, passed) => new Namespace(key, passed));
  readonly #handlers = new Map<number, HandlerQueue>();

  /** Lanes of these handlers: how many can be taken, and how many are taken at the moment. */
  counts(offers: (handlerKey: number) => boolean): { readonly ready: number; readonly taken: number } {
    let ready = 0;
    let taken = 0;
    for (const [key, handler] of this.#handlers) {
      if (!offers(key)) continue;
      ready += handler.ready;
      taken += handler.taken;
    }
    return { ready, taken };
  }

  /** Everything that is held in memory: who gets shares, and their places in the lines. */
  get size(): number {
    let size = this.#namespaces.size;
    for (const { users, turns } of this.#namespaces.members) {
      size += users.size;
      for (const turn of turns.values()) size += (turn as NamespaceTurn).users.placesHeld;
    }
    for (const { line } of this.#handlers.values()) size += line.placesHeld;
    return size;
  }

  add(lane: Lane): void {
    const { tenant, handlerKey: key } = lane;
    const namespace = this.#namespaces.of(namespaceOf(tenant));
    const user = namespace.users.of(tenant);
    this.#namespaces.join(namespace);
    namespace.users.join(user);
    const handler = this.#handlers.get(key) ?? new HandlerQueue();
    this.#handlers.set(key, handler);
    handler.ready += 1;
    const turn = (namespace.turns.get(key) ?? new NamespaceTurn(namespace, handler.line)) as NamespaceTurn;
    namespace.turns.set(key, turn);
    const userTurn = (user.turns.get(key) ?? new UserTurn(user, turn.users)) as UserTurn<Lane>;
    user.turns.set(key, userTurn);
    userTurn.lanes.push(lane);
    if (!userTurn.place) turn.users.enter(userTurn);
    if (!turn.place) handler.line.enter(turn);
  }

  /** The lane whose turn it is, of those handlers; its tenant is charged for as many runs as it may give. */
  take(charge: number, offers: (handlerKey: number) => boolean = () => true): Lane | undefined {
    const choice = this.#first(offers);
    const lane = choice?.userTurn.lanes.shift();
    if (!choice || !lane) return undefined;
    const { handler, turn, userTurn } = choice;
    handler.ready -= 1;
    handler.taken += 1;
    const namespace = turn.share as Namespace;
    const user = userTurn.share;
    if (userTurn.lanes.length === 0) {
      user.turns.delete(lane.handlerKey);
      turn.users.leave(userTurn);
    }
    if (turn.users.size === 0) {
      namespace.turns.delete(lane.handlerKey);
      handler.line.leave(turn);
    }
    take(this.#namespaces, namespace, charge);
    take(namespace.users, user, charge);
    return lane;
  }

  /** The lane is not taken any more, and gave so many runs fewer than it was charged for. */
  giveBack({ tenant, handlerKey }: Lane, uncharged: number): void {
    const namespace = this.#namespaces.of(namespaceOf(tenant));
    const user = namespace.users.of(tenant);
    user.charge(-uncharged);
    namespace.charge(-uncharged);
    namespace.users.part(user);
    this.#namespaces.part(namespace);
    const handler = this.#handlers.get(handlerKey)!;
    handler.taken -= 1;
    if (handler.ready + handler.taken === 0) this.#handlers.delete(handlerKey);
  }

  #first(offers: (handlerKey: number) => boolean): Choice<Lane> | undefined {
    let best: Choice<Lane> | undefined;
    for (const [key, handler] of this.#handlers) {
      if (handler.ready === 0 || !offers(key)) continue;
      const turn = handler.line.first() as NamespaceTurn;
      const choice = { handler, turn, userTurn: turn.users.first() as UserTurn<Lane> };
      if (!best || isBefore(choice, best)) best = choice;
    }
    return best;
  }
}

/** Of one namespace, the user that got least. */
function isBefore<Lane>(a: Choice<Lane>, b: Choice<Lane>): boolean {
  if (a.turn.share !== b.turn.share) return a.turn.share.passed < b.turn.share.passed;
  return a.userTurn.share.passed < b.userTurn.share.passed;
}

function take<Member extends Share>(shares: Shares<Member>, member: Member, charge: number): void {
  const { passed } = member;
  shares.reach(passed);
  member.charge(charge + Math.max(0, shares.leastPassed - CATCH_UP_RUNS_MAX - passed));
}
