/** Callers of HTTP/2 who ask and take no answer. */
import { once } from 'node:events';
import { type ClientHttp2Session, connect, constants } from 'node:http2';
import fastify, { type FastifyInstance } from 'fastify';
import { afterEach, expect, test } from 'vitest';
import { createListener } from './create-listener.ts';
import { closeConnections } from './open-connections.ts';
import type { UnsentLimits } from './unsent-guard.ts';

const ANSWER_BYTES = 300_000;
const NEVER_MS = 24 * 3_600_000;

let app: FastifyInstance;
const sessions: ClientHttp2Session[] = [];

afterEach(async () => {
  for (const session of sessions.splice(0)) session.destroy();
  await app.close();
});

async function start(unsent: UnsentLimits): Promise<string> {
  const listener = createListener({ unsent });
  app = fastify({ serverFactory: listener.serverFactory });
  closeConnections(app, listener.connections);
  app.get('/large', async () => 'x'.repeat(ANSWER_BYTES));
  return app.listen({ port: 0, host: '127.0.0.1' });
}

/** A session that takes nothing of any answer, until it opens its window. */
async function closedSession(address: string): Promise<ClientHttp2Session> {
  const session = connect(address, { settings: { initialWindowSize: 0 } });
  session.on('error', () => undefined);
  sessions.push(session);
  await once(session, 'remoteSettings');
  return session;
}

function ask(session: ClientHttp2Session) {
  const stream = session.request({ ':path': '/large' });
  stream.on('error', () => undefined);
  return stream.resume();
}

/** However it ends. */
function closed(end: NodeJS.EventEmitter): Promise<void> {
  return new Promise((resolve) => end.once('close', resolve));
}

test('a stream of which nothing is taken is closed, and the others of its connection go on', async () => {
  const address = await start({ stalledMs: 300, totalMax: Number.POSITIVE_INFINITY });
  const session = await closedSession(address);
  const stream = ask(session);
  await closed(stream);
  expect(stream.rstCode).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  session.settings({ initialWindowSize: 1_000_000 });
  await once(session, 'localSettings');
  let taken = 0;
  const next = ask(session).on('data', (chunk: Buffer) => {
    taken += chunk.length;
  });
  // The window of the connection itself is 64 KiB until it is asked for more.
  session.setLocalWindowSize(1_000_000);
  await once(next, 'end');
  expect(taken).toBe(ANSWER_BYTES);
});

test('when connections hold too much together, those that hold most are ended', async () => {
  const address = await start({ stalledMs: NEVER_MS, totalMax: 5 * ANSWER_BYTES });
  const [greedy, modest] = [await closedSession(address), await closedSession(address)];
  const ended = closed(greedy);
  ask(modest);
  for (let i = 0; i < 10; i += 1) ask(greedy);
  await ended;
  expect(modest.destroyed).toBe(false);
});
