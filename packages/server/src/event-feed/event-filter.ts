/** Which events a listener requested, and what of them the caller may see: an event is delivered if both hold. */
import {
  type Caller,
  DEFAULT_NAMESPACE,
  EVERYWHERE,
  type EventSelection,
  eventShownTo,
  may,
  type RecordedEvent,
  visibleTo,
} from '@carillon/domain';
import type { EventStore } from '../storage/event-store.ts';

export type EventFilter = EventSelection;
export type EventTest = (event: Pick<RecordedEvent, 'cursor' | 'kind' | 'job' | 'member'>) => boolean;
/** The event as a caller may see it; undefined: not at all. */
export type EventView = (event: RecordedEvent) => RecordedEvent | undefined;

/** A gap is reported whatever the filter says. */
export function wantedBy(filter: EventFilter): (event: RecordedEvent) => boolean {
  const { kinds, jobId, runId, namespace, userId, handler } = filter;
  const labels = Object.entries(filter.labels ?? {});
  return ({ kind, job, run }) =>
    kind === 'gap' ||
    ((kinds === undefined || kinds.some((wanted) => kind === wanted || kind.startsWith(`${wanted}.`))) &&
      (jobId === undefined || jobId === (job?.jobId ?? run?.jobId)) &&
      (runId === undefined || runId === run?.runId) &&
      (namespace === undefined || namespace === job?.namespace) &&
      (userId === undefined || userId === job?.userId) &&
      (handler === undefined || handler === job?.handler) &&
      labels.every(([name, value]) => job?.labels[name] === value));
}

/**
 * Events of deleted jobs, whose namespace is unknown, go only to callers who see every job; so do those of a namespace that was
 * removed and made again.
 */
export async function eventViewOf(
  caller: Caller,
  store: Pick<EventStore, 'namespacesBegan'>,
): Promise<EventView> {
  const isVisible = await visibleEvents(caller, store);
  return (event) => (isVisible(event) ? eventShownTo(caller, event) : undefined);
}

/** The same without what of an event is shown. */
export async function visibleEvents(
  caller: Caller,
  store: Pick<EventStore, 'namespacesBegan'>,
): Promise<EventTest> {
  const visible = visibleTo(caller, 'events.read');
  const names = visible?.map(({ namespace }) => namespace).filter((name) => name !== DEFAULT_NAMESPACE) ?? [];
  const began = names.length === 0 ? new Map<string, number>() : await store.namespacesBegan(names);
  const seesMembers = may(caller, 'events.read') && may(caller, 'workers.read');
  return ({ kind, job, member, cursor }) => {
    if (kind === 'gap') return true;
    if (member) return seesMembers;
    if (visible === undefined) return true;
    return (
      job !== undefined &&
      visible.some(
        ({ namespace, userId }) =>
          (namespace === EVERYWHERE ||
            (namespace === job.namespace && cursor.seq > (began.get(namespace) ?? 0))) &&
          (userId === undefined || userId === job.userId),
      )
    );
  };
}
