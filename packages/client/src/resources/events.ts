/**
 * What happens, as it happens. A stream that breaks is taken up again after the last event that was seen, so that nothing
 * is missed and nothing comes twice, as long as the server still keeps it.
 */
import type { CarillonEvent, EventSelection } from '../generated/types.ts';
import { type LatestEvents, latestEvents } from '../latest-events.ts';
import { followStream } from '../wire/follow-stream.ts';
import { type List, nextQuery } from '../wire/list.ts';
import { type PageQuery, Resource } from './resource.ts';

export interface EventFilter extends EventSelection {
  /** Continues after this event. Left out: from now on. */
  readonly lastEventId?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called each time the stream is open: what happened before may have to be looked up. */
  readonly onOpen?: (() => void) | undefined;
}

export class Events extends Resource {
  /** What has happened and is still kept, oldest first. */
  list({ lastEventId, signal, onOpen: _, ...query }: EventFilter & PageQuery = {}): List<CarillonEvent> {
    return this.readList('/events', { ...query, last_event_id: lastEventId }, { signal });
  }

  /** The newest of what has happened, at most so many; with `since`, none before that instant. */
  latest({
    count,
    since,
    lastEventId: _,
    onOpen: __,
    signal,
    ...query
  }: EventFilter & { readonly count: number; readonly since?: Date | undefined }): Promise<LatestEvents> {
    const read = async (after: string, limit: number) => {
      const { body, headers } = await this.transport.answer<CarillonEvent[]>({
        method: 'GET',
        path: '/events',
        query: { ...query, last_event_id: after, limit },
        signal,
      });
      const through = nextQuery(headers.get('link'))?.last_event_id?.[0];
      return { events: body, through: through ?? body.at(-1)?.id ?? after };
    };
    return latestEvents(read, { count, sinceMs: since?.getTime() });
  }

  /** Goes on until the signal aborts (it then ends without an error) or the loop is left. */
  stream(filter: EventFilter = {}): AsyncGenerator<CarillonEvent, void, undefined> {
    const { lastEventId, signal, onOpen, ...query } = filter;
    return followStream<CarillonEvent>(this.transport, {
      path: '/events',
      query,
      lastEventId,
      signal,
      onOpen,
    });
  }
}
