/**
 * Live updates for pages: what changed, at most once a second for each connection. What connections with the same rights see is
 * computed once for all of them. Nothing is buffered for a slow reader: it is told to read everything again. While many things
 * change, pages are told so at most every five seconds, and not all in the same second.
 */
import { type Caller, type EventCursor, may, requireMay, visibleTo } from '@carillon/domain';
import type { Clock, Log } from '@carillon/foundation';
import { claimantOf, type SharedLimit } from '../shared-limit/shared-limit.ts';
import type { EventStore } from '../storage/event-store.ts';
import { type EventTest, visibleEvents } from './event-filter.ts';
import { gapAfter } from './gap-after.ts';
import {
  changeOf,
  isNothing,
  isTooMuch,
  type LiveChange,
  type LiveUpdate,
  NO_CHANGE,
  updateOf,
  withoutNames,
} from './live-change.ts';
import { LiveTail, type LiveTick, readChanges } from './live-tail.ts';

export interface LiveQuery {
  /** Undefined: all that the caller may see. */
  readonly namespace?: string | undefined;
  /** The position of the last update received; undefined: from now on. */
  readonly after?: EventCursor | undefined;
}

/** Where updates go. */
export interface LiveSink {
  /** The last update was taken. */
  isReady(): boolean;
  send(update: LiveUpdate): void;
  /** No more will come. */
  end(): void;
}

export interface LiveConnection {
  /** From here on it hears of what the caller may see now. */
  updateCaller(caller: Caller): Promise<void>;
  close(): void;
}

export interface LiveFeedOptions {
  readonly store: EventStore;
  readonly clock: Clock;
  readonly log: Log;
  /** Of all listeners. */
  readonly limit: SharedLimit;
}

const TICK_MS = 1_000;
/** After a hint; changes that come together are told together. */
const NUDGED_MS = 20;
const REFETCH_MS = 5_000;
/** Connections that break for a moment find what they missed, also when there was no other one. */
const LINGER_MS = 30_000;
/** How soon a namespace that was made again is known to be another one. */
const VIEW_MS = 15_000;

/** Connections that see the same. */
interface Audience {
  readonly key: string;
  readonly caller: Caller;
  readonly namespace: string | undefined;
  isVisible: EventTest;
  viewedAtMs: number;
  readonly members: Set<Member>;
}

interface Member {
  readonly sink: LiveSink;
  readonly query: LiveQuery;
  audience: Audience;
  isNew: boolean;
  /** Something changed that it was not told of. */
  owesRefetch: boolean;
  nextRefetchMs: number;
}

export class LiveFeed {
  readonly #options: LiveFeedOptions;
  readonly #tail: LiveTail;
  readonly #audiences = new Map<string, Audience>();
  #opened = 0;
  #isTicking = false;
  #isNudged = false;
  #tickedAtMs = Number.NEGATIVE_INFINITY;
  #idleSinceMs: number | undefined;
  #cancelTimer: (() => void) | undefined;
  #isClosed = false;

  constructor(options: LiveFeedOptions) {
    this.#options = options;
    this.#tail = new LiveTail(options);
  }

