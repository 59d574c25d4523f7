/** Reports that events may be missing, to a reader that returns too late or from another database. */
import {
  compareEventCursors,
  type EventCursor,
  FIRST_EVENT_CURSOR,
  generationOf,
  type RecordedEvent,
} from '@carillon/domain';
import type { EventStore } from '../storage/event-store.ts';

export async function gapAfter(
  after: EventCursor,
  { store, nowMs }: { store: EventStore; nowMs: number },
): Promise<{ event: RecordedEvent; continueAfter: EventCursor } | undefined> {
  // From the beginning, as far as events are kept.
  if (after.xid === FIRST_EVENT_CURSOR.xid) return undefined;
  const [oldest, end] = await Promise.all([store.oldest(), store.end()]);
  const event: RecordedEvent = {
    cursor: after,
    kind: 'gap',
    atMs: nowMs,
    job: undefined,
    run: undefined,
    member: undefined,
  };
  // A position that does not exist yet is from another database, or from after the backup that was restored.
  if (compareEventCursors(after, end) > 0) return { event, continueAfter: end };
  // The database was replaced since: the last events delivered may never have happened. All that happened instead follow.
  if (generationOf(after) < generationOf(end)) return { event, continueAfter: after };
  return oldest && compareEventCursors(after, oldest) < 0 ? { event, continueAfter: after } : undefined;
}
