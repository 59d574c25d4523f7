/**
 * Events, live and in pages. One reader of the storage feeds all listeners. Nothing a listener does can slow the engine or
 * grow memory; the number of listeners is bounded, those of events and of live updates together.
 */
import {
  type Caller,
  type EventCursor,
  FIRST_EVENT_CURSOR,
  type RecordedEvent,
  requireMay,
} from '@carillon/domain';
import type { Clock, Log } from '@carillon/foundation';
import { claimantOf, SharedLimit } from '../shared-limit/shared-limit.ts';
import type { EventStore } from '../storage/event-store.ts';
import { type EventFilter, eventViewOf, wantedBy } from './event-filter.ts';
import { EventStream } from './event-stream.ts';
import { EventTail } from './event-tail.ts';
import { gapAfter } from './gap-after.ts';
import { LiveFeed } from './live-feed.ts';

export interface WatchOptions {
  readonly filter?: EventFilter;
  readonly after?: EventCursor | undefined;
}

export interface ReadEventsQuery {
  readonly filter: EventFilter;
  /** Undefined: from the oldest that is kept. */
  readonly after: EventCursor | undefined;
  readonly limit: number;
}

export interface EventsRead {
  readonly events: readonly RecordedEvent[];
  readonly through: EventCursor;
  readonly hasMore: boolean;
}

export interface EventFeedOptions {
  readonly store: EventStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly listenersMax: number;
}

const LISTENERS_EACH_MAX = 50;
const TURNS_MAX = 2;
/** A filter that matches few events makes a page short, not slow: the rest is on the next page. */
const READS_PER_PAGE_MAX = 10;
const READ_MAX = 1_000;

export class EventFeed {
  readonly #options: EventFeedOptions;
  /** Updates for pages. */
  readonly live: LiveFeed;
  readonly #tail: EventTail;
  readonly #open = new Set<EventStream>();
  readonly #limit: SharedLimit;
  readonly #turns: (() => void)[] = [];
  #turnsTaken = 0;

  constructor(options: EventFeedOptions) {
    this.#options = options;
    this.#tail = new EventTail(options);
    this.#limit = new SharedLimit({
      what: 'streams of events are open',
      eachMax: LISTENERS_EACH_MAX,
      totalMax: options.listenersMax,
    });
    this.live = new LiveFeed({ ...options, limit: this.#limit });
  }

  /** For metrics. */
  counts(): { listeners: number; behindMs: number } {
    return { listeners: this.#limit.total, behindMs: this.#tail.behindMs };
  }

  /** A hint that events were recorded: costs nothing without listeners. */
  nudge(): void {
    this.#tail.nudge();
    this.live.nudge();
  }

  /** after: the position of the last event received; undefined: from now on. Close it, or leave its loop, when done. */
  open(caller: Caller, filter: EventFilter = {}, after?: EventCursor): EventStream {
    requireMay(caller, 'events.read');
    const { store, clock } = this.#options;
    const giveBack = this.#limit.join(claimantOf(caller, 'events.read'));
    const leave = this.#tail.join();
    const stream = new EventStream({
      ...{ caller, filter, after, store, tail: this.#tail },
      nowMs: () => clock.now(),
      takeTurn: (work) => this.#takeTurn(work),
      onClose: () => {
        leave();
        this.#open.delete(stream);
        giveBack();
      },
    });
    this.#open.add(stream);
    return stream;
  }

  /** A page of events, oldest first, and the position to continue from: for programs that poll. */
  async read(caller: Caller, { filter, after, limit }: ReadEventsQuery): Promise<EventsRead> {
    requireMay(caller, 'events.read');
    const { store, clock } = this.#options;
    const [isWanted, viewOf] = [wantedBy(filter), await eventViewOf(caller, store)];
    const found: RecordedEvent[] = [];
    let through = after ?? FIRST_EVENT_CURSOR;
    const gap = await gapAfter(through, { store, nowMs: clock.now() });
    if (gap) {
      found.push(gap.event);
      through = gap.continueAfter;
    }
    for (let reads = 0; reads < READS_PER_PAGE_MAX; reads += 1) {
      const page = await store.read(through, READ_MAX);
      for (const event of page.events) {
        const shown = isWanted(event) ? viewOf(event) : undefined;
        if (!shown) continue;
        if (found.length >= limit) return { events: found, through: found.at(-1)!.cursor, hasMore: true };
        found.push(shown);
      }
      through = page.through;
      if (!page.hasMore) return { events: found, through, hasMore: false };
    }
    return { events: found, through, hasMore: true };
  }

  /** Ends every stream. */
  close(): void {
    for (const stream of [...this.#open]) stream.close();
    this.live.close();
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
