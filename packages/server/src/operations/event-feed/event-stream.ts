/**
 * One listener's way through the events: what it may see and asked for, in order, from its place on. It is read at the
 * listener's own pace. Near the end it shares what the tail holds; a slow one, or one that was away, reads the storage instead,
 * so nothing is skipped and nothing is kept for it.
 */
import { type Caller, comparePlaces, type EventPlace, type RecordedEvent } from '@carillon/domain';
import type { EventStore } from '../../storage/event-store.ts';
import { type EventFilter, type EventTest, visibleEvents, wantedBy } from './event-filter.ts';
import type { EventTail } from './event-tail.ts';
import { gapAfter } from './gap-after.ts';

export interface EventStreamOptions {
  readonly caller: Caller;
  readonly filter: EventFilter;
  /** Undefined: from now on. */
  readonly after: EventPlace | undefined;
  readonly store: EventStore;
  readonly tail: EventTail;
  readonly nowMs: () => number;
  /** Reads of the storage by slow listeners take turns. */
  readonly takeTurn: <T>(work: () => Promise<T>) => Promise<T>;
  readonly onClose: () => void;
}

/** What is written at once, and so may lie in front of a connection that is slow to take it. */
const BATCH_MAX = 100;
const READ_MAX = 500;

export class EventStream implements AsyncIterable<RecordedEvent> {
  readonly #options: EventStreamOptions;
  readonly #closed = new AbortController();
  readonly #isWanted: EventTest;
  #isVisible: EventTest;
  #place: EventPlace | undefined;

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.#isWanted = wantedBy(options.filter);
    this.#isVisible = visibleEvents(options.caller);
    this.#place = options.after;
  }

  /** Rights change while somebody listens: from here on it hears what the caller may see now. */
  judgeBy(caller: Caller): void {
    this.#isVisible = visibleEvents(caller);
  }

  /** Resolves when its place is known: whatever happens from then on is told. */
  async placed(): Promise<void> {
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

  /** The same in batches, none of them empty: for those who write many with one call. */
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
          this.#place = batch.at(-1)!.place;
          const told = batch.filter((event) => this.#isVisible(event) && this.#isWanted(event));
          if (told.length > 0) yield told;
        }
      }
    } finally {
      this.close();
    }
  }

  /** The tail knows where the end is once it has looked; whoever begins without a place begins there. */
  async #begin(signal: AbortSignal): Promise<void> {
    const { tail } = this.#options;
    while (!tail.through && !signal.aborted) await tail.changed(signal);
    this.#place ??= tail.through;
  }

  async #gap(): Promise<RecordedEvent | undefined> {
    const { after, store, nowMs } = this.#options;
    if (!after) return undefined;
    const gap = await gapAfter(after, { store, nowMs: nowMs() });
    if (gap) this.#place = gap.continueAfter;
    return gap?.event;
  }

  /** May be empty: then something was read that leads on. */
  async #next(signal: AbortSignal): Promise<readonly RecordedEvent[]> {
    const { store, tail, takeTurn } = this.#options;
    const place = this.#place!;
    const held = tail.after(place, READ_MAX);
    if (held) {
      if (held.length === 0) await tail.changed(signal);
      return held;
    }
    // Whatever the tail had read before this reading began, the reading finds as well.
    const horizon = tail.through;
    const page = await takeTurn(() => store.read(place, READ_MAX));
    const isCaughtUp = page.events.length === 0 && !page.hasMore;
    if (isCaughtUp && horizon) this.#place = later(page.through, horizon);
    else if (page.events.length === 0) this.#place = page.through;
    return page.events;
  }
}

function later(a: EventPlace, b: EventPlace): EventPlace {
  return comparePlaces(a, b) < 0 ? b : a;
}
