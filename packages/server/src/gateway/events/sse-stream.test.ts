/** What a stream does while nothing happens: it beats, it looks at rights again, and it lets go. */
import { type Caller, Refusal, SERVER } from '@carillon/domain';
import { ManualClock, silentLog } from '@carillon/foundation';
import { beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../../../../tests/support/eventually.ts';
import { EventFeed } from '../../event-feed/event-feed.ts';
import { MemoryStorage } from '../../storage/memory/memory-storage.ts';
import { HEARTBEAT_MS } from './rights-check.ts';
import { sseStream } from './sse-stream.ts';

let clock: ManualClock;
let feed: EventFeed;
let authenticate: () => Promise<Caller>;
let stopping: AbortController;

beforeEach(() => {
  clock = new ManualClock(Date.UTC(2030, 0, 1));
  feed = new EventFeed({
    ...{ store: new MemoryStorage({ clock }).events, clock, log: silentLog },
    listenersMax: 10,
  });
  authenticate = async () => SERVER;
  stopping = new AbortController();
});

function open() {
  const body = sseStream({
    ...{ events: feed.open(SERVER), clock, stopping: stopping.signal },
    authenticate: () => authenticate(),
  });
  const state = { text: '', ended: false };
  return { body, state };
}

function take({ body, state }: ReturnType<typeof open>) {
  body.setEncoding('utf8');
  body.on('data', (chunk: string) => {
    state.text += chunk;
  });
  body.on('end', () => {
    state.ended = true;
  });
  return { body, state };
}

async function beat(times = 1): Promise<void> {
  for (let i = 0; i < times; i += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(HEARTBEAT_MS + 1);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const ended = (state: { ended: boolean }) =>
  eventually(() => expect(state.ended).toBe(true), { withinMs: 60_000 });

describe('a stream of events', () => {
  test('says at once that it is connected and how soon to come back, and beats while nothing happens', async () => {
    const { state } = take(open());
    await beat(2);
    expect(state.text).toBe('retry: 2000\n: connected\n\n: still here\n\n: still here\n\n');
    expect(state.ended).toBe(false);
  });

  test('ends when the key was revoked, and frees its place', async () => {
    const { state } = take(open());
    await beat();
    authenticate = async () => {
      throw new Refusal('unauthorized', 'The key is not valid.');
    };
    await beat();
    await ended(state);
    expect(feed.counts().listeners).toBe(0);
  });

  test('ends when the caller may no longer read events', async () => {
    const { state } = take(open());
    authenticate = async () => ({ ...SERVER, grants: [] });
    await beat();
    await ended(state);
  });

  test('outlives a storage that is away for a moment, not one that stays away', async () => {
    const { state } = take(open());
    authenticate = async () => {
      throw new Refusal('storage_unavailable', 'The database does not answer.');
    };
    await beat(2);
    expect(state.ended).toBe(false);
    await beat(2);
    await ended(state);
  });

  test('ends when the server is about to stop, also one that is opened just then', async () => {
    const { state } = take(open());
    stopping.abort();
    await ended(state);
    await ended(take(open()).state);
    expect(feed.counts().listeners).toBe(0);
  });

  test('lets go of a connection that takes nothing', async () => {
    const { body } = open();
    await beat(6);
    expect(body.destroyed).toBe(true);
    expect(feed.counts().listeners).toBe(0);
  });

  test('lets go of a connection that took something once and nothing since, and not before a minute', async () => {
    const { body, state } = take(open());
    await beat();
    body.pause();
    await beat(4);
    expect(body.destroyed).toBe(false);
    await beat(2);
    expect(body.destroyed).toBe(true);
    expect(state.ended).toBe(false);
    expect(feed.counts().listeners).toBe(0);
  });
});
