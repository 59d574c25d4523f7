/** Which events a listener requested, and which of them the caller may see: an event is delivered if both hold. */
import {
  type Caller,
  EVERYWHERE,
  type EventSelection,
  may,
  type RecordedEvent,
  visibleTo,
} from '@carillon/domain';

export type EventFilter = EventSelection;
export type EventTest = (event: RecordedEvent) => boolean;

/** A gap is reported whatever the filter says. */
export function wantedBy(filter: EventFilter): EventTest {
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

/** Events of deleted jobs, whose namespace is unknown, go only to callers who see every job. */
export function visibleEvents(caller: Caller): EventTest {
  const visible = visibleTo(caller, 'events.read');
  const seesMembers = may(caller, 'events.read') && may(caller, 'workers.read');
  return ({ kind, job, member }) => {
    if (kind === 'gap') return true;
    if (member) return seesMembers;
    if (visible === undefined) return true;
    return (
      job !== undefined &&
      visible.some(
        ({ namespace, userId }) =>
          (namespace === EVERYWHERE || namespace === job.namespace) &&
          (userId === undefined || userId === job.userId),
      )
    );
  };
}
