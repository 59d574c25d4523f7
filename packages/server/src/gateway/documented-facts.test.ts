/** What docs/security.md says of headers, cookies and limits, asked of a gateway. */
import { readFileSync } from 'node:fs';
import { SeededRandom, silentLog, systemClock } from '@carillon/foundation';
import { afterEach, expect, test } from 'vitest';
import { MemoryCounters } from '../counters/memory-counters.ts';
import { GatewayFixture, KEY, PASSWORD } from './gateway.fixture.ts';
import { RequestLimits } from './rate-limit.ts';

const PAGE = readFileSync(new URL('../../../../docs/security.md', import.meta.url), 'utf8');
let gateway: GatewayFixture;
afterEach(() => gateway.app.close());
const headers = { authorization: `Bearer ${KEY}` };

test('what may be cached', async () => {
  gateway = new GatewayFixture();
  const cached = async (url: string) => (await gateway.app.inject({ url, headers })).headers['cache-control'];
  expect(await cached('/api/jobs')).toBe('no-store');
  expect(await cached('/api/nothing')).toBe('no-store');
  expect(await cached('/api/openapi.json')).toBe('public, max-age=300');
  expect(await cached('/api/docs')).toBe('public, max-age=300');
  expect(await cached('/health/live')).toBeUndefined();
  expect(PAGE).toContain('`Cache-Control: no-store`');
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
