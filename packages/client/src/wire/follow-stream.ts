/**
 * Follows a stream of Server-Sent Events. One that breaks is taken up again after the last message that had an id, so that nothing is
 * missed that the server still knows of.
 */
import { CarillonError } from '../carillon-error.ts';
import { backoffMs, pause } from './backoff.ts';
import { parseEventStream, type StreamMessage } from './parse-event-stream.ts';
import type { Call, Transport } from './transport.ts';

export interface StreamOptions {
  readonly path: string;
  readonly query?: Call['query'];
  readonly lastEventId?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called each time the stream is open. */
  readonly onOpen?: (() => void) | undefined;
  /** Called with everything that arrives, also beats that carry nothing. */
  readonly onHeard?: (() => void) | undefined;
  /** Called each time it has broken or could not be opened, with why if it is known, before it is tried again. */
  readonly onLost?: ((error: unknown) => void) | undefined;
}

/** The server beats every 15 s. A connection that is silent for longer is dead, whatever the network says. */
export const SILENCE_MS_MAX = 45_000;
const OPEN_MS_MAX = 15_000;

/** What messages carry, one after the other. */
export async function* followStream<T>(
  transport: Transport,
  options: StreamOptions,
): AsyncGenerator<T, void, undefined> {
  for await (const { data } of followMessages(transport, options)) yield JSON.parse(data) as T;
}

/** Messages that carry something. Goes on until the signal aborts (it then ends without an error) or the loop is left. */
export async function* followMessages(
  transport: Transport,
  options: StreamOptions,
): AsyncGenerator<{ event: string | undefined; data: string }, void, undefined> {
  const { signal } = options;
  let { lastEventId } = options;
  let retryMs: number | undefined;
  let failures = 0;
  while (signal?.aborted !== true) {
    const watch = new SilenceWatch(signal);
    let lostBy: unknown;
    try {
      for await (const message of connect(transport, { ...options, lastEventId }, watch)) {
        failures = 0;
        retryMs = message.retryMs ?? retryMs;
        lastEventId = message.id || lastEventId;
        const { event, data } = message;
        if (data) yield { event, data };
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (!isPassing(error)) throw error;
      lostBy = error;
    } finally {
      watch.end();
    }
    options.onLost?.(lostBy);
    failures += 1;
    const waitMs = Math.max(failures === 1 ? (retryMs ?? 0) : 0, backoffMs(failures));
    await pause(waitMs, signal).catch(() => undefined);
  }
}

async function* connect(
  transport: Transport,
  { path, query, lastEventId, onOpen, onHeard }: StreamOptions,
  watch: SilenceWatch,
): AsyncGenerator<StreamMessage, void, undefined> {
  watch.expectWithin(OPEN_MS_MAX);
  const response = await transport.open({
    ...{ method: 'GET', path, query },
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
  yield* parseEventStream(heard(response.body, watch, onHeard));
}

async function* heard(
  body: ReadableStream<Uint8Array>,
  watch: SilenceWatch,
  onHeard: StreamOptions['onHeard'],
): AsyncGenerator<Uint8Array> {
  // By its reader: not every browser walks a stream with `for await`.
  const reader = body.getReader();
  try {
    for (;;) {
      watch.expectWithin(SILENCE_MS_MAX);
      const { done, value } = await reader.read();
      if (done) return;
      onHeard?.();
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** Refusals stay what they are however often one asks; everything else may pass. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof CarillonError) || error.status === undefined) return true;
  return error.status === 429 || error.status >= 500;
}

/** Aborts its signal when the outer one does, or when nothing was heard for too long. */
class SilenceWatch {
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
