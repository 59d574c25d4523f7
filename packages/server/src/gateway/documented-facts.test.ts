/** What docs/security.md says of headers, cookies and limits, asked of a gateway. */
import { readFileSync } from 'node:fs';
import { SeededRandom, silentLog, systemClock } from '@carillon/foundation';
import { afterEach, expect, test } from 'vitest';
import { MemoryCounters } from '../counters/memory-counters.ts';
import { GatewayFixture, KEY, PASSWORD } from './gateway.fixture.ts';
import { SESSION_LIMITS } from './listener/http2-side.ts';
import { RequestLimits } from './rate-limit.ts';

const PAGE = readFileSync(new URL('../../../../docs/security.md', import.meta.url), 'utf8');
let gateway: GatewayFixture;
afterEach(() => gateway.app.close());
const headers = { authorization: `Bearer ${KEY}` };

test('what may be cached', async () => {
  gateway = new GatewayFixture({ announced: () => 'http://127.0.0.1:7420' });
  const cached = async (url: string) => (await gateway.app.inject({ url, headers })).headers['cache-control'];
  expect(await cached('/api/jobs')).toBe('no-store');
  expect(await cached('/api/nothing')).toBe('no-store');
  expect(await cached('/api/openapi.json')).toBe('public, max-age=300');
  expect(await cached('/api/docs')).toBe('public, max-age=300');
  expect(await cached('/health/live')).toBeUndefined();
  expect(await cached(`/health/proof?nonce=${'a'.repeat(43)}`)).toBe('no-store');
  const runId = await gateway.createdId({ name: 'a', schedule_type: 'IMMEDIATE' });
  await gateway.settle(await gateway.claimDue(), { status: 'SUCCESS', next: { kind: 'finish' } });
  const address = await gateway.app.listen({ port: 0, host: '127.0.0.1' });
  for (const path of ['/api/events', '/api/live', `/api/runs/${runId}/logs`]) {
    const gone = new AbortController();
    const stream = { headers: { ...headers, accept: 'text/event-stream' }, signal: gone.signal };
    const answer = await fetch(`${address}${path}`, stream);
    expect([path, answer.status, answer.headers.get('cache-control')]).toEqual([
      path,
      200,
      'no-store, no-transform',
    ]);
    gone.abort();
  }
  expect(PAGE).toContain('`Cache-Control: no-store`');
});

test('what may be cached of the page', async () => {
  const file = (type: string) => ({ type, body: Buffer.from('x') });
  const files = new Map([
    ['assets/index-Bx3kQ9ab.js', file('text/javascript')],
    ['favicon.svg', file('image/svg+xml')],
  ]);
  gateway = new GatewayFixture({ dashboard: { document: '<head></head>', files } });
  const answerOf = async (url: string) =>
    (await gateway.app.inject({ url, headers: { accept: 'text/html' } })).headers;
  const document = await answerOf('/jobs');
  expect(document['cache-control']).toBe('no-store');
  expect(document['content-security-policy']).toMatch(/style-src 'self' 'nonce-[\w-]{22}'/);
  expect((await answerOf('/assets/index-Bx3kQ9ab.js'))['cache-control']).toMatch(
    /max-age=31536000.*immutable/,
  );
  expect((await answerOf('/favicon.svg'))['cache-control']).toBe('no-cache');
  for (const word of ['`no-cache`', '`immutable`', 'a nonce for\nits styles']) expect(PAGE).toContain(word);
});

test('what one connection of HTTP/2 may do', () => {
  const { settings, ...limits } = SESSION_LIMITS;
  for (const words of [
    `${settings.maxConcurrentStreams} streams at the same time`,
    `headers of ${settings.maxHeaderListSize / 1_024} KiB and ${limits.maxHeaderListPairs} fields`,
    `${limits.maxSessionMemory} MB of memory`,
    `${limits.maxOutstandingPings} unanswered pings`,
    `${limits.maxSettings} entries in a SETTINGS frame`,
    `${limits.maxSessionInvalidFrames} invalid frames`,
    `${limits.maxSessionRejectedStreams} rejected streams`,
    `${limits.streamResetBurst.toLocaleString('en')} streams that the caller resets at once and ${limits.streamResetRate} a second`,
  ])
    expect(PAGE).toContain(words);
});

