/** What the http handler keeps open, against a real receiver on loopback that never closes. */
import { execFileSync } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { JsonObject } from '@carillon/domain';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { claimedRun } from '../claimed-run.fixture.ts';
import type { Handler } from '../handler.ts';
import { RunInProgress } from '../run-in-progress.ts';
import { createHttpHandler, HTTP_DEFAULTS } from './http-handler.ts';
import type { IdleLimits } from './idle-connections.ts';

const PATIENCE = { withinMs: 60_000 };
const LONG_MS = 3_600_000;
const SHORT_MS = 20;

let server: Server;
let port: number;
let open: Set<Socket>;
let connected: number;
/** Answers to paths that begin with /held, which wait until the test gives them. */
let held: ServerResponse[];

beforeEach(async () => {
  open = new Set();
  connected = 0;
  held = [];
  server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    if (request.url?.startsWith('/held')) held.push(response);
    else response.end('fine');
  });
  server.on('connection', count);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});

function count(socket: Socket): void {
  connected += 1;
  open.add(socket);
  socket.on('close', () => open.delete(socket));
}

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const handlerWith = (idle: Partial<IdleLimits> = {}) =>
  createHttpHandler({
    ...HTTP_DEFAULTS,
    idle: { idleMs: LONG_MS, perHostMax: 2, totalMax: 64, ...idle },
  });
const runWith = (payload: JsonObject) =>
  new RunInProgress(claimedRun({ payload: JSON.stringify(payload) }), 0);
/** Every name below localhost is this machine. */
const host = (i: number, path = '/') => `http://host-${i}.localhost:${port}${path}`;

async function call(handler: Handler, url: string): Promise<void> {
  expect(await handler(runWith({ url }))).toMatchObject({ status: 200, body: 'fine' });
}

const untilOpen = (count: number) => eventually(() => expect(open.size).toBe(count), PATIENCE);
const untilHeld = (count: number) => eventually(() => expect(held).toHaveLength(count), PATIENCE);

describe('connections that no run uses (hazard 48)', () => {
  test('are bounded by default, whatever hosts were called', async () => {
    const handler = createHttpHandler();
    for (let i = 0; i < 100; i += 1) await call(handler, host(i));
    expect(connected).toBe(100);
    await eventually(() => expect(open.size).toBeLessThanOrEqual(64), PATIENCE);
  });

  test('are so many over all hosts, the last ones used', async () => {
    const handler = handlerWith({ totalMax: 8 });
    for (let i = 0; i < 20; i += 1) await call(handler, host(i));
    await call(handler, host(12));
    await untilOpen(8);
    await call(handler, host(20));
    expect(connected).toBe(21);
    for (const i of [20, 12, 19, 18, 17, 16, 15, 14]) await call(handler, host(i));
    expect(connected).toBe(21);
    await call(handler, host(13));
    expect(connected).toBe(22);
  });

  test('are two of one host', async () => {
    const handler = handlerWith();
    const calls = Array.from({ length: 6 }, () => call(handler, host(0, '/held')));
    await untilHeld(6);
    for (const response of held) response.end('fine');
    await Promise.all(calls);
    expect(connected).toBe(6);
    await untilOpen(2);
  });

  test('are closed after a while', async () => {
    const handler = handlerWith({ idleMs: SHORT_MS });
    for (let i = 0; i < 10; i += 1) await call(handler, host(i));
    await untilOpen(0);
  });

  test('count together, with TLS and without', async () => {
    const tls = certificate();
    const trusted = getCACertificates('default');
    setDefaultCACertificates([tls.cert]);
    const receiver = createHttpsServer({ ...tls, keepAliveTimeout: 0 }, (_, response) =>
      response.end('fine'),
    );
    receiver.on('connection', count);
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    const secure = `https://localhost:${(receiver.address() as AddressInfo).port}/`;
    try {
      const handler = handlerWith({ totalMax: 2 });
      await call(handler, secure);
      await call(handler, secure);
      expect(connected).toBe(1);
      for (let i = 0; i < 3; i += 1) await call(handler, host(i));
      await untilOpen(2);
      await call(handler, secure);
      expect(connected).toBe(5);
      await untilOpen(2);
    } finally {
      setDefaultCACertificates(trusted);
      receiver.closeAllConnections();
      await new Promise((resolve) => receiver.close(resolve));
    }
  });

  test('may be those of a receiver that answered and never reads the request', async () => {
    const silent: Socket[] = [];
    const receiver = createTcpServer((socket) => {
      silent.push(socket.on('error', () => undefined));
      socket.once('data', () => {
        socket.pause();
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfine');
      });
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
    // The receiver does not read on to where it would see that the other end is closed.
    const called: Socket[] = [];
    const seen = (message: unknown) => called.push((message as { socket: Socket }).socket);
    subscribe('net.client.socket', seen);
    const body = 'x'.repeat(32 * 1024 * 1024);
    const run = runWith({ url, body });
    expect(await handlerWith({ idleMs: SHORT_MS })(run)).toMatchObject({ status: 200, body: 'fine' });
    unsubscribe('net.client.socket', seen);
    await eventually(() => expect(called.map(({ destroyed }) => destroyed)).toEqual([true]), PATIENCE);
    for (const socket of silent) socket.destroy();
    await new Promise((resolve) => receiver.close(resolve));
  });
});

function certificate(): { key: string; cert: string } {
  const folder = mkdtempSync(join(tmpdir(), 'carillon-idle-'));
  const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', keyFile];
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  execFileSync('openssl', ['req', '-x509', ...key, '-out', certFile, '-days', '2', ...names], {
    stdio: 'ignore',
  });
  const made = { key: readFileSync(keyFile, 'utf8'), cert: readFileSync(certFile, 'utf8') };
  rmSync(folder, { recursive: true });
  return made;
}

describe('a run under way', () => {
  test('is not cut off by the bounds of idle connections, over a new connection or a kept one', async () => {
    const handler = handlerWith({ idleMs: SHORT_MS, totalMax: 1 });
    const calls = [0, 1, 2].map((i) => call(handler, host(i, '/held')));
    await untilHeld(3);
    // Longer than a connection may be idle, and with more of them than may be.
    for (let i = 10; i < 20; i += 1) await call(handler, host(i));
    await untilOpen(3);
    for (const response of held) response.end('fine');
    await Promise.all(calls);
    await untilOpen(0);
  });

  test('does not wait for others: as many connect as run', async () => {
    const handler = handlerWith({ perHostMax: 1, totalMax: 1 });
    const calls = Array.from({ length: 30 }, (_, i) => call(handler, host(i % 3, '/held')));
    await untilHeld(30);
    expect(connected).toBe(30);
    for (const response of held) response.end('fine');
    await Promise.all(calls);
    await untilOpen(1);
  });

  test('keeps its kept connection, however many others become idle meanwhile', async () => {
    const handler = handlerWith({ totalMax: 2 });
    await call(handler, host(0));
    const again = call(handler, host(0, '/held'));
    await untilHeld(1);
    expect(connected).toBe(1);
    for (let i = 1; i <= 10; i += 1) await call(handler, host(i));
    await untilOpen(3);
    held[0]!.end('fine');
    await again;
    await untilOpen(2);
    await call(handler, host(0));
    expect(connected).toBe(11);
  });
});
