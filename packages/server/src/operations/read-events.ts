/** A page of what happened, oldest first, and the place to go on from: for programs that ask now and then. */
import { type Caller, type EventPlace, FIRST_PLACE, type RecordedEvent, requireMay } from '@carillon/domain';
import { type EventFilter, visibleEvents, wantedBy } from './event-feed/event-filter.ts';
import { gapAfter } from './event-feed/gap-after.ts';
import type { OperationPorts } from './operation-ports.ts';

export interface ReadEventsQuery {
  readonly filter: EventFilter;
  /** Undefined: from the oldest that is kept. */
  readonly after: EventPlace | undefined;
  readonly limit: number;
}

export interface EventsRead {
  readonly events: readonly RecordedEvent[];
  readonly through: EventPlace;
  readonly hasMore: boolean;
}

/** A filter that lets little through makes a page short, not slow: the rest is on the next one. */
const READS_MAX = 10;
const READ_MAX = 1_000;

export function readEvents(ports: OperationPorts) {
  return async (caller: Caller, { filter, after, limit }: ReadEventsQuery): Promise<EventsRead> => {
    requireMay(caller, 'events.read');
    const { events: store } = ports.storage;
    const [isWanted, isVisible] = [wantedBy(filter), visibleEvents(caller)];
    const found: RecordedEvent[] = [];
    let through = after ?? FIRST_PLACE;
    const gap = await gapAfter(through, { store, nowMs: ports.clock.now() });
    if (gap) {
      found.push(gap.event);
      through = gap.continueAfter;
    }
    for (let reads = 0; reads < READS_MAX; reads += 1) {
      const page = await store.read(through, READ_MAX);
      for (const event of page.events) {
        if (!isVisible(event) || !isWanted(event)) continue;
        if (found.length >= limit) return { events: found, through: found.at(-1)!.place, hasMore: true };
        found.push(event);
      }
      through = page.through;
      if (!page.hasMore) return { events: found, through, hasMore: false };
    }
    return { events: found, through, hasMore: true };
  };
}
