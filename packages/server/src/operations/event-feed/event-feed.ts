/**
 * What happens, as it happens, for any number of listeners: one reader of the storage feeds them all. Nothing a listener does
 * can slow the engine or grow memory; how many there may be is bounded, in total and for each caller.
 */
import { type Caller, type EventPlace, Refusal, requireMay } from '@carillon/domain';
import type { Clock, Log } from '@carillon/foundation';
import type { EventStore } from '../../storage/event-store.ts';
import type { EventFilter } from './event-filter.ts';
import { EventStream } from './event-stream.ts';
import { EventTail } from './event-tail.ts';

export interface EventFeedOptions {
  readonly store: EventStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly listenersMax: number;
}

const LISTENERS_PER_CALLER_MAX = 50;
const TURNS_MAX = 2;

export class EventFeed {
  readonly #options: EventFeedOptions;
  readonly #tail: EventTail;
  readonly #open = new Set<EventStream>();
  readonly #perCaller = new Map<string, number>();
  readonly #turns: (() => void)[] = [];
  #turnsTaken = 0;

  constructor(options: EventFeedOptions) {
    this.#options = options;
    this.#tail = new EventTail(options);
  }

  /** For people and metrics. */
  counts(): { listeners: number; behindMs: number } {
    return { listeners: this.#open.size, behindMs: this.#tail.behindMs };
  }

  /** A hint that something happened: costs nothing when nobody listens. */
  nudge(): void {
    this.#tail.nudge();
  }

  /** after: the place of the last event that was seen; undefined: from now on. Close it, or leave its loop, when done. */
  open(caller: Caller, filter: EventFilter = {}, after?: EventPlace): EventStream {
    requireMay(caller, 'events.read');
    const { store, clock, listenersMax } = this.#options;
    const key = `${caller.kind} ${caller.id}`;
    const count = this.#perCaller.get(key) ?? 0;
    if (count >= LISTENERS_PER_CALLER_MAX) {
      throw new Refusal('too_many_listeners', `${caller.name} already follows the events ${count} times.`);
    }
    if (this.#open.size >= listenersMax) {
      throw new Refusal('overloaded', `${this.#open.size} readers already follow the events of this server.`);
    }
    const leave = this.#tail.join();
    const stream = new EventStream({
      ...{ caller, filter, after, store, tail: this.#tail },
      nowMs: () => clock.now(),
      takeTurn: (work) => this.#takeTurn(work),
      onClose: () => {
        leave();
        this.#open.delete(stream);
        const left = this.#perCaller.get(key)! - 1;
        if (left > 0) this.#perCaller.set(key, left);
        else this.#perCaller.delete(key);
      },
    });
    this.#open.add(stream);
    this.#perCaller.set(key, count + 1);
    return stream;
  }

  /** Ends every stream. */
  close(): void {
    for (const stream of [...this.#open]) stream.close();
  }

  async #takeTurn<T>(work: () => Promise<T>): Promise<T> {
    while (this.#turnsTaken >= TURNS_MAX) await new Promise<void>((resolve) => this.#turns.push(resolve));
    this.#turnsTaken += 1;
    try {
      return await work();
    } finally {
      this.#turnsTaken -= 1;
      this.#turns.shift()?.();
    }
  }
}
