/**
 * What happens, as it happens. A stream that breaks is taken up again after the last event that was seen, so that nothing
 * is missed and nothing comes twice, as long as the server still keeps it.
 */
import { CarillonError } from '../carillon-error.ts';
import type { CarillonEvent, EventSelection } from '../generated/types.ts';
import { type LatestEvents, latestEvents } from '../latest-events.ts';
import { backoffMs, pause } from '../wire/backoff.ts';
import { type List, nextQuery } from '../wire/list.ts';
import { parseEventStream, type StreamMessage } from '../wire/parse-event-stream.ts';
import { type PageQuery, Resource } from './resource.ts';

export interface EventFilter extends EventSelection {
  /** Continues after this event. Left out: from now on. */
  readonly lastEventId?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called each time the stream is open: what happened before may have to be looked up. */
  readonly onOpen?: (() => void) | undefined;
}

/** The server beats every 15 s. A connection that is silent for longer is dead, whatever the network says. */
export const SILENCE_MS_MAX = 45_000;
export const OPEN_MS_MAX = 15_000;

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
  async *stream(filter: EventFilter = {}): AsyncGenerator<CarillonEvent, void, undefined> {
    const { signal } = filter;
    let lastEventId = filter.lastEventId;
    let retryMs: number | undefined;
    let failures = 0;
    while (signal?.aborted !== true) {
      const watch = new SilenceWatch(signal);
      try {
        for await (const message of this.#connect({ ...filter, lastEventId }, watch)) {
          failures = 0;
          retryMs = message.retryMs ?? retryMs;
          lastEventId = message.id || lastEventId;
          if (message.data) yield JSON.parse(message.data) as CarillonEvent;
        }
      } catch (error) {
        if (signal?.aborted) return;
        if (!isPassing(error)) throw error;
      } finally {
        watch.end();
      }
      failures += 1;
      const waitMs = Math.max(failures === 1 ? (retryMs ?? 0) : 0, backoffMs(failures));
      await pause(waitMs, signal).catch(() => undefined);
    }
  }

  async *#connect(filter: EventFilter, watch: SilenceWatch): AsyncGenerator<StreamMessage, void, undefined> {
    const { lastEventId, signal: _, onOpen, ...query } = filter;
    watch.expectWithin(OPEN_MS_MAX);
    const response = await this.transport.open({
      method: 'GET',
      path: '/events',
      query,
      headers: {
        accept: 'text/event-stream',
        ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
      },
      signal: watch.signal,
    });
    if (!response.headers.get('content-type')?.startsWith('text/event-stream') || !response.body) {
      await response.body?.cancel();
      throw new CarillonError({
        code: 'answer_unreadable',
        message: 'The server did not answer with a stream of events.',
        fix: 'Check that nothing between here and the server changes its answers.',
        status: response.status,
      });
    }
    onOpen?.();
    yield* parseEventStream(heard(response.body, watch));
  }
}

export async function* heard(
  body: ReadableStream<Uint8Array>,
  watch: SilenceWatch,
): AsyncGenerator<Uint8Array> {
  // By its reader: not every browser walks a stream with `for await`.
  const reader = body.getReader();
  try {
    for (;;) {
      watch.expectWithin(SILENCE_MS_MAX);
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** Refusals stay what they are however often one asks; everything else may pass. */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof CarillonError) || error.status === undefined) return true;
  return error.status === 429 || error.status >= 500;
}

/** Aborts its signal when the outer one does, or when nothing was heard for too long. */
export class SilenceWatch {
  readonly #silence = new AbortController();
  readonly signal: AbortSignal;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(outer: AbortSignal | undefined) {
    this.signal = outer ? AbortSignal.any([outer, this.#silence.signal]) : this.#silence.signal;
  }

  expectWithin(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#silence.abort(new Error('the event stream fell silent')), ms);
  }

  /** Also closes the connection of a stream that is being left. */
  end(): void {
    clearTimeout(this.#timer);
    this.#silence.abort();
  }
}