  /** The first update comes within a second and tells where the reader is, also if nothing changed. Close it when done. */
  async open(caller: Caller, query: LiveQuery, sink: LiveSink): Promise<LiveConnection> {
    requireMay(caller, 'events.read');
    const leave = this.#options.limit.join(claimantOf(caller, 'events.read'));
    try {
      const audience = await this.#audienceOf(caller, query.namespace);
      const nowMs = this.#options.clock.monotonic();
      const spreadMs = (this.#opened++ % (REFETCH_MS / TICK_MS)) * TICK_MS;
      const member: Member = {
        ...{ sink, query, audience },
        ...{ isNew: true, owesRefetch: false, nextRefetchMs: nowMs + spreadMs },
      };
      this.#join(member, audience);
      if (!this.#isTicking && !this.#cancelTimer) void this.#tick();
      return {
        updateCaller: async (now) => {
          requireMay(now, 'events.read');
          const next = await this.#audienceOf(now, query.namespace);
          if (next === member.audience || !member.audience.members.has(member)) return;
          this.#leave(member);
          this.#join(member, next);
        },
        close: () => {
          leave();
          this.#leave(member);
        },
      };
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** For programs that poll: what changed after the position, read from the storage. */
  async read(caller: Caller, { namespace, after }: LiveQuery): Promise<LiveUpdate> {
    requireMay(caller, 'events.read');
    const { store, clock } = this.#options;
    const asOfMs = clock.now();
    if (!after) return updateOf(NO_CHANGE, { position: await store.end(), asOfMs, refetch: false });
    const gap = await gapAfter(after, { store, nowMs: asOfMs });
    const read = gap ? undefined : await readChanges(store, after, clock);
    if (!read?.isComplete) return updateOf(NO_CHANGE, { position: await store.end(), asOfMs, refetch: true });
    const change = changeOf(read.events, await this.#viewOf(caller, namespace));
    const refetch = isTooMuch(change);
    const named = refetch ? withoutNames(change) : change;
    return updateOf(named, { position: read.through, asOfMs, refetch });
  }

  /** A hint that events were recorded. */
  nudge(): void {
    if (this.#audiences.size === 0 || this.#isTicking || this.#isNudged || this.#isClosed) return;
    this.#isNudged = true;
    const sinceMs = this.#options.clock.monotonic() - this.#tickedAtMs;
    this.#tickIn(Math.max(NUDGED_MS, TICK_MS - sinceMs));
  }

  /** Ends every connection. */
  close(): void {
    this.#isClosed = true;
    this.#cancelTimer?.();
    for (const { members } of [...this.#audiences.values()]) for (const { sink } of [...members]) sink.end();
  }

  #tickIn(delayMs: number): void {
    this.#cancelTimer?.();
    this.#cancelTimer = this.#options.clock.timer(delayMs, () => void this.#tick());
  }

  async #tick(): Promise<void> {
    const { clock, log } = this.#options;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#isTicking = true;
    this.#isNudged = false;
    this.#tickedAtMs = clock.monotonic();
    try {
      const tick = await this.#tail.read();
      for (const audience of [...this.#audiences.values()]) {
        if (await this.#refreshView(audience)) this.#deliver(audience, tick);
        else this.#owe(audience, tick);
      }
    } catch (error) {
      log.warn({ err: error }, 'could not read what changed; trying again');
    }
    this.#isTicking = false;
    if (this.#isClosed) return;
    const nowMs = clock.monotonic();
    this.#idleSinceMs = this.#audiences.size > 0 ? undefined : (this.#idleSinceMs ?? nowMs);
    if (this.#idleSinceMs !== undefined && nowMs - this.#idleSinceMs >= LINGER_MS) {
      this.#idleSinceMs = undefined;
      this.#tail.reset();
    } else this.#tickIn(Math.max(NUDGED_MS, TICK_MS - (nowMs - this.#tickedAtMs)));
  }

  /** Told by nobody: the tail has moved on. Whoever is new is told of everything by its first update. */
  #owe({ members }: Audience, { events, isSkipped }: LiveTick): void {
    if (events.length === 0 && !isSkipped) return;
    for (const member of members) if (!member.isNew) member.owesRefetch = true;
  }

  #deliver({ members, isVisible }: Audience, tick: LiveTick): void {
    const { clock } = this.#options;
    const [nowMs, asOfMs, position] = [clock.monotonic(), clock.now(), this.#tail.through];
    const change = changeOf(tick.events, isVisible);
    const tooMuch = tick.isSkipped || isTooMuch(change);
    // One for all whose answer it is.
    const shared = updateOf(tooMuch ? NO_CHANGE : change, { position, asOfMs, refetch: false });
    const readAgain = updateOf(NO_CHANGE, { position, asOfMs, refetch: true });
    for (const member of [...members]) {
      if (member.isNew) {
        member.isNew = false;
        member.sink.send(this.#welcome(member, { position, asOfMs }));
        continue;
      }
      const isHit = tooMuch || !isNothing(change);
      if (!isHit && !member.owesRefetch) continue;
      if (!member.sink.isReady()) {
        member.owesRefetch = true;
        continue;
      }
      member.owesRefetch ||= tooMuch;
      if (member.owesRefetch && nowMs >= member.nextRefetchMs) {
        member.owesRefetch = false;
        member.nextRefetchMs = nowMs + REFETCH_MS;
        member.sink.send(readAgain);
      } else if (!member.owesRefetch) member.sink.send(shared);
      else if (isHit) this.#tellMeanwhile(member, tooMuch ? withoutNames(change) : change, asOfMs);
    }
  }

  /** Without a position: whoever comes back after it is still told of what it was not told of. */
  #tellMeanwhile({ sink }: Member, change: LiveChange, asOfMs: number): void {
    if (!isNothing(change)) sink.send(updateOf(change, { position: undefined, asOfMs, refetch: false }));
  }

  /** The first update: what was missed, or that it is not known any more. */
  #welcome(member: Member, at: Pick<LiveUpdate, 'position' | 'asOfMs'>): LiveUpdate {
    const { query, audience } = member;
    if (!query.after) return updateOf(NO_CHANGE, { ...at, refetch: false });
    const missed = this.#tail.after(query.after);
    if (!missed) return updateOf(NO_CHANGE, { ...at, refetch: true });
    const change = changeOf(missed, audience.isVisible);
    const refetch = isTooMuch(change);
    return updateOf(refetch ? withoutNames(change) : change, { ...at, refetch });
  }

  #join(member: Member, audience: Audience): void {
    // Another one with the same rights may have come meanwhile.
    const joined = this.#audiences.get(audience.key) ?? audience;
    member.audience = joined;
    joined.members.add(member);
    this.#audiences.set(joined.key, joined);
    this.#idleSinceMs = undefined;
  }

  #leave(member: Member): void {
    const { audience } = member;
    audience.members.delete(member);
    if (audience.members.size === 0) this.#audiences.delete(audience.key);
  }

  async #audienceOf(caller: Caller, namespace: string | undefined): Promise<Audience> {
    const rights = [visibleTo(caller, 'events.read') ?? null, may(caller, 'workers.read')];
    const key = JSON.stringify([...rights, namespace ?? null]);
    const known = this.#audiences.get(key);
    if (known) return known;
    const isVisible = await this.#viewOf(caller, namespace);
    const viewedAtMs = this.#options.clock.monotonic();
    return { key, caller, namespace, isVisible, viewedAtMs, members: new Set() };
  }

  /** Answers whether the view is still right: what cannot be read again keeps only its own connections waiting, until the next tick. */
  async #refreshView(audience: Audience): Promise<boolean> {
    const { clock, log } = this.#options;
    const nowMs = clock.monotonic();
    if (nowMs - audience.viewedAtMs < VIEW_MS) return true;
    try {
      audience.isVisible = await this.#viewOf(audience.caller, audience.namespace);
    } catch (error) {
      log.warn({ err: error }, 'could not read what some pages may see; trying again');
      return false;
    }
    audience.viewedAtMs = nowMs;
    return true;
  }

  async #viewOf(caller: Caller, namespace: string | undefined): Promise<EventTest> {
    const isVisible = await visibleEvents(caller, this.#options.store);
    return (event) =>
      isVisible(event) &&
      (namespace === undefined || event.member !== undefined || event.job?.namespace === namespace);
  }
}
