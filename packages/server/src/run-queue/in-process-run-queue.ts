/**
 * The run queue within one process: a bounded line, first in, first out. Nothing is dropped or overtaken: a publisher that
 * finds it full waits, and publishers who wait are let in one after the other.
 */
import type { PendingRun } from '@carillon/domain';
import type { RunQueue } from './run-queue.ts';

interface Publisher {
  readonly runs: readonly PendingRun[];
  /** How many of its runs are in the line already. */
  admitted: number;
  readonly accepted: () => void;
}

/** Taken runs are cut off the front once they make up this many: shifting one by one would cost the whole line each time. */
const CUT_AT = 1_024;

export class InProcessRunQueue implements RunQueue {
  readonly #capacity: number;
  readonly #line: PendingRun[] = [];
  #front = 0;
  readonly #publishers: Publisher[] = [];
  readonly #listeners: (() => void)[] = [];
  #announcing = false;
  #announceAgain = false;

  constructor(options: { capacity: number }) {
    if (!(options.capacity >= 1)) throw new RangeError('a run queue holds at least one run');
    this.#capacity = options.capacity;
  }

  publish(runs: readonly PendingRun[]): Promise<void> {
    if (runs.length === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#publishers.push({ runs, admitted: 0, accepted: resolve });
      if (this.#admit()) this.#announce();
    });
  }

  /** None while publishers wait: they come first. */
  room(): number {
    return this.#publishers.length > 0 ? 0 : this.#capacity - this.#length();
  }

  take(max: number): PendingRun[] {
    const taken = this.#line.slice(this.#front, this.#front + Math.max(0, max));
    this.#front += taken.length;
    if (this.#front >= CUT_AT || this.#front === this.#line.length) {
      this.#line.splice(0, this.#front);
      this.#front = 0;
    }
    if (this.#admit()) this.#announce();
    return taken;
  }

  onReady(listener: () => void): void {
    this.#listeners.push(listener);
  }

  #length(): number {
    return this.#line.length - this.#front;
  }

  /** Lets in what fits, in the order of the publishers; a batch larger than the room enters bit by bit. */
  #admit(): boolean {
    const before = this.#length();
    for (let first = this.#publishers[0]; first; first = this.#publishers[0]) {
      const room = this.#capacity - this.#length();
      for (const run of first.runs.slice(first.admitted, first.admitted + room)) this.#line.push(run);
      first.admitted = Math.min(first.runs.length, first.admitted + room);
      if (first.admitted < first.runs.length) break;
      this.#publishers.shift();
      first.accepted();
    }
    return this.#length() > before;
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
