import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GatewayFixture, KEY } from './gateway.fixture.ts';

let gateway: GatewayFixture;
let port: number;
beforeAll(async () => {
  gateway = new GatewayFixture();
  await gateway.app.listen({ port: 0, host: '127.0.0.1' });
  port = (gateway.app.server.address() as AddressInfo).port;
});
afterAll(() => gateway.app.close());

const BROKEN_JSON = { payload: '{"name":', headers: { 'content-type': 'application/json' } } as const;

/** A body that is read is refused as broken: any other answer came without reading it. */
describe('no body is read', () => {
  test.each([
    ['POST', '/api/jobs', 401],
    ['PUT', '/api/jobs/01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f', 401],
    ['POST', '/api/nothing', 401],
    ['DELETE', '/api/workers', 401],
    ['POST', '/nothing', 404],
    ['PUT', '/health/live', 404],
    ['POST', '/', 404],
  ] as const)('of a stranger: %s %s', async (method, url, status) => {
    const answer = await gateway.app.inject({ method, url, ...BROKEN_JSON });
    expect(answer.statusCode).toBe(status);
  });

  test.each([
    ['POST', '/api/nothing', 404],
    ['DELETE', '/api/workers', 405],
    ['POST', '/nothing', 404],
  ] as const)('of a caller with a key where nothing reads it: %s %s', async (method, url, status) => {
    const headers = { ...BROKEN_JSON.headers, authorization: `Bearer ${KEY}` };
    const answer = await gateway.app.inject({ method, url, payload: BROKEN_JSON.payload, headers });
    expect(answer.statusCode).toBe(status);
  });
});

const PIECE = Buffer.alloc(64 * 1_024, 0x20);
const CHUNK = Buffer.concat([Buffer.from(`${PIECE.length.toString(16)}\r\n`), PIECE, Buffer.from('\r\n')]);
/** What is thrown away, and what the buffers between both sides hold. */
const SENT_BYTES_MAX = 96 * 1_024 * 1_024;
const SENT_BYTES_END = 512 * 1_024 * 1_024;

describe('a body without an end is cut off after the answer', () => {
  test.each([
    ['POST', '/api/jobs', 401],
    ['POST', '/api/nothing', 401],
    ['POST', '/nothing', 404],
    ['GET', '/health/live', 200],
  ])('over HTTP/1.1: %s %s', async (method, path, status) => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    let heard = '';
    socket.on('data', (bytes) => {
      heard += bytes;
    });
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(`${method} ${path} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n`);
    const sent = await pour(socket, CHUNK);
    await closed;
    expect(heard).toContain(`HTTP/1.1 ${status}`);
    expect(sent).toBeLessThan(SENT_BYTES_MAX);
  });

  test('over HTTP/2', async () => {
    const session = connectHttp2(`http://127.0.0.1:${port}`).on('error', () => undefined);
    try {
      const stream = session.request({ ':method': 'POST', ':path': '/api/jobs' });
      stream.on('error', () => undefined);
      const answered = once(stream, 'response');
      const closed = new Promise((resolve) => stream.once('close', resolve));
      const poured = pour(stream, PIECE);
      expect((await answered)[0][':status']).toBe(401);
      stream.resume();
      await closed;
      expect(await poured).toBeLessThan(SENT_BYTES_MAX);
    } finally {
      session.destroy();
    }
  });
});

/** Sends until the other side stops it. Answers how many bytes were sent. */
async function pour(
  to: { write(bytes: Buffer): boolean; once(event: string, done: () => void): unknown; destroyed: boolean },
  piece: Buffer,
): Promise<number> {
  let sent = 0;
  const closed = new Promise<void>((resolve) => to.once('close', () => resolve()));
  while (!to.destroyed && sent < SENT_BYTES_END) {
    sent += piece.length;
    if (to.write(piece)) continue;
    // Only now: a listener for every piece would pile up, since most are taken without a 'drain'.
    const drained = new Promise<void>((resolve) => to.once('drain', () => resolve()));
    await Promise.race([drained, closed]);
  }
  return sent;
}

test('the next request of a connection is answered after a small body that nobody read', async () => {
  const socket = connect(port, '127.0.0.1');
  const request = 'POST /nothing HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nbody';
  let heard = '';
  const both = new Promise<void>((resolve) => {
    socket.on('data', (bytes) => {
      heard += bytes;
      if (heard.split('HTTP/1.1 404').length === 3) resolve();
    });
  });
  socket.write(request);
  await once(socket, 'data');
  socket.write(request);
  await both;
  socket.destroy();
});
