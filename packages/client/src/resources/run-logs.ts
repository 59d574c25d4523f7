/** What a run wrote: as text, and line by line while it goes on. A stream that breaks goes on after the last line that was seen. */
import { CarillonError } from '../carillon-error.ts';
import { backoffMs, pause } from '../wire/backoff.ts';
import { heard, isPassing, OPEN_MS_MAX, SilenceWatch } from '../wire/follow-stream.ts';
import { parseEventStream, type StreamMessage } from '../wire/parse-event-stream.ts';
import type { CallOptions, Transport } from '../wire/transport.ts';

export interface LogFilter {
  /** Counted from 1. */
  readonly attempt?: number | undefined;
  readonly epoch?: number | undefined;
  readonly stream?: 'stdout' | 'stderr' | 'system' | readonly ('stdout' | 'stderr' | 'system')[] | undefined;
  /** Only lines that contain this. */
  readonly search?: string | undefined;
  /** An instant, or how long ago: `15m`. */
  readonly since?: string | Date | undefined;
}

export interface LogQuery extends LogFilter {
  /** Only so many lines at the end. */
  readonly tail?: number | undefined;
}

export interface TailOptions extends LogFilter {
  readonly signal?: AbortSignal | undefined;
}

export type LogMessage =
  | {
      readonly kind: 'line';
      readonly epoch: number;
      readonly at: string;
      readonly stream: 'stdout' | 'stderr' | 'system';
      readonly text: string;
    }
  /** The lines after it are of this attempt. */
  | { readonly kind: 'attempt'; readonly epoch: number; readonly attempt: number | null }
  | { readonly kind: 'end'; readonly status: string };

export async function readLogText(
  transport: Transport,
  path: string,
  { signal, timeoutMs: _, ...query }: LogQuery & CallOptions,
): Promise<string> {
  const response = await transport.open({
    ...{ method: 'GET', path, query: { ...query }, headers: { accept: 'text/plain' }, signal },
  });
  return response.text();
}

/** Until the run has ended; without an error when the signal aborts. */
export async function* tailLogs(
  transport: Transport,
  path: string,
  { signal, ...query }: TailOptions,
): AsyncGenerator<LogMessage, void, undefined> {
  let lastEventId: string | undefined;
  let failures = 0;
  while (signal?.aborted !== true) {
    const watch = new SilenceWatch(signal);
    try {
      for await (const message of connect(transport, { path, query, lastEventId, watch })) {
        failures = 0;
        lastEventId = message.id || lastEventId;
        if (!message.data) continue;
        const kind = message.event as LogMessage['kind'];
        yield { kind, ...JSON.parse(message.data) } as LogMessage;
        if (kind === 'end') return;
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (!isPassing(error)) throw error;
    } finally {
      watch.end();
    }
    failures += 1;
    await pause(backoffMs(failures), signal).catch(() => undefined);
  }
}

async function* connect(
  transport: Transport,
  options: { path: string; query: LogFilter; lastEventId: string | undefined; watch: SilenceWatch },
): AsyncGenerator<StreamMessage, void, undefined> {
  const { path, query, lastEventId, watch } = options;
  watch.expectWithin(OPEN_MS_MAX);
  const response = await transport.open({
    method: 'GET',
    path,
    query: { ...query },
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
      message: 'The server did not answer with a stream.',
      fix: 'Check that the server is of this version, and that nothing between here and the server changes its answers.',
      status: response.status,
    });
  }
  yield* parseEventStream(heard(response.body, watch));
}
