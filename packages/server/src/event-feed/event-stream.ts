/**
 * The events of one listener: what it may see and requested, in order, from its position on, at its own pace. Near the end
 * it shares the events that the tail holds; a slow or returning listener reads the storage instead, so that nothing is
 * skipped and nothing is buffered for it.
 */
import { type Caller, compareEventCursors, type EventCursor, type RecordedEvent } from '@carillon/domain';
import type { EventStore } from '../storage/event-store.ts';
import { type EventFilter, type EventView, eventViewOf, wantedBy } from './event-filter.ts';
import type { EventTail } from './event-tail.ts';
import { gapAfter } from './gap-after.ts';

export interface EventStreamOptions {
  readonly caller: Caller;
  readonly filter: EventFilter;
  /** Undefined: from now on. */
  readonly after: EventCursor | undefined;
  readonly store: EventStore;
  readonly tail: EventTail;
  readonly nowMs: () => number;
  /** Bounds concurrent reads of the storage by slow listeners. */
  readonly takeTurn: <T>(work: () => Promise<T>) => Promise<T>;
  readonly onClose: () => void;
}

/** Written at once: the most that a slow connection buffers. */
const BATCH_MAX = 100;
const READ_MAX = 500;

export class EventStream implements AsyncIterable<RecordedEvent> {
  readonly #options: EventStreamOptions;
  readonly #closed = new AbortController();
  readonly #isWanted: (event: RecordedEvent) => boolean;
  /** Undefined until the first event is awaited. */
  #viewOf: EventView | undefined;
  #position: EventCursor | undefined;

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.#isWanted = wantedBy(options.filter);
    this.#position = options.after;
  }

  /** Permissions change while a listener is connected: from here on it gets what the caller may see now. */
  async updateCaller(caller: Caller): Promise<void> {
    this.#viewOf = await eventViewOf(caller, this.#options.store);
  }

  /** Resolves when its position is known: every event from then on is delivered. */
  async ready(): Promise<void> {
    await this.#begin(this.#closed.signal);
  }

  /** Ends the iteration, also one that waits. */
  close(): void {
    if (this.#closed.signal.aborted) return;
    this.#closed.abort();
    this.#options.onClose();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RecordedEvent, void, undefined> {
    for await (const batch of this.batches()) yield* batch;
  }

  /** The same in batches, none of them empty: for writing many events with one call. */
  async *batches(): AsyncGenerator<readonly RecordedEvent[], void, undefined> {
    const { signal } = this.#closed;
    try {
      await this.#begin(signal);
      const gap = await this.#gap();
      if (gap && !signal.aborted) yield [gap];
      while (!signal.aborted) {
        const events = await this.#next(signal);
        for (let from = 0; from < events.length && !signal.aborted; from += BATCH_MAX) {
          const batch = events.slice(from, from + BATCH_MAX);
          this.#position = batch.at(-1)!.cursor;
          const delivered = batch.flatMap((event) =>
            this.#isWanted(event) ? (this.#viewOf?.(event) ?? []) : [],
          );
          if (delivered.length > 0) yield delivered;
        }
      }
    } finally {
      this.close();
    }
  }

  /** The tail knows the end after its first read; a listener without a position begins there. */
  async #begin(signal: AbortSignal): Promise<void> {
    const { tail, caller, store } = this.#options;
    // Whoever was updated meanwhile stays.
    const viewOf = this.#viewOf ?? (await eventViewOf(caller, store));
    this.#viewOf ??= viewOf;
    while (!tail.through && !signal.aborted) await tail.changed(signal);
    this.#position ??= tail.through;
  }

  async #gap(): Promise<RecordedEvent | undefined> {
    const { after, store, nowMs } = this.#options;
    if (!after) return undefined;
    const gap = await gapAfter(after, { store, nowMs: nowMs() });
    if (gap) this.#position = gap.continueAfter;
    return gap?.event;
  }

  /** May be empty: then the position advanced, or the tail changed. */
  async #next(signal: AbortSignal): Promise<readonly RecordedEvent[]> {
    const { store, tail, takeTurn } = this.#options;
    const position = this.#position!;
    const held = tail.after(position, READ_MAX);
    if (held) {
      if (held.length === 0) await tail.changed(signal);
      return held;
    }
    // This read finds everything that the tail had read before it began.
    const horizon = tail.through;
    const page = await takeTurn(() => store.read(position, READ_MAX));
    const isCaughtUp = page.events.length === 0 && !page.hasMore;
    if (isCaughtUp && horizon) this.#position = later(page.through, horizon);
    else if (page.events.length === 0) this.#position = page.through;
    return page.events;
  }
}

function later(a: EventCursor, b: EventCursor): EventCursor {
  return compareEventCursors(a, b) < 0 ? b : a;
}
