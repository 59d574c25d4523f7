/** The first message of a stream, in bounded time. It may be long and the stream lasts: what was read of it is kept, and not the message. */
import { type Clock, sleep } from '@carillon/foundation';
import type { protocol as P } from '@carillon/worker';
import { StreamStalled } from './frame-bounds.ts';
import { type ReadHello, readHello, saidId } from './read-hello.ts';

const HELLO_MS_MAX = 10_000;

/** Undefined: the stream has ended. said: told who the worker is, before the rest is judged. */
export async function awaitHello(
  messages: AsyncIterator<P.SessionRequest>,
  { keyId, clock, said }: { keyId: string; clock: Clock; said: (workerId: string | undefined) => void },
): Promise<ReadHello | undefined> {
  const isHere = new AbortController();
  const late = sleep(clock, HELLO_MS_MAX, isHere.signal).then(() => {
    throw new StreamStalled('no hello came');
  });
  try {
    const next = await Promise.race([messages.next(), late]);
    if (next.done) return undefined;
    said(saidId(next.value));
    return readHello(next.value, keyId);
  } finally {
    isHere.abort();
    late.catch(() => undefined);
  }
}
