/** Callers who ask and take no answer, or take it slowly. */
import { once } from 'node:events';
import { type ClientHttp2Session, connect, constants } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { ManualClock } from '@carillon/foundation';
import fastify, { type FastifyInstance } from 'fastify';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../../../../tests/support/eventually.ts';
import { createListener, type ListenerOptions } from './create-listener.ts';
import { closeConnections } from './open-connections.ts';
import { type Certificate, readCertificate } from './read-certificate.ts';
import { type CertificateFolder, makeCertificate } from './test-certificate.fixture.ts';
import { UNSENT_LIMITS } from './unsent-guard.ts';

const ANSWER_BYTES = 300_000;
/** Far more than the system itself keeps for a connection. */
const HUGE_BYTES = 60_000_000;
const SOON = { withinMs: 60_000 };

let app: FastifyInstance;
let clock: ManualClock;
/** Of the server: those that its port accepted. */
let accepted: Socket[];
const sessions: ClientHttp2Session[] = [];
const sockets: Socket[] = [];

beforeEach(() => {
  clock = new ManualClock();
  accepted = [];
});

afterEach(async () => {
  for (const end of [...sessions.splice(0), ...sockets.splice(0)]) end.destroy();
  await app.close();
});

async function start(options: ListenerOptions = {}): Promise<string> {
  const listener = createListener({ clock, ...options });
  app = fastify({ serverFactory: listener.serverFactory });
  closeConnections(app, listener.connections);
  app.get('/large', async () => 'x'.repeat(ANSWER_BYTES));
  app.get('/huge', async () => 'x'.repeat(HUGE_BYTES));
  app.get('/pieces', async () => Readable.from(pieces()));
  app.get('/quiet', async (_, reply) => reply.send(new Readable({ read: () => undefined })));
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  app.server.on('connection', (socket: Socket) => accepted.push(socket));
  return address;
}

function* pieces(): Generator<Buffer> {
  const piece = Buffer.alloc(64 * 1_024, 'x');
  for (let sent = 0; sent < HUGE_BYTES; sent += piece.length) yield piece;
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

/** Time passes until it is true, in steps between which a connection is heard. */
async function asTimePasses(isTrue: () => boolean): Promise<void> {
  await eventually(() => {
    clock.advance(10_000);
    expect(isTrue()).toBe(true);
  }, SOON);
}

test('a stream of which nothing is taken is closed, and the others of its connection go on', async () => {
  const session = await closedSession(await start());
  const stream = ask(session);
  await asTimePasses(() => stream.closed);
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
  const unsent = { stalledMs: Number.POSITIVE_INFINITY, totalMax: 5 * ANSWER_BYTES };
  const address = await start({ unsent });
  const [greedy, modest] = [await closedSession(address), await closedSession(address)];
  ask(modest);
  for (let i = 0; i < 10; i += 1) ask(greedy);
  await asTimePasses(() => greedy.destroyed);
  expect(modest.destroyed).toBe(false);
});

describe.each(['in clear', 'under TLS'])('over HTTP/1.1 %s', (kind) => {
  let files: CertificateFolder | undefined;
  let tls: Certificate | undefined;

  beforeAll(async () => {
    if (kind === 'in clear') return;
    files = makeCertificate();
    tls = await readCertificate(files);
  });

  afterAll(() => files?.remove());

  /** Has asked, and takes nothing by itself. */
  async function asked(path: string, options: ListenerOptions = {}): Promise<Socket> {
    const { port: given } = new URL(await start({ tls, ...options }));
    const at = { port: Number(given), host: '127.0.0.1' };
    const socket = tls ? connectTls({ ...at, rejectUnauthorized: false }) : connectTcp(at);
    socket.on('error', () => undefined).pause();
    sockets.push(socket);
    await once(socket, tls ? 'secureConnect' : 'connect');
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    return socket;
  }

  /** Bytes that the system of the server has taken over. */
  function taken(): number {
    type Handle = { bytesWritten: number; writeQueueSize: number };
    const { bytesWritten, writeQueueSize } = (accepted[0] as Socket & { _handle: Handle })._handle;
    return bytesWritten - writeQueueSize;
  }

  /** It takes no more. */
  async function full(): Promise<void> {
    let before = 0;
    await eventually(() => {
      const [last, now] = [before, accepted[0] ? taken() : 0];
      before = now;
      expect(now > 100_000 && now === last).toBe(true);
    }, SOON);
  }

  /** The caller reads until the server can notice. */
  async function takeSome(socket: Socket): Promise<void> {
    const before = taken();
    for (let tries = 0; tries < 1_000_000 && taken() === before; tries += 1) {
      socket.read();
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(taken()).toBeGreaterThan(before);
  }

  test.each(['/huge', '/pieces'])(
    'an answer of which nothing is taken for long is ended: %s',
    async (path) => {
      await asked(path);
      await full();
      clock.advance(1_000);
      // So long for a reader of 16 kB a second, of whom the server sees nothing.
      clock.advance(Math.max(UNSENT_LIMITS.stalledMs, Math.min(taken(), 8_000_000) / 16) - 1_000);
      expect(accepted[0]!.destroyed).toBe(false);
      await asTimePasses(() => accepted[0]!.destroyed);
    },
  );

  test.each(['/huge', '/pieces'])('one that is taken slowly goes on, until it is not: %s', async (path) => {
    const socket = await asked(path);
    await full();
    for (let times = 0; times < 12; times += 1) {
      clock.advance(UNSENT_LIMITS.stalledMs - 2_000);
      await takeSome(socket);
      // Seen at the next look.
      clock.advance(1_000);
      expect(accepted[0]!.destroyed).toBe(false);
    }
    await asTimePasses(() => accepted[0]!.destroyed);
  });

  test('when answers hold too much together, the largest is ended', async () => {
    await asked('/huge', { unsent: { stalledMs: Number.POSITIVE_INFINITY, totalMax: HUGE_BYTES / 2 } });
    await full();
    await asTimePasses(() => accepted[0]!.destroyed);
  });

  test('one that has nothing to say for long, and a connection without one, stay', async () => {
    const socket = await asked('/quiet');
    await eventually(() => expect(accepted).toHaveLength(1), SOON);
    clock.advance(10 * UNSENT_LIMITS.stalledMs);
    expect([socket.destroyed, accepted[0]!.destroyed]).toEqual([false, false]);
  });
});
