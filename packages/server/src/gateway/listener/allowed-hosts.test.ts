import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { afterEach, describe, expect, test } from 'vitest';
import { GatewayFixture, KEY } from '../gateway.fixture.ts';
import { allowedHosts } from './allowed-hosts.ts';

const LOCAL = { allowed: [], listensOn: '127.0.0.1', publicUrl: undefined } as const;

function answers(host: string, options: Partial<Parameters<typeof allowedHosts>[0]> = {}): boolean {
  try {
    allowedHosts({ ...LOCAL, ...options })?.(host);
    return true;
  } catch {
    return false;
  }
}

describe('a server that only this machine can reach', () => {
  test.each([
    'localhost',
    'localhost:7420',
    'LOCALHOST.',
    '127.0.0.1:7420',
    '127.9.9.9',
    '[::1]:7420',
    'a.localhost',
  ])('answers for %s', (host) => expect(answers(host)).toBe(true));

  test.each([
    'evil.example',
    'evil.example:7420',
    '127.0.0.1.evil.example',
    '192.0.2.1',
    '',
    'localhost@evil',
    '[::1',
  ])('does not answer for %j', (host) => expect(answers(host)).toBe(false));

  test('answers for its public address and for names that are allowed', () => {
    expect(answers('jobs.example:443', { publicUrl: 'https://jobs.example/x' })).toBe(true);
    expect(answers('Proxy.Internal', { allowed: ['proxy.internal'] })).toBe(true);
    expect(answers('evil.example', { allowed: ['*'] })).toBe(true);
  });
});

test('a server that others reach answers for every name unless the setting names some', () => {
  expect(answers('any.example', { listensOn: '0.0.0.0' })).toBe(true);
  expect(answers('any.example', { listensOn: '0.0.0.0', allowed: ['jobs.example'] })).toBe(false);
  expect(answers('jobs.example', { listensOn: '0.0.0.0', allowed: ['jobs.example'] })).toBe(true);
});

describe('a request to another name', () => {
  let gateway: GatewayFixture;
  afterEach(() => gateway.app.close());

  test.each(['/api/jobs', '/health/live', '/nothing', '/api/openapi.json'])('is refused: %s', async (url) => {
    gateway = new GatewayFixture({ requireHost: allowedHosts(LOCAL) });
    const headers = { host: 'rebound.example', authorization: `Bearer ${KEY}` };
    const answer = await gateway.app.inject({ url, headers });
    expect(answer.statusCode).toBe(421);
    expect(answer.json()).toMatchObject({ code: 'host_not_allowed', field: 'Host' });
    const own = await gateway.app.inject({ url, headers: { ...headers, host: 'localhost:7420' } });
    expect(own.statusCode).not.toBe(421);
  });

  test('is refused over HTTP/2', async () => {
    gateway = new GatewayFixture({ requireHost: allowedHosts(LOCAL) });
    const session = connectHttp2(await gateway.app.listen({ port: 0, host: '127.0.0.1' }));
    const stream = session.request({ ':path': '/health/live', ':authority': 'rebound.example' });
    const [head] = await once(stream, 'response');
    stream.resume();
    session.close();
    expect(head[':status']).toBe(421);
  });
});
