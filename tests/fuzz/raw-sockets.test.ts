/** Requests that no HTTP library would send, byte by byte over a socket: refused cheaply, and the server goes on. */
import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import { problemAnswer } from '@carillon/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GatewayFixture, KEY } from '../../packages/server/src/gateway/gateway.fixture.ts';
import { createListener } from '../../packages/server/src/gateway/listener/create-listener.ts';

const LIMIT_BYTES = 64 * 1024;

let gateway: GatewayFixture;
let impatient: GatewayFixture;
let port: number;
let impatientPort: number;

beforeAll(async () => {
  gateway = new GatewayFixture({
    bodyLimitBytes: LIMIT_BYTES,
  });
  // As the other, but impatient. Only requests that never end come here; what they begin with arrives in time on a busy machine too.
  impatient = new GatewayFixture({
    listener: {
      ...createListener(),
      serverFactory: (handler) =>
        createServer(
          { requestTimeout: 1_000, headersTimeout: 1_000, connectionsCheckingInterval: 100 },
          handler,
        ),
    },
  });
  port = await portOf(gateway);
  impatientPort = await portOf(impatient);
});

async function portOf({ app }: GatewayFixture): Promise<number> {
  return Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port);
}

afterAll(async () => {
  await Promise.all([gateway.app.close(), impatient.app.close()]);
});

/** Everything the server says until it closes the connection, or until it has said enough. */
async function exchange(write: (socket: Socket) => void, to = port): Promise<string> {
  const socket = connect(to, '127.0.0.1');
  let heard = '';
  return new Promise((resolve, reject) => {
    socket.setTimeout(60_000, () => reject(new Error(`the server went silent after: ${heard}`)));
    socket.on('data', (chunk) => {
      heard += chunk.toString('latin1');
      if (isWhole(heard)) socket.end(() => resolve(heard));
    });
    // A server that refuses early may close before everything was written to it.
    socket.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EPIPE' || error.code === 'ECONNRESET' ? resolve(heard) : reject(error),
    );
    socket.on('close', () => resolve(heard));
    socket.on('connect', () => write(socket));
  });
}

function isWhole(heard: string): boolean {
  const [head, body] = heard.split('\r\n\r\n', 2);
  const length = /content-length: (\d+)/i.exec(head ?? '')?.[1];
  return body !== undefined && length !== undefined && body.length >= Number(length);
}

function read(heard: string): { status: number; code: string } {
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(heard)?.[1]);
  const body = heard.slice(heard.indexOf('\r\n\r\n') + 4);
  return { status, code: problemAnswer.parse(JSON.parse(body)).code };
}

const HEAD = [
  'POST /api/jobs HTTP/1.1',
  'host: x',
  `authorization: Bearer ${KEY}`,
  'content-type: application/json',
];
const request = (headers: readonly string[], body = '') => [...HEAD, ...headers, '', body].join('\r\n');
const post = (body: Buffer | string) => {
  const bytes = Buffer.from(body);
  return (socket: Socket) =>
    socket.write(Buffer.concat([Buffer.from(request([`content-length: ${bytes.length}`])), bytes]));
};

