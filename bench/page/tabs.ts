/** What open tabs cost: one that asks as the overview does while much happens, and many that only hold their stream open. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Carillon } from '../../packages/client/src/index.ts';

/** While something happens all the time, the page reads its lists and counts this often (LISTS_MS of the dashboard). */
const refreshMs = 2_000;

/** A tab with the overview, until the answered function is called; that one tells how many requests it sent. */
export function openTab(client: Carillon): () => Promise<number> {
  const closed = new AbortController();
  let requests = 0;
  const read = async () => {
    while (!closed.signal.aborted) {
      await Promise.all([
        client.stats.now(),
        client.stats.overTime({ from: '1h' }),
        client.stats.failures({ from: '1h', limit: 20 }),
        client.jobs.list({ limit: 1 }).page(),
        client.jobs.upcoming({ limit: 200, within: '1h' }).page(),
        client.runs.list({ attempts: 'last', limit: 50 }).page(),
        client.runs.list({ status: 'QUEUED', limit: 50 }).page(),
      ]);
      requests += 7;
      await sleep(refreshMs, undefined, { signal: closed.signal }).catch(() => undefined);
    }
  };
  const reading = read();
  const streaming = drainStream(client, closed.signal, () => undefined);
  return async () => {
    closed.abort();
    await Promise.all([reading, streaming]);
    return requests;
  };
}

export type Streams = { readonly messages: () => number; close(): Promise<void> };

/** So many streams at once; each caller may have 50 of them. */
export async function openStreams(clients: readonly Carillon[], count: number): Promise<Streams> {
  const closed = new AbortController();
  let messages = 0;
  let opened = 0;
  const all = Promise.withResolvers<void>();
  const streams = Array.from({ length: count }, (_, i) =>
    drainStream(clients[i % clients.length]!, closed.signal, (what) => {
      if (what === 'message') messages += 1;
      else opened += 1;
      if (opened === count) all.resolve();
    }).catch(all.reject),
  );
  await all.promise;
  return {
    messages: () => messages,
    close: async () => {
      closed.abort();
      await Promise.all(streams);
    },
  };
}

async function drainStream(
  client: Carillon,
  signal: AbortSignal,
  onEvent: (what: 'open' | 'message') => void,
): Promise<void> {
  try {
    for await (const _ of client.live({ signal, onOpen: () => onEvent('open') })) onEvent('message');
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
