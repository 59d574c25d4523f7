/**
 * Reading what happened, in one order that never changes: an event that becomes visible comes after all that were visible
 * before. Events are recorded by the other stores, in the transaction of the change they tell of.
 */
import type { EventCursor, EventKind, RecordedEvent } from '@carillon/domain';
import type { JobChange } from './job-store.ts';

export interface EventPage {
  readonly events: readonly RecordedEvent[];
  /** Where reading goes on; also past what had nothing left to tell. */
  readonly through: EventCursor;
  readonly hasMore: boolean;
}

export interface EventStore {
  /** After everything that can be read now. */
  end(): Promise<EventCursor>;
  /** Of the oldest event that is kept; undefined when there is none. */
  oldest(): Promise<EventCursor | undefined>;
  /**
   * By the seq of cursors: events up to there tell of a namespace that had the name before. Names that do not exist are left out. A
   * job is deleted after its last run has ended, and a namespace removed after its last job: nothing is told of them later.
   */
  namespacesBegan(names: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** What comes after the cursor: at most about as many as asked for, since a row is read whole. */
  read(after: EventCursor, limit: number): Promise<EventPage>;
  /** How many can be read after the cursor, up to `max`, with little work for many. The end of a run that was given up may count once or twice. */
  countAfter(after: EventCursor, max: number): Promise<number>;
  /** When the first event after the cursor was recorded, whether it can be read already or not; undefined when there is none. */
  recordedAfter(after: EventCursor): Promise<number | undefined>;
}

/** The event of a change of a job. */
export function kindOfChange({ pending }: Pick<JobChange, 'pending'>): EventKind {
  switch (pending.kind) {
    case 'drop':
      return 'job.cancelled';
    case 'hold':
      return 'job.paused';
    case 'release':
      return 'job.resumed';
    default:
      return 'job.updated';
  }
}
