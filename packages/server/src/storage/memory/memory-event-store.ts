/** Reading events in memory. Every call is a transaction of its own, so what is recorded can be read at once. */
import { type EventCursor, ROW_END } from '@carillon/domain';
import type { EventPage, EventStore } from '../event-store.ts';
import type { MemoryState } from './memory-state.ts';

export class MemoryEventStore implements EventStore {
  readonly #state: MemoryState;

  constructor(state: MemoryState) {
    this.#state = state;
  }

  async end(): Promise<EventCursor> {
    return this.#state.events.end();
  }

  async oldest(): Promise<EventCursor | undefined> {
    return this.#state.events.oldest();
  }

  async namespacesBegan(names: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const rows = names.map((name) => [name, this.#state.namespaces.get(name)?.eventsAfter] as const);
    return new Map(rows.filter((row): row is readonly [string, number] => row[1] !== undefined));
  }

  async countAfter(after: EventCursor, max: number): Promise<number> {
    return this.#state.events.after(after, max).length;
  }

  async recordedAfter(after: EventCursor): Promise<number | undefined> {
    return this.#state.events.after(after, 1)[0]?.atMs;
  }

  async read(after: EventCursor, limit: number): Promise<EventPage> {
    const events = this.#state.events.after(after, limit);
    const last = events.at(-1);
    return {
      events,
      through: last ? { ...last.cursor, index: ROW_END } : after,
      hasMore: events.length === limit,
    };
  }
}