describe('refused cheaply', () => {
  const flood = Array.from({ length: 3_000 }, (_, i) => `x-${i}: ${'y'.repeat(20)}`);
  const deep = `{"name":"a","payload":${'['.repeat(30_000)}${']'.repeat(30_000)}}`;

  test.each<[what: string, write: (socket: Socket) => void, status: number, code: string]>([
    [
      'a body that says it is over the limit',
      (s) => s.write(request(['content-length: 99999999'])),
      413,
      'body_too_large',
    ],
    [
      'a body in pieces that grows over the limit',
      (s) => {
        const piece = 'x'.repeat(16_000);
        s.write(request(['transfer-encoding: chunked']));
        for (let i = 0; i < 6; i += 1) s.write(`${piece.length.toString(16)}\r\n${piece}\r\n`);
      },
      413,
      'body_too_large',
    ],
    ['a flood of headers', (s) => s.write(request(flood)), 431, 'headers_too_large'],
    ['one endless header', (s) => s.write(request([`x: ${'y'.repeat(100_000)}`])), 431, 'headers_too_large'],
    [
      'two lengths',
      (s) => s.write(request(['content-length: 2', 'content-length: 3'], '{}')),
      400,
      'request_malformed',
    ],
    [
      'a length and pieces at once',
      (s) => s.write(request(['content-length: 2', 'transfer-encoding: chunked'], '{}')),
      400,
      'request_malformed',
    ],
    [
      'no HTTP at all',
      (s) => s.write('\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n'),
      400,
      'request_malformed',
    ],
    ['no Host', (s) => s.write('GET /health/live HTTP/1.1\r\naccept: */*\r\n\r\n'), 400, 'request_malformed'],
    [
      'no Host, and a path that is not there',
      (s) => s.write('GET /nowhere HTTP/1.1\r\n\r\n'),
      400,
      'request_malformed',
    ],
    ['a control character in a header', (s) => s.write(request(['x: a\x01b'])), 400, 'request_malformed'],
    [
      'malformed UTF-8 in the body',
      post(Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])),
      400,
      'body_not_json',
    ],
    ['overlong UTF-8 in the body', post(Buffer.from([0x22, 0xc0, 0xaf, 0x22])), 400, 'body_not_json'],
    ['deep JSON', post(deep), 400, 'body_too_deep'],
    ['deep JSON that never closes', post('{"a":'.repeat(10_000)), 400, 'body_too_deep'],
    ['__proto__ as a field', post('{"name":"a","__proto__":{"x":1}}'), 400, 'field_unknown'],
    [
      'constructor as a field',
      post('{"name":"a","constructor":{"prototype":{"x":1}}}'),
      400,
      'field_unknown',
    ],
    [
      '__proto__ inside a payload',
      post('{"name":"a","payload":{"__proto__":{"x":1}}}'),
      400,
      'field_invalid',
    ],
  ])('%s', async (_what, write, status, code) => {
    expect(read(await exchange(write))).toEqual({ status, code });
    expect((Object.prototype as { x?: unknown }).x).toBeUndefined();
  });

  test.each([
    ['a body that never comes', request(['content-length: 100'])],
    ['a body that never ends', request(['transfer-encoding: chunked'], '1\r\n{\r\n')],
    ['headers that never end', HEAD.join('\r\n')],
  ])('%s', async (_what, beginning) => {
    const heard = await exchange((socket) => socket.write(beginning), impatientPort);
    expect(read(heard)).toEqual({ status: 408, code: 'request_too_slow' });
    expect(impatient.errors).toEqual([]);
  });

  test('malformed UTF-8 in a path or a query', async () => {
    for (const target of ['/api/jobs/%ff', '/api/jobs?user_id=%ff%fe', '/api/%c0%af', '/api/jobs/%']) {
      const heard = await exchange((socket) =>
        socket.write(
          `GET ${target} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${KEY}\r\nconnection: close\r\n\r\n`,
        ),
      );
      expect(read(heard).status, target).toBeOneOf([400, 404]);
    }
  });
});

test('HTTP/1.0 needs no Host', async () => {
  const heard = await exchange((socket) => socket.write('GET /health/live HTTP/1.0\r\n\r\n'));
  expect(heard).toMatch(/^HTTP\/1\.1 200 /);
});

test('after all of that the server answers others as ever', async () => {
  const slow = connect(port, '127.0.0.1');
  slow.on('error', () => undefined);
  slow.write(HEAD.join('\r\n'));
  const answer = await fetch(`http://127.0.0.1:${port}/health/live`);
  expect(answer.status).toBe(200);
  expect(gateway.errors).toEqual([]);
  slow.destroy();
});
