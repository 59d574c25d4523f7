/** Tells a reader who comes back after too long, or from another database, that events may have been missed. */
import {
  comparePlaces,
  type EventPlace,
  FIRST_PLACE,
  generationOf,
  type RecordedEvent,
} from '@carillon/domain';
import type { EventStore } from '../../storage/event-store.ts';

export async function gapAfter(
  after: EventPlace,
  { store, nowMs }: { store: EventStore; nowMs: number },
): Promise<{ event: RecordedEvent; continueAfter: EventPlace } | undefined> {
  // From the very beginning, whatever is left of it.
  if (after.xid === FIRST_PLACE.xid) return undefined;
  const [oldest, end] = await Promise.all([store.oldest(), store.end()]);
  const event: RecordedEvent = {
    place: after,
    kind: 'gap',
    atMs: nowMs,
    job: undefined,
    run: undefined,
    member: undefined,
  };
  // A place that does not exist yet is one of another database, or of a past that a restored backup does not know.
  if (comparePlaces(after, end) > 0) return { event, continueAfter: end };
  // The database was replaced since: what was told last may never have happened. What happened instead is all told.
  if (generationOf(after) < generationOf(end)) return { event, continueAfter: after };
  return oldest && comparePlaces(after, oldest) < 0 ? { event, continueAfter: after } : undefined;
}
