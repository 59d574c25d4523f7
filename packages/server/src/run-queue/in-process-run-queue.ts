/**
 * The run queue within one process: a bounded line per priority, first in, first out. Nothing is dropped or overtaken within
 * a line: a publisher that finds it full waits, and publishers who wait are let in one after the other.
 */
import { type PendingRun, PRIORITIES, type Priority } from '@carillon/domain';
import type { RunQueue } from './run-queue.ts';

export class InProcessRunQueue implements RunQueue {
  readonly #lines: Readonly<Record<Priority, Line>>;
  readonly #listeners: (() => void)[] = [];
  #announcing = false;
  #announceAgain = false;

  /** capacity: of each line. */
  constructor({ capacity }: { capacity: number }) {
    if (!(capacity >= 1)) throw new RangeError('a run queue holds at least one run');
    this.#lines = { low: new Line(capacity), medium: new Line(capacity), high: new Line(capacity) };
  }

  async publish(runs: readonly PendingRun[]): Promise<void> {
    const waits = PRIORITIES.map((priority) => {
      const ofPriority = runs.filter((run) => run.priority === priority);
      return ofPriority.length > 0 ? this.#lines[priority].publish(ofPriority) : undefined;
    });
    if (runs.length > 0) this.#announce();
    await Promise.all(waits);
  }

  room(priority: Priority): number {
    return this.#lines[priority].room();
  }

  take(priority: Priority, max: number): PendingRun[] {
    const line = this.#lines[priority];
    const taken = line.take(max);
    if (line.admit()) this.#announce();
    return taken;
  }

  onReady(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** A listener may take at once, which may let in more: that is told in another round, not from within the first. */
  #announce(): void {
    this.#announceAgain = true;
    if (this.#announcing) return;
    this.#announcing = true;
    try {
      while (this.#announceAgain) {
        this.#announceAgain = false;
        for (const listener of this.#listeners) listener();
      }
    } finally {
      this.#announcing = false;
    }
  }
}

interface Publisher {
  readonly runs: readonly PendingRun[];
  /** How many of its runs are in the line already. */
  admitted: number;
  readonly accepted: () => void;
}

/** Taken runs are cut off the front once they make up this many: shifting one by one would cost the whole line each time. */
const CUT_AT = 1_024;

class Line {
  readonly #capacity: number;
  readonly #runs: PendingRun[] = [];
  #front = 0;
  readonly #publishers: Publisher[] = [];

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  publish(runs: readonly PendingRun[]): Promise<void> {
    return new Promise((resolve) => {
      this.#publishers.push({ runs, admitted: 0, accepted: resolve });
      this.admit();
    });
  }

  /** None while publishers wait: they come first. */
  room(): number {
    return this.#publishers.length > 0 ? 0 : this.#capacity - this.#length();
  }

  take(max: number): PendingRun[] {
    const taken = this.#runs.slice(this.#front, this.#front + Math.max(0, max));
    this.#front += taken.length;
    if (this.#front >= CUT_AT || this.#front === this.#runs.length) {
      this.#runs.splice(0, this.#front);
      this.#front = 0;
    }
    return taken;
  }

  /** Lets in what fits, in the order of the publishers; a batch larger than the room enters bit by bit. */
  admit(): boolean {
    const before = this.#length();
    for (let first = this.#publishers[0]; first; first = this.#publishers[0]) {
      const room = this.#capacity - this.#length();
      for (const run of first.runs.slice(first.admitted, first.admitted + room)) this.#runs.push(run);
      first.admitted = Math.min(first.runs.length, first.admitted + room);
      if (first.admitted < first.runs.length) break;
      this.#publishers.shift();
      first.accepted();
    }
    return this.#length() > before;
  }

  #length(): number {
    return this.#runs.length - this.#front;
  }
}
