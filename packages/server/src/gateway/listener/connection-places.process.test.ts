/** Places of connections are given back whichever protocol was spoken and however the connection ended. */
import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../../../../tests/support/eventually.ts';
import { RpcFixture } from '../rpc/rpc.fixture.ts';
import { type Certificate, readCertificate } from './read-certificate.ts';
import { makeCertificate } from './test-certificate.fixture.ts';

const PLACES = 20;
const ROUNDS = 6;
const HOST = '127.0.0.1';
const REQUEST = 'GET /plain HTTP/1.1\r\nhost: x\r\n\r\n';

let gateway: RpcFixture;
let tls: Certificate;
let removeFiles: () => void;
let refused = 0;
/** Ends of connections that are open. */
let ends: (() => void)[] = [];

beforeEach(async () => {
  const files = makeCertificate();
  removeFiles = files.remove;
  tls = await readCertificate(files);
  refused = 0;
  ends = [];
});

afterEach(async () => {
  for (const end of ends) end();
  await gateway.stop();
  removeFiles();
});

const start = async (isSecure: boolean) => {
  gateway = await RpcFixture.start({
    ...(isSecure && { tls }),
    limits: { total: 10 * PLACES, perAddress: PLACES },
    onRefused: () => {
      refused += 1;
    },
  });
};

/** An answered request; the connection stays open until it is ended, by a farewell or, every second one, abruptly. */
const SPEAKERS: Record<string, (count: number) => Promise<() => void>> = {
  'HTTP/1': (count) => overHttp1(connect(gateway.port, HOST), count),
  'HTTP/1 under TLS': (count) =>
    overHttp1(connectTls({ port: gateway.port, host: HOST, rejectUnauthorized: false }), count),
  'HTTP/2': (count) => overHttp2(`http://${HOST}:${gateway.port}`, count),
  'HTTP/2 under TLS': (count) => overHttp2(`https://${HOST}:${gateway.port}`, count),
};

async function overHttp1(socket: Socket, count: number): Promise<() => void> {
  socket.write(REQUEST);
  await new Promise((resolve, reject) => {
    socket.once('data', resolve).once('error', reject);
    socket.once('close', () => reject(new Error('closed without an answer')));
  });
  socket.on('error', () => undefined);
  return () => (count % 2 === 0 ? socket.end() : socket.destroy());
}

async function overHttp2(url: string, count: number): Promise<() => void> {
  const session = connectHttp2(url, { rejectUnauthorized: false });
  await new Promise((resolve, reject) => {
    session.once('error', reject).once('close', () => reject(new Error('closed without an answer')));
    const stream = session.request({ ':path': '/plain' });
    stream.once('error', reject).once('response', resolve).resume().end();
  });
  session.on('error', () => undefined);
  return () => (count % 2 === 0 ? session.close() : session.destroy());
}

test.each(Object.keys(SPEAKERS))(
  'after many short connections over %s all places are free again',
  async (name) => {
    await start(name.includes('TLS'));
    const speak = SPEAKERS[name]!;
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const end of await Promise.all(Array.from({ length: PLACES }, (_, count) => speak(count)))) end();
      await eventually(() => expect(gateway.listener.connections.size).toBe(0), { withinMs: 60_000 });
    }
    expect(refused).toBe(0);
    ends = await Promise.all(Array.from({ length: PLACES }, (_, count) => speak(count)));
    await expect(speak(0)).rejects.toThrow();
    expect(refused).toBe(1);
  },
);

test.each(Object.keys(SPEAKERS))(
  'connections over %s that are opened as soon as others were closed get their places',
  async (name) => {
    await start(name.includes('TLS'));
    const speak = SPEAKERS[name]!;
    for (let round = 0; round < ROUNDS; round += 1)
      for (const end of await Promise.all(Array.from({ length: PLACES }, (_, count) => speak(count)))) end();
    expect(refused).toBe(0);
  },
);
