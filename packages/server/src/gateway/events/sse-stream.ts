/**
 * A stream of events as the body of an answer (Server-Sent Events). The connection pulls it: a slow reader is written to
 * slowly, and one that stops reading is disconnected. The caller's permissions are checked again while it lasts.
 */
import { Readable } from 'node:stream';
import { sseMessage } from '@carillon/contract';
import type { Caller } from '@carillon/domain';
import { type Clock, sleep } from '@carillon/foundation';
import type { EventStream } from '../../event-feed/event-stream.ts';
import { HEARTBEAT_MS, RightsCheck, STALLED_MS_MAX } from './rights-check.ts';

export interface SseOptions {
  readonly events: EventStream;
  readonly clock: Clock;
  /** Authenticates again; rejects when the credential is no longer valid. */
  readonly authenticate: () => Promise<Caller>;
  /** The server is stopping. */
  readonly stopping: AbortSignal;
}

export const SSE_GREETING = 'retry: 2000\n: connected\n\n';
export const BUFFERED_BYTES = 16 * 1_024;

export function sseStream({ events, clock, authenticate, stopping }: SseOptions): Readable {
  const ended = new AbortController();
  const taken = { at: clock.monotonic() };
  const batches = events.batches();
  let isPulling = false;
  /** A heartbeat makes the connection read again, also while it waits for events: one pull at a time is enough. */
  const pull = async () => {
    if (isPulling) return;
    isPulling = true;
    try {
      const { done, value } = await batches.next();
      if (done) end();
      else if (!ended.signal.aborted) body.push(value.map(sseMessage).join(''));
    } catch (error) {
      body.destroy(error as Error);
    }
    isPulling = false;
  };
  const end = () => {
    if (ended.signal.aborted) return;
    ended.abort();
    events.close();
    stopping.removeEventListener('abort', end);
    if (!body.destroyed) body.push(null);
  };
  const body = new Readable({
    highWaterMark: BUFFERED_BYTES,
    read: () => {
      // Called only after the connection took something.
      taken.at = clock.monotonic();
      void pull();
    },
    destroy(error, done) {
      end();
      done(error);
    },
  });
  body.push(SSE_GREETING);
  if (stopping.aborted) end();
  stopping.addEventListener('abort', end, { once: true });
  const rights = new RightsCheck({ events, recognise: authenticate });
  void keepAlive({ body, taken, clock, rights, end, signal: ended.signal });
  return body;
}

interface KeepAlive {
  readonly body: Readable;
  /** When the connection last took something. */
  readonly taken: { readonly at: number };
  readonly clock: Clock;
  readonly rights: Pick<RightsCheck, 'runOnce'>;
  readonly end: () => void;
  readonly signal: AbortSignal;
}

/** Sends heartbeats, disconnects a reader that takes nothing, and checks the caller's permissions. */
export async function keepAlive({ body, taken, clock, rights, end, signal }: KeepAlive): Promise<void> {
  for (;;) {
    await sleep(clock, HEARTBEAT_MS, signal);
    if (signal.aborted) return;
    if (body.readableLength === 0) body.push(': still here\n\n');
    else if (clock.monotonic() - taken.at > STALLED_MS_MAX) {
      body.destroy();
      return;
    }
    if (await rights.runOnce()) return end();
  }
}
