/** Limits are those of a person, however many keys they make; keys are few, and gone some time after they expired. */
import { randomUUID } from 'node:crypto';
import type { Grant } from '@carillon/domain';
import { ManualClock, SeededRandom, silentLog } from '@carillon/foundation';
import { afterEach, describe, expect, it } from 'vitest';
import { MemoryCounters } from '../counters/memory-counters.ts';
import { GatewayFixture, PASSWORD } from './gateway.fixture.ts';
import { RequestLimits } from './rate-limit.ts';

const VIEWER: Grant = { namespace: 'default', role: 'viewer', ownOnly: false };
const ADMIN: Grant = { namespace: 'ops', role: 'admin', ownOnly: false };
const DAY_MS = 24 * 3_600_000;

let gateway = new GatewayFixture();
afterEach(async () => {
  await gateway.app.close();
  gateway = new GatewayFixture();
});

const later = (ms: number) => new Date(gateway.clock.now() + ms).toISOString();

describe('a person with many keys', () => {
  it('has one rate limit, with all of them and with a session', async () => {
    const limits = new RequestLimits({
      settings: { perCaller: 1, perAddress: 0, burstSeconds: 3 },
      ...{ counters: new MemoryCounters(), clock: new ManualClock() },
      ...{ random: new SeededRandom(1), log: silentLog },
    });
    gateway = new GatewayFixture({ limits });
    const { userId: ownerId } = await gateway.person('bob');
    const { userId: other } = await gateway.person('cora');
    const ask = async (key: string) => (await gateway.askWith(key, 'GET', '/api/jobs')).status;
    for (let n = 0; n < 3; n += 1) expect(await ask(await gateway.keyWith(VIEWER, { ownerId }))).toBe(200);
    const next = await gateway.keyWith(VIEWER, { ownerId });
    expect(await ask(next)).toBe(429);
    expect((await gateway.askAs(await gateway.signIn('bob'), 'GET', '/api/jobs')).status).toBe(429);
    expect(await ask(await gateway.keyWith(VIEWER, { ownerId: other }))).toBe(200);
    // Keys of nobody are each their own.
    for (let n = 0; n < 4; n += 1) expect(await ask(await gateway.keyWith(VIEWER))).toBe(200);
  });

  it('owes each item of a request in bulk, whichever key it came with', async () => {
    const clock = new ManualClock();
    const limits = new RequestLimits({
      settings: { perCaller: 10, perAddress: 0, burstSeconds: 2 },
      ...{ counters: new MemoryCounters(), clock, random: new SeededRandom(1), log: silentLog },
    });
    gateway = new GatewayFixture({ limits });
    const { userId: ownerId } = await gateway.person('bob', [{ role: 'operator' }]);
    const operator: Grant = { ...VIEWER, role: 'operator' };
    const keys = [await gateway.keyWith(operator, { ownerId }), await gateway.keyWith(operator, { ownerId })];
    const ids = Array.from({ length: 100 }, () => randomUUID());
    const paid = async (path: string, payload: object) => {
      clock.advance(3_600_000);
      const bulk = await gateway.askWith(keys[0]!, 'POST', path, { payload });
      const next = await gateway.askWith(keys[1]!, 'GET', '/api/jobs');
      return [bulk.status, bulk.headers['ratelimit-remaining'], next.status, next.headers['retry-after']];
    };
    const owed = [200, '0', 429, '9'];
    expect(await paid('/api/runs/bulk', { action: 'cancel', run_ids: ids })).toEqual(owed);
    expect(await paid('/api/runs/bulk', { action: 'rerun', run_ids: ids, dry_run: true })).toEqual(owed);
    expect(await paid('/api/jobs/bulk', { action: 'pause', job_ids: ids })).toEqual(owed);
    expect(await paid('/api/jobs/bulk', { action: 'pause', job_ids: ids.slice(0, 2) })).toEqual([
      ...[200, '18', 200, undefined],
    ]);
    // The admin key has no limit.
    const admin = () =>
      gateway.ask('POST', '/api/runs/bulk', { payload: { action: 'cancel', run_ids: ids } });
    for (let n = 0; n < 3; n += 1) expect((await admin()).status).toBe(200);
  });

  it('follows the events as often as with one', async () => {
    const { userId } = await gateway.person('bob');
    const open = (id: string) => {
      const caller = { kind: 'key', id, name: id, userId, grants: [VIEWER], scopes: undefined } as const;
      const origin = { address: undefined, userAgent: undefined, requestId: undefined };
      return gateway.events.open({ ...caller, origin });
    };
    const streams = Array.from({ length: 99 }, (_, n) => {
      try {
        return open(`key ${n}`);
      } catch (error) {
        return error;
      }
    });
    expect(streams.at(-1)).toMatchObject({ code: 'too_many_listeners' });
  });

  it('makes 100 that live, and is told what to do', async () => {
    const { userId: ownerId } = await gateway.person('bob');
    const expiresAtMs = gateway.clock.now() + DAY_MS;
    for (let n = 0; n < 99; n += 1) await gateway.keyWith(VIEWER, { ownerId, expiresAtMs });
    let session = await gateway.signIn('bob');
    const body = { name: 'one more', role: 'viewer', current_password: PASSWORD };
    const make = () => gateway.askAs(session, 'POST', '/api/keys', body);
    const { body: last } = await make();
    expect((await make()).body).toMatchObject({
      ...{ status: 409, code: 'keys_full' },
      detail: expect.stringContaining('100'),
    });
    expect((await gateway.askAs(session, 'DELETE', `/api/keys/${last.key_id}`)).status).toBe(204);
    expect((await make()).status).toBe(201);
    // Those that have expired do not count.
    gateway.clock.advance(DAY_MS);
    session = await gateway.signIn('bob');
    expect((await make()).status).toBe(201);
  });

  it('made at the same moment they are not more', async () => {
    await gateway.person('bob');
    const session = await gateway.signIn('bob');
    const body = { name: 'x', role: 'viewer', expires_at: later(DAY_MS) };
    const made = await Promise.all(
      Array.from({ length: 110 }, () => gateway.askAs(session, 'POST', '/api/keys', body)),
    );
    expect(made.filter(({ status }) => status === 201)).toHaveLength(100);
  });
});

it('keys of nobody are limited in each namespace, except for the admin key', async () => {
  const maker = await gateway.keyWith(ADMIN);
  for (let n = 1; n < 1_000; n += 1) await gateway.keyWith(ADMIN);
  const make = (payload: object) => gateway.askWith(maker, 'POST', '/api/keys', { payload });
  const body = { name: 'x', role: 'viewer', namespace: 'ops' };
  expect((await make(body)).body).toMatchObject({ code: 'keys_full' });
  expect((await gateway.post('/api/keys', body)).status).toBe(201);
  expect((await gateway.post('/api/keys', { ...body, namespace: 'default' })).status).toBe(201);
});

it('an expired key is still listed for 30 days, and then deleted', async () => {
  const expiresAtMs = gateway.clock.now() + DAY_MS;
  await gateway.keyWith(VIEWER, { expiresAtMs });
  await gateway.keyWith(VIEWER);
  const count = async () => (await gateway.ask('GET', '/api/keys')).body.length;
  const clear = async () => {
    for (let pass = 0; pass < 10; pass += 1) await gateway.accounts.runOnce();
  };
  gateway.clock.advance(31 * DAY_MS);
  await clear();
  expect(await count()).toBe(2);
  gateway.clock.advance(1);
  await clear();
  expect(await count()).toBe(1);
});