test.each([
  ['eleven characters', 'abcdefghijk', false],
  ['twelve', 'abcdefghijkl', true],
  ['256 of any kind', ` é${'🙂7'.repeat(127)}`, true],
  ['257', `é ${'🙂7'.repeat(127)}x`, false],
  ['three different ones', 'abcabcabcabc', false],
  ['the name, of six characters, in it', 'my name is JOHANN', false],
])('a password of %s', async (_, password, isTaken) => {
  gateway = new GatewayFixture();
  const { status, body } = await gateway.post('/api/users', { name: 'johann', password });
  expect([status, body.field]).toEqual(isTaken ? [201, undefined] : [400, 'password']);
  expect(PAGE).toContain('Passwords have 12 to 256 characters, any characters, at least four different ones');
  expect(PAGE).toContain('a name of six characters or more must not be in it');
});

test.each([
  [{}, 'carillon_session'],
  [{ address: 'https://jobs.example' }, '__Host-carillon_session'],
])('the name of the cookie with %j', async (options, name) => {
  gateway = new GatewayFixture(options);
  await gateway.person('ada');
  const { headers: answered } = await gateway.post('/api/session', { name: 'ada', password: PASSWORD });
  expect(String(answered['set-cookie'])).toMatch(new RegExp(`^${name}=`));
  expect(PAGE).toContain(`\`${name}\``);
});

test('fields of the audit log, and what changed, are in snake_case', async () => {
  gateway = new GatewayFixture();
  const jobId = await gateway.createdId({ name: 'a', frequency: 'daily' });
  await gateway.ask('PATCH', `/api/jobs/${jobId}`, { payload: { timeout_seconds: 5 } });
  const { body } = await gateway.ask('GET', `/api/audit?subject_id=${jobId}`);
  expect(Object.keys(body[0])).toEqual(expect.arrayContaining(['audit_id', 'user_agent', 'request_id']));
  expect(body[0].after).toEqual({ timeout_seconds: 5, version: 2 });
  expect(PAGE).toContain('`before` and `after` hold what changed, in snake_case');
});

test('calls of RPC are counted, and past the limit say when to come again', async () => {
  const settings = { perCaller: 1, perAddress: 0, burstSeconds: 1 };
  const parts = { counters: new MemoryCounters(), clock: systemClock, random: new SeededRandom(1) };
  gateway = new GatewayFixture({ limits: new RequestLimits({ settings, ...parts, log: silentLog }) });
  const key = await gateway.keyWith({ role: 'viewer' });
  const address = await gateway.app.listen({ port: 0, host: '127.0.0.1' });
  const call = () =>
    fetch(`${address}/carillon.v1.JobService/ListJobs`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: '{}',
    });
  const first = await call();
  expect([first.status, first.headers.get('ratelimit-limit')]).toEqual([200, null]);
  let refused = await call();
  while (refused.status === 200) refused = await call();
  expect(await refused.json()).toMatchObject({ code: 'resource_exhausted' });
  expect(refused.headers.get('retry-after')).toBe('1');
  expect(PAGE).toContain('They get no `RateLimit-` headers');
});

test.each(['one_time', 'one-time', 'ONE_TIME'])('a job that runs once is %s', async (word) => {
  gateway = new GatewayFixture();
  await gateway.createdId({ name: 'daily', frequency: 'daily' });
  const made = await gateway.post('/api/jobs', { name: 'once', schedule_type: word });
  expect([made.status, made.body.schedule_type]).toEqual([201, 'IMMEDIATE']);
  const { body } = await gateway.ask('GET', `/api/jobs?type=${word}`);
  expect(body.map(({ name }: { name: string }) => name)).toEqual(['once']);
});
