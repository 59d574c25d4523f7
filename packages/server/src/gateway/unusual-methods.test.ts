import { once } from 'node:events';
import { METHODS, request } from 'node:http';
import { connect } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GatewayFixture, KEY } from './gateway.fixture.ts';

const SERVED = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
/** CONNECT asks for a tunnel and has no path; the listeners are asked for it below. */
const UNUSUAL = METHODS.filter((method) => !SERVED.has(method) && method !== 'CONNECT');
const AUTH = { authorization: `Bearer ${KEY}` };

let gateway: GatewayFixture;
let port: number;
beforeAll(async () => {
  gateway = new GatewayFixture();
  await gateway.app.listen({ port: 0, host: '127.0.0.1' });
  port = (gateway.app.server.address() as AddressInfo).port;
});
afterAll(() => gateway.app.close());

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers?: Record<string, string>;
}

async function overHttp1({ method, path, headers = AUTH }: Asked) {
  const asked = request({ host: '127.0.0.1', port, method, path, headers, agent: false }).end();
  const [answer] = await once(asked, 'response');
  let text = '';
  for await (const chunk of answer) text += chunk;
  return { status: answer.statusCode, allow: answer.headers.allow, body: JSON.parse(text) };
}

async function overHttp2({ method, path, headers = AUTH }: Asked) {
  const session = connect(`http://127.0.0.1:${port}`);
  try {
    const stream = session.request({ ':method': method, ':path': path, ...headers });
    const [answer] = await once(stream.end(), 'response');
    let text = '';
    for await (const chunk of stream) text += chunk;
    return { status: answer[':status'], allow: answer.allow, body: JSON.parse(text) };
  } finally {
    session.close();
  }
}

test('HTTP/2 carries any word as a method', async () => {
  expect(await overHttp2({ method: 'FROBNICATE', path: '/api/jobs' })).toMatchObject({
    status: 405,
    body: { detail: expect.stringContaining('FROBNICATE is not served here') },
  });
});

describe.each([
  ['HTTP/1.1', overHttp1],
  ['HTTP/2', overHttp2],
])('over %s', (_protocol, ask) => {
  test.each(UNUSUAL)('%s is refused with the methods that are served', async (method) => {
    const list = await ask({ method, path: '/api/jobs' });
    expect(list).toMatchObject({ status: 405, allow: 'GET, HEAD, POST, OPTIONS' });
    expect(list.body.type).toBe('urn:carillon:error:method_not_allowed');
    const one = await ask({ method, path: '/api/jobs/01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f' });
    expect(one).toMatchObject({ status: 405, allow: 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS' });
  });

  test.each(['QUERY', 'PROPFIND', 'PURGE'])('%s tells strangers nothing of the paths', async (method) => {
    expect((await ask({ method, path: '/api/jobs', headers: {} })).status).toBe(401);
    expect((await ask({ method, path: '/api/nothing', headers: {} })).status).toBe(401);
    expect((await ask({ method, path: '/api/nothing' })).status).toBe(404);
    expect((await ask({ method, path: '/nothing' })).status).toBe(404);
    expect((await ask({ method, path: '/health/live' })).status).toBe(404);
    expect((await ask({ method, path: '/carillon.v1.JobService/GetJob' })).status).toBe(404);
  });
});
