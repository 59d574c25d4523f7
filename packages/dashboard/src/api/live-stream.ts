/**
 * What changed, from one stream for all tabs of this browser: a SharedWorker holds it, because a browser opens at most six
 * connections to a server over HTTP/1.1. Where there is no SharedWorker, each tab has a stream of its own while it is seen.
 */
import type { LiveUpdate } from '@carillon/client';
import { BASE_URL, carillon } from './carillon.ts';

export type LiveMessage =
  | { readonly kind: 'update'; readonly update: LiveUpdate }
  | { readonly kind: 'open' }
  /** A beat, or whatever else arrived. */
  | { readonly kind: 'heard' }
  | { readonly kind: 'lost' };

/** Goes on until the answered function is called. */
export function followLive(onMessage: (message: LiveMessage) => void): () => void {
  return typeof SharedWorker === 'undefined' ? followAlone(onMessage) : followShared(onMessage);
}

function followShared(onMessage: (message: LiveMessage) => void): () => void {
  // One for each installation that this browser shows: its file lies below the address of the installation.
  const worker = new SharedWorker(new URL('./live-worker.ts', import.meta.url), {
    type: 'module',
    name: 'carillon',
  });
  worker.port.onmessage = ({ data }: MessageEvent<LiveMessage>) => onMessage(data);
  worker.port.postMessage({ kind: 'follow', url: BASE_URL.href.replace(/\/$/, '') });
  const leave = () => worker.port.postMessage({ kind: 'leave' });
  window.addEventListener('pagehide', leave);
  return () => {
    window.removeEventListener('pagehide', leave);
    leave();
    worker.port.close();
  };
}

function followAlone(onMessage: (message: LiveMessage) => void): () => void {
  let end: AbortController | undefined;
  const look = () => {
    if (document.hidden) {
      end?.abort();
      end = undefined;
      return;
    }
    if (end) return;
    end = new AbortController();
    void readLive(carillon, end.signal, onMessage);
  };
  document.addEventListener('visibilitychange', look);
  look();
  return () => {
    document.removeEventListener('visibilitychange', look);
    end?.abort();
  };
}

/** Reads the stream until it is aborted, or the server refuses for good. */
export async function readLive(
  client: Pick<typeof carillon, 'live'>,
  signal: AbortSignal,
  onMessage: (message: LiveMessage) => void,
): Promise<void> {
  try {
    const updates = client.live({
      signal,
      onOpen: () => onMessage({ kind: 'open' }),
      onHeard: () => onMessage({ kind: 'heard' }),
      onLost: () => onMessage({ kind: 'lost' }),
    });
    for await (const update of updates) onMessage({ kind: 'update', update });
  } catch {
    // Refused: the session has ended, which the page finds out by its next request.
    onMessage({ kind: 'lost' });
  }
}
