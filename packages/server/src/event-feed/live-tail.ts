/**
 * The changes of the last moments, read at most once a second for all live connections of this process. A second with more events
 * than are worth naming is skipped instead of read, so the cost does not grow with the number of runs.
 */
import { compareEventCursors, type EventCursor, generationOf } from '@carillon/domain';
import type { Clock } from '@carillon/foundation';
import type { EventStore } from '../storage/event-store.ts';
import { type LiveEvent, liveEvent } from './live-change.ts';

export interface LiveTick {
  readonly events: readonly LiveEvent[];
  /** Events were skipped: anything may have changed. */
  readonly isSkipped: boolean;
}

/** A second with so many is skipped. Reading them takes about 30 ms of the database, counting them less than one. */
const EVENTS_MAX = 2_000;
const READ_MS_MAX = 250;
const READ_MAX = 1_000;
/** For connections that come back. */
const RECENT_MAX = 5_000;

type ChangeStore = Pick<EventStore, 'end' | 'read' | 'countAfter'>;

export class LiveTail {
  readonly #store: ChangeStore;
  readonly #clock: Pick<Clock, 'monotonic'>;
  #recent: LiveEvent[] = [];
  /** All events after this position, up to `through`, are held. */
  #from: EventCursor | undefined;
  #through: EventCursor | undefined;

  constructor(options: { store: ChangeStore; clock: Pick<Clock, 'monotonic'> }) {
    this.#store = options.store;
    this.#clock = options.clock;
  }

  /** Undefined until the first read. */
  get through(): EventCursor | undefined {
    return this.#through;
  }

  /** What happened since the last read. */
  async read(): Promise<LiveTick> {
    const before = this.#through;
    if (!before) {
      this.#skipTo(await this.#store.end());
      return { events: [], isSkipped: false };
    }
    const { events, through, isComplete } = await readChanges(this.#store, before, this.#clock);
    // In a database that replaced another one, some of what was told may not have happened.
    const isReplaced = generationOf(through) !== generationOf(before);
    if (!isComplete || isReplaced) {
      this.#skipTo(later(await this.#store.end(), through));
      return { events: [], isSkipped: true };
    }
    this.#through = through;
    this.#recent.push(...events);
    const surplus = this.#recent.length - RECENT_MAX;
    if (surplus > 0) this.#from = this.#recent.splice(0, surplus).at(-1)!.cursor;
    return { events, isSkipped: false };
  }

  /** What happened after the position; undefined when that is not known any more. */
  after(position: EventCursor): readonly LiveEvent[] | undefined {
    if (!this.#from || !this.#through) return undefined;
    if (compareEventCursors(position, this.#from) < 0) return undefined;
    // From another database, or from a server that has read further: there is nothing to hold it against.
    if (compareEventCursors(position, this.#through) > 0) return undefined;
    return this.#recent.filter(({ cursor }) => compareEventCursors(cursor, position) > 0);
  }

  reset(): void {
    this.#recent = [];
    this.#from = undefined;
    this.#through = undefined;
  }

  #skipTo(position: EventCursor): void {
    this.#recent = [];
    this.#from = position;
    this.#through = position;
  }
}

/** Everything after the position, unless it is too much. */
export async function readChanges(
  store: Pick<ChangeStore, 'read' | 'countAfter'>,
  after: EventCursor,
  clock: Pick<Clock, 'monotonic'>,
): Promise<{ events: LiveEvent[]; through: EventCursor; isComplete: boolean }> {
  if ((await store.countAfter(after, EVENTS_MAX)) >= EVENTS_MAX)
    return { events: [], through: after, isComplete: false };
  const startedAt = clock.monotonic();
  const events: LiveEvent[] = [];
  let through = after;
  for (;;) {
    const page = await store.read(through, READ_MAX);
    through = page.through;
    for (const event of page.events) events.push(liveEvent(event));
    if (!page.hasMore) return { events, through, isComplete: true };
    const isTooMuch = events.length >= EVENTS_MAX || clock.monotonic() - startedAt > READ_MS_MAX;
    if (isTooMuch) return { events, through, isComplete: false };
  }
}

function later(a: EventCursor, b: EventCursor): EventCursor {
  return compareEventCursors(a, b) < 0 ? b : a;
}
