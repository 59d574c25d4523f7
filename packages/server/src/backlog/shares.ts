/**
 * How many runs namespaces and users got so far, and the lines in which they wait for their turn. Stride scheduling: the one that got
 * fewest is next. One that returns after a pause starts level with the lowest, so idling earns nothing; one that left with more is
 * remembered until the others have as much, so leaving earns nothing either.
 */
import { MinHeap } from '@carillon/foundation';

export interface Settlement {
  /** What was charged when the lane was taken. */
  readonly charged: number;
  /** What it really gave. */
  readonly given: number;
}

/** Somebody who gets a share, whatever the handlers of its runs. */
export class Share {
  readonly key: number;
  /** Runs it got so far, or is taken to have got since it joined. */
  given: number;
  /** Runs it may get from lanes that are taken at the moment. */
  charged = 0;
  /** Lanes of it that can be taken, or are taken at the moment. */
  lanes = 0;
  /** Where it stands, by handler. */
  readonly turns = new Map<number, Turn>();

  constructor(key: number, given: number) {
    this.key = key;
    this.given = given;
  }

  /** What orders turns: lanes taken side by side count as if they gave all they may. */
  get passed(): number {
    return this.given + this.charged;
  }

  /** A lane that it was charged for gave so many. */
  settle({ charged, given }: Settlement): void {
    this.charged -= charged;
    this.given += given;
    // One that got more than charged is found too early, which first() corrects; one that got less would be found too late.
    if (given < charged) for (const turn of this.turns.values()) if (turn.entry) turn.line.enter(turn);
  }
}

/** Where a share stands in one line. */
export class Turn {
  readonly share: Share;
  readonly line: Line;
  /** Its valid entry in the line; older entries of it are void. */
  entry: Entry | undefined;

  constructor(share: Share, line: Line) {
    this.share = share;
    this.line = line;
  }
}

interface Entry {
  readonly turn: Turn;
  readonly passed: number;
}

const ENTRIES_MIN = 16;

/** Those who have something to take, in the order of what they got. */
export class Line {
  readonly #entries = new MinHeap<Entry>((a, b) => a.passed - b.passed);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Entries in the heap, void ones included. */
  get entryCount(): number {
    return this.#entries.size;
  }

  /** The one that got least (DISP-4), but for those that are passed over: these should be few. */
  first(passedOver?: ReadonlySet<number>): Turn | undefined {
    const aside: Entry[] = [];
    let first: Turn | undefined;
    for (let top = this.#entries.peek(); top; top = this.#entries.peek()) {
      const { turn, passed } = top;
      const isValid = turn.entry === top && passed === turn.share.passed;
      if (isValid && !passedOver?.has(turn.share.key)) {
        first = turn;
        break;
      }
      this.#entries.pop();
      if (isValid) aside.push(top);
      else if (turn.entry === top) this.enter(turn);
    }
    for (const entry of aside) this.#entries.push(entry);
    return first;
  }

  /** Adds an entry for it; an older one becomes void. */
  enter(turn: Turn): void {
    if (!turn.entry) this.#size += 1;
    const entry = { turn, passed: turn.share.passed };
    turn.entry = entry;
    this.#entries.push(entry);
    // Void entries behind the first are never popped: they are removed once they outnumber the valid ones.
    if (this.#entries.size > ENTRIES_MIN + this.#size * 2)
      this.#entries.retain((entry) => entry.turn.entry === entry);
  }

  leave(turn: Turn): void {
    if (!turn.entry) return;
    turn.entry = undefined;
    this.#size -= 1;
    if (this.#size === 0) this.#entries.retain(() => false);
  }
}

/** All who have lanes, and those who left with more than the others have. */
export class Shares<Member extends Share> {
  readonly #members = new Map<number, Member>();
  readonly #gone = new MinHeap<{ member: Member; given: number }>((a, b) => a.given - b.given);
  readonly #make: (key: number, given: number) => Member;
  #joinAt = 0;
  #present = 0;

  constructor(make: (key: number, given: number) => Member) {
    this.#make = make;
  }

  get size(): number {
    return this.#members.size;
  }

  /** What newcomers are taken to have got. It follows what was given, never what is charged: most of that comes back. */
  get joinAt(): number {
    return this.#joinAt;
  }

  get members(): Iterable<Member> {
    return this.#members.values();
  }

  get(key: number): Member | undefined {
    return this.#members.get(key);
  }

  of(key: number): Member {
    let member = this.#members.get(key);
    if (!member) {
      member = this.#make(key, this.#joinAt);
      this.#members.set(key, member);
    }
    return member;
  }

  /** It has one more lane. */
  join(member: Member): void {
    if (member.lanes === 0) {
      this.#present += 1;
      member.given = Math.max(member.given, this.#joinAt);
    }
    member.lanes += 1;
  }

  /** It has one lane less. */
  part(member: Member): void {
    member.lanes -= 1;
    if (member.lanes > 0) return;
    this.#present -= 1;
    if (this.#present === 0) this.#startAnew();
    else this.#gone.push({ member, given: member.given });
    this.#forget();
  }

  /** It is the turn of somebody who got so much. */
  reach(given: number): void {
    if (given <= this.#joinAt) return;
    this.#joinAt = given;
    this.#forget();
  }

  #forget(): void {
    for (let top = this.#gone.peek(); top && top.given <= this.#joinAt; top = this.#gone.peek()) {
      this.#gone.pop();
      const { member } = top;
      if (member.lanes === 0 && member.given <= this.#joinAt && this.#members.get(member.key) === member)
        this.#members.delete(member.key);
    }
  }

  #startAnew(): void {
    for (const { given } of this.#members.values()) this.#joinAt = Math.max(this.#joinAt, given);
    this.#members.clear();
    this.#gone.retain(() => false);
  }
}
