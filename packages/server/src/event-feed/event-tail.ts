/**
 * The newest events, read once for all listeners of this process. It reads only while there are listeners, keeps a bounded
 * number of events, and spends at most half its time in the storage, however many events there are.
 */
import { compareEventCursors, type EventCursor, type RecordedEvent } from '@carillon/domain';
import { type Clock, LastingCondition, type Log } from '@carillon/foundation';
import type { EventPage, EventStore } from '../storage/event-store.ts';

export interface EventTailOptions {
  readonly store: EventStore;
  readonly clock: Clock;
  readonly log: Log;
}

const POLL_MS = 250;
/** After a hint that events were recorded; the changes of many callers are read together. */
const NUDGED_MS = 20;
const FAILED_MS = 1_000;
/** How often it is looked for events that are held back, and how old they are then. */
const HELD_CHECK_MS = 3_000;
const HELD_MS = 3_000;
const BATCH_MAX = 2_000;
const RECENT_MAX = 5_000;

export class EventTail {
  readonly #options: EventTailOptions;
  readonly #waiting = new Set<() => void>();
  #listeners = 0;
  #recent: RecordedEvent[] = [];
  /** The buffer holds every event after this position. */
  #from: EventCursor | undefined;
  #through: EventCursor | undefined;
  #isReading = false;
  #isNudged = false;
  #isBehind = false;
  readonly #held: LastingCondition;
  #heldSinceMs: number | undefined;
  #heldCheckedAt = Number.NEGATIVE_INFINITY;
  #cancelTimer: (() => void) | undefined;

  constructor(options: EventTailOptions) {
    this.#options = options;
    this.#held = new LastingCondition(options);
  }

  /** The age of the last event read while more wait to be read, or of the first that is recorded and held back. */
  get behindMs(): number {
    const sinceMs = this.#isBehind ? this.#recent.at(-1)?.atMs : this.#heldSinceMs;
    return sinceMs === undefined ? 0 : Math.max(0, this.#options.clock.now() - sinceMs);
  }

  /** Every event up to here has been read; undefined until the first read. */
  get through(): EventCursor | undefined {
    return this.#through;
  }

  /** Answers the function that stops listening. */
  join(): () => void {
    this.#listeners += 1;
    if (this.#listeners === 1 && !this.#isReading) this.#readIn(0);
    let joined = true;
    return () => {
      if (!joined) return;
      joined = false;
      this.#listeners -= 1;
      if (this.#listeners === 0 && !this.#isReading) this.#reset();
    };
  }

  /** A hint that events were recorded. */
  nudge(): void {
    if (this.#listeners === 0 || this.#isNudged) return;
    this.#isNudged = true;
    if (!this.#isReading && !this.#isBehind) this.#readIn(NUDGED_MS);
  }

  /** The first buffered events after the position; undefined when the buffer begins later. */
  after(position: EventCursor, limit: number): readonly RecordedEvent[] | undefined {
    if (!this.#from || compareEventCursors(position, this.#from) < 0) return undefined;
    let low = 0;
    let high = this.#recent.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compareEventCursors(this.#recent[middle]!.cursor, position) <= 0) low = middle + 1;
      else high = middle;
    }
    return this.#recent.slice(low, low + limit);
  }

  /** Resolves when more was read, or the signal aborts. */
  changed(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const done = () => {
        this.#waiting.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      this.#waiting.add(done);
      signal.addEventListener('abort', done, { once: true });
    });
  }

  #readIn(delayMs: number): void {
    this.#cancelTimer?.();
    this.#cancelTimer = this.#options.clock.timer(delayMs, () => void this.#read());
  }

  async #read(): Promise<void> {
    const { store, clock, log } = this.#options;
    const startedAt = clock.monotonic();
    this.#isReading = true;
    this.#isNudged = false;
    let delayMs = POLL_MS;
    try {
      if (this.#through) {
        const page = await store.read(this.#through, BATCH_MAX);
        this.#append(page);
        this.#isBehind = page.hasMore;
        if (page.hasMore) delayMs = clock.monotonic() - startedAt;
        await this.#lookForHeld(page);
      } else {
        this.#from = await store.end();
        this.#through = this.#from;
        this.#wake();
      }
    } catch (error) {
      log.warn({ err: error }, 'could not read events; trying again');
      delayMs = FAILED_MS;
    }
    this.#isReading = false;
    if (this.#listeners === 0) this.#reset();
    else this.#readIn(this.#isNudged ? Math.min(NUDGED_MS, delayMs) : delayMs);
  }

  /** Events are told in one order: one waits for every transaction of the database server that began before its own. */
  async #lookForHeld({ events, through }: EventPage): Promise<void> {
    const { store, clock, log } = this.#options;
    if (events.length > 0) {
      this.#heldSinceMs = undefined;
      const lastedMs = this.#held.end();
      if (lastedMs !== undefined) log.info({ lastedMs }, 'events are told again');
      return;
    }
    if (clock.monotonic() - this.#heldCheckedAt < HELD_CHECK_MS) return;
    this.#heldCheckedAt = clock.monotonic();
    const recordedAtMs = await store.recordedAfter(through);
    // What was recorded a moment ago is read by the next look.
    const isHeld = recordedAtMs !== undefined && clock.now() - recordedAtMs >= HELD_MS;
    this.#heldSinceMs = isHeld ? recordedAtMs : undefined;
    if (isHeld && this.#held.notice())
      log.warn(
        { behindMs: this.behindMs },
        'events wait for a transaction that began before them and is still open somewhere on the database server; pg_stat_activity names it (backend_xid)',
      );
  }

  #append({ events, through }: EventPage): void {
    this.#through = through;
    if (events.length === 0) return;
    this.#recent.push(...events);
    const surplus = this.#recent.length - RECENT_MAX;
    if (surplus > 0) this.#from = this.#recent.splice(0, surplus).at(-1)!.cursor;
    this.#wake();
  }

  #wake(): void {
    for (const done of [...this.#waiting]) done();
  }

  #reset(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#recent = [];
    this.#from = undefined;
    this.#through = undefined;
    this.#isBehind = false;
    this.#heldSinceMs = undefined;
  }
}
