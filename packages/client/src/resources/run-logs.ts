/** What a run wrote: as text, and line by line while it goes on. A stream that breaks goes on after the last line that was seen. */
import { followMessages } from '../wire/follow-stream.ts';
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
  /** Called each time the stream is open. */
  readonly onOpen?: (() => void) | undefined;
  /** Called each time it has broken or could not be opened, with why if it is known: it is tried again until the signal aborts. */
  readonly onLost?: ((error: unknown) => void) | undefined;
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
  { signal, onOpen, onLost, ...query }: TailOptions,
): AsyncGenerator<LogMessage, void, undefined> {
  const stream = followMessages(transport, { path, query: { ...query }, signal, onOpen, onLost });
  for await (const { event, data } of stream) {
    const kind = event as LogMessage['kind'];
    yield { kind, ...JSON.parse(data) } as LogMessage;
    if (kind === 'end') return;
  }
}
