/**
 * Live updates as the body of an answer (Server-Sent Events). A connection holds at most one update that was not taken: one that does
 * not read is told to read everything again when it does, and disconnected when it does not for long.
 */
import { Readable } from 'node:stream';
import { liveMessage } from '@carillon/contract';
import type { Caller } from '@carillon/domain';
import type { Clock } from '@carillon/foundation';
import type { LiveUpdate } from '../../event-feed/live-change.ts';
import type { LiveConnection, LiveSink } from '../../event-feed/live-feed.ts';
import { RightsCheck } from './rights-check.ts';
import { BUFFERED_BYTES, keepAlive, SSE_GREETING } from './sse-stream.ts';

export interface LiveStreamOptions {
  readonly open: (sink: LiveSink) => Promise<LiveConnection>;
  readonly clock: Clock;
  /** Authenticates again; rejects when the credential is no longer valid. */
  readonly authenticate: () => Promise<Caller>;
  /** The server is stopping. */
  readonly stopping: AbortSignal;
}

/** An update goes to many connections, and is written once. */
const texts = new WeakMap<LiveUpdate, string>();

export async function liveStream(options: LiveStreamOptions): Promise<Readable> {
  const { open, clock, authenticate, stopping } = options;
  const ended = new AbortController();
  const taken = { at: clock.monotonic() };
  let connection: LiveConnection | undefined;
  const end = () => {
    if (ended.signal.aborted) return;
    ended.abort();
    connection?.close();
    stopping.removeEventListener('abort', end);
    if (!body.destroyed) body.push(null);
  };
  const body = new Readable({
    highWaterMark: BUFFERED_BYTES,
    // Called only after the connection took something.
    read: () => {
      taken.at = clock.monotonic();
    },
    destroy(error, done) {
      end();
      done(error);
    },
  });
  const opened = await open({
    isReady: () => body.readableLength === 0,
    send: (update) => {
      if (!ended.signal.aborted) body.push(textOf(update));
    },
    end,
  });
  connection = opened;
  if (ended.signal.aborted) opened.close();
  else body.push(SSE_GREETING);
  if (stopping.aborted) end();
  stopping.addEventListener('abort', end, { once: true });
  const rights = new RightsCheck({ events: opened, recognise: authenticate });
  void keepAlive({ body, taken, clock, rights, end, signal: ended.signal });
  return body;
}

function textOf(update: LiveUpdate): string {
  let text = texts.get(update);
  if (text === undefined) {
    text = liveMessage(update);
    texts.set(update, text);
  }
  return text;
}
