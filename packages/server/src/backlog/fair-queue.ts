/**
 * Fair shares: lanes that are ready, handed out so that every namespace gets as many runs as every other, and in a namespace
 * every user. Stride scheduling: whoever got least so far is next; who comes back after a pause starts with those who got
 * least, so idling earns nothing. A choice costs the same for one tenant and for ten thousand, but for a logarithm.
 */
import { MinHeap } from '@carillon/foundation';
import { namespaceOf } from '../storage/lane.ts';

/** Somebody who gets a share. */
class Share {
  readonly key: number;
  /** Runs it got so far, or is charged for. */
  passed: number;
  /** Lanes of it that can be taken, and that are taken at the moment. */
  ready = 0;
  taken = 0;
  /** Its place in the line is the one of this number; older ones are void. */
  version = 0;

  constructor(key: number, passed: number) {
    this.key = key;
    this.passed = passed;
  }
}

/** Those who have something to take, in the order of what they got. */
class Line<Member extends Share> {
  readonly #heap = new MinHeap<{ member: Member; passed: number; version: number }>(
    (a, b) => a.passed - b.passed,
  );
  readonly #members = new Map<number, Member>();
  readonly #make: (key: number, passed: number) => Member;
  #leastPassed = 0;

  constructor(make: (key: number, passed: number) => Member) {
    this.#make = make;
  }

  member(key: number): Member {
    let member = this.#members.get(key);
    if (!member) {
      member = this.#make(key, this.#leastPassed);
      this.#members.set(key, member);
    }
    return member;
  }

  /** The one that got least. */
  first(): Member | undefined {
    for (let top = this.#heap.peek(); top; top = this.#heap.peek()) {
      if (top.version === top.member.version) {
        this.#leastPassed = Math.max(this.#leastPassed, top.passed);
        return top.member;
      }
      this.#heap.pop();
    }
    return undefined;
  }

  /** After any change of it: gives it its place in the line, or lets it go. */
  update(member: Member): void {
    member.version += 1;
    if (member.ready > 0) this.#heap.push({ member, passed: member.passed, version: member.version });
    else if (member.taken === 0) this.#members.delete(member.key);
  }
}

class User<Lane> extends Share {
  readonly lanes: Lane[] = [];
}

class Namespace<Lane> extends Share {
  readonly users = new Line<User<Lane>>((key, passed) => new User(key, passed));
}

export class FairQueue<Lane extends { readonly tenant: number }> {
  readonly #namespaces = new Line<Namespace<Lane>>((key, passed) => new Namespace(key, passed));
  #ready = 0;
  #taken = 0;

  /** Lanes that can be taken. */
  get ready(): number {
    return this.#ready;
  }

  /** With those that are taken at the moment. */
  get total(): number {
    return this.#ready + this.#taken;
  }

  add(lane: Lane): void {
    const { namespace, user } = this.#membersOf(lane);
    user.lanes.push(lane);
    this.#ready += 1;
    this.#count(namespace, user, { ready: 1, taken: 0, charge: 0 });
  }

  /** The lane whose turn it is; its tenant is charged for as many runs as it may give. */
  take(charge: number): Lane | undefined {
    const namespace = this.#namespaces.first();
    const user = namespace?.users.first();
    const lane = user?.lanes.shift();
    if (!namespace || !user || lane === undefined) return undefined;
    this.#ready -= 1;
    this.#taken += 1;
    this.#count(namespace, user, { ready: -1, taken: 1, charge });
    return lane;
  }

  /** The lane is not taken any more, and gave so many runs fewer than it was charged for. */
  giveBack(lane: Lane, uncharged: number): void {
    const { namespace, user } = this.#membersOf(lane);
    this.#taken -= 1;
    this.#count(namespace, user, { ready: 0, taken: -1, charge: -uncharged });
  }

  #membersOf({ tenant }: Lane): { namespace: Namespace<Lane>; user: User<Lane> } {
    const namespace = this.#namespaces.member(namespaceOf(tenant));
    return { namespace, user: namespace.users.member(tenant) };
  }

  #count(
    namespace: Namespace<Lane>,
    user: User<Lane>,
    change: { ready: number; taken: number; charge: number },
  ): void {
    for (const share of [namespace, user]) {
      share.ready += change.ready;
      share.taken += change.taken;
      share.passed += change.charge;
    }
    namespace.users.update(user);
    this.#namespaces.update(namespace);
  }
}
