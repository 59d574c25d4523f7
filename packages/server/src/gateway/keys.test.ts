/** Keys as people meet them: their own with whatever they came with, never more than that, and nothing lasting from a stolen one. */
import type { Grant } from '@carillon/domain';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GatewayFixture, PASSWORD } from './gateway.fixture.ts';

const VIEWER: Grant = { namespace: 'ops', role: 'viewer', ownOnly: false };
const EDITOR_OF_OWN: Grant = { namespace: 'ops', role: 'editor', ownOnly: true };
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let gateway: GatewayFixture;

beforeEach(() => {
  gateway = new GatewayFixture();
});
afterEach(() => gateway.app.close());

const later = (ms: number) => new Date(gateway.clock.now() + ms).toISOString();

/** Bob, and a key of his such as `carillon login` makes. */
async function bobWithLogin(days = 20) {
  const bob = await gateway.person('bob', [VIEWER, EDITOR_OF_OWN]);
  const { key, secret } = await gateway.operations.createKey({
    ...{ name: 'login', grants: [VIEWER, EDITOR_OF_OWN], ownerId: bob.userId },
    expiresAtMs: gateway.clock.now() + days * DAY_MS,
  });
  return { bob, keyId: key.keyId, secret };
}

describe('a key with several grants', () => {
  const grants = [
    { namespace: 'ops', role: 'viewer', own_only: false },
    { namespace: 'ops', role: 'editor', own_only: true },
  ];

  it('has all of them, and the first one as before', async () => {
    await gateway.namespace('ops');
    const bob = await gateway.person('bob', [VIEWER, EDITOR_OF_OWN]);
    const made = await gateway.post('/api/keys', { name: 'both', grants, user_id: bob.userId });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({ grants, namespace: 'ops', role: 'viewer', own_only: false });
    const job = { name: 'x', namespace: 'ops', handler: 'default' };
    const create = await gateway.askWith(made.body.key, 'POST', '/api/jobs', { payload: job });
    expect(create.status).toBe(201);
    const other = await gateway.createdId({ ...job, user_id: 'somebody else' });
    const path = `/api/jobs/${other}`;
    expect((await gateway.askWith(made.body.key, 'GET', path)).status).toBe(200);
    expect((await gateway.askWith(made.body.key, 'DELETE', path)).status).toBe(403);
  });

  it('is written in snake_case, and read in camelCase as well', async () => {
    await gateway.namespace('ops');
    const body = { name: 'x', grants: [{ namespace: 'ops', role: 'viewer', ownOnly: false }] };
    const made = await gateway.post('/api/keys', body);
    expect(made.body).toMatchObject({ grants: [{ namespace: 'ops', role: 'viewer', own_only: false }] });
    const user = { name: 'cora', grants: [{ namespace: 'ops', role: 'editor', ownOnly: true }] };
    expect((await gateway.post('/api/users', user)).body.grants).toEqual([
      { namespace: 'ops', role: 'editor', own_only: true },
    ]);
    const both = { ...body, grants: [{ ...body.grants[0], own_only: true }] };
    expect((await gateway.post('/api/keys', both)).body).toMatchObject({
      code: 'field_conflict',
      field: 'grants[0].own_only',
    });
  });

  it('is described once: by grants, or by the fields of one', async () => {
    const refused = async (body: object) => (await gateway.post('/api/keys', body)).body;
    expect(await refused({ name: 'x' })).toMatchObject({ code: 'field_missing', field: 'role' });
    expect(await refused({ name: 'x', grants: [] })).toMatchObject({
      code: 'field_invalid',
      field: 'grants',
    });
    expect(await refused({ name: 'x', grants, role: 'viewer' })).toMatchObject({
      code: 'field_conflict',
      field: 'role',
    });
  });

  it('shows an administrator of one namespace what it may there, and needs one of both to end', async () => {
    for (const name of ['ops', 'billing']) await gateway.namespace(name);
    const spread = ['ops', 'billing'].map((namespace) => ({ namespace, role: 'viewer' }));
    const { body: key } = await gateway.post('/api/keys', { name: 'spread', grants: spread });
    const admin = await gateway.keyWith({ namespace: 'ops', role: 'admin' });
    const seen = await gateway.askWith(admin, 'GET', `/api/keys/${key.key_id}`);
    expect(seen.body.grants).toEqual([{ namespace: 'ops', role: 'viewer', own_only: false }]);
    expect((await gateway.askWith(admin, 'DELETE', `/api/keys/${key.key_id}`)).status).toBe(403);
    expect((await gateway.ask('DELETE', `/api/keys/${key.key_id}`)).status).toBe(204);
  });
});

describe('a person with a key of their own', () => {
  it('makes, lists, renames, rotates and revokes keys of their own without any permission', async () => {
    const { bob, secret } = await bobWithLogin();
    const ask = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object) =>
      gateway.askWith(secret, method, url, payload && { payload });
    const made = await ask('POST', '/api/keys', {
      ...{ name: 'script', namespace: 'ops', role: 'viewer', expires_at: later(DAY_MS) },
    });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({ user_id: bob.userId, user_name: 'bob' });
    const path = `/api/keys/${made.body.key_id}`;
    const names = async () =>
      (await ask('GET', '/api/keys')).body.map((key: { name: string; user_name: string }) => key.name);
    expect((await names()).toSorted()).toEqual(['login', 'script']);
    expect((await ask('PATCH', path, { name: 'night script' })).body).toMatchObject({ name: 'night script' });
    const rotated = await ask('POST', `${path}/rotate`, { overlap: '1h' });
    expect(rotated.body).toMatchObject({ key_id: made.body.key_id, previous_prefix: made.body.prefix });
    for (const key of [made.body.key, rotated.body.key])
      expect((await gateway.askWith(key, 'GET', '/api/jobs')).status).toBe(200);
    expect((await ask('DELETE', path)).status).toBe(204);
    expect((await gateway.askWith(rotated.body.key, 'GET', '/api/jobs')).status).toBe(401);
  });

  it('gets no more from it than it has: neither a role, a place nor a permission', async () => {
    const { bob } = await bobWithLogin();
    await gateway.namespace('other');
    const narrow = await gateway.keyWith(VIEWER, { ownerId: bob.userId, scopes: ['jobs.read'] });
    const make = async (over: object) => {
      const body = { name: 'x', namespace: 'ops', role: 'viewer', expires_at: later(DAY_MS), ...over };
      return (await gateway.askWith(narrow, 'POST', '/api/keys', { payload: body })).status;
    };
    expect(await make({})).toBe(403);
    expect(await make({ scopes: ['jobs.read', 'runs.read'] })).toBe(403);
    expect(await make({ role: 'editor', own_only: true, scopes: ['jobs.read'] })).toBe(403);
    expect(await make({ namespace: 'other', scopes: ['jobs.read'] })).toBe(404);
    expect(await make({ scopes: ['jobs.read'] })).toBe(201);
  });

  it('changes none with it that may more than it does', async () => {
    const { bob, keyId, secret } = await bobWithLogin();
    const narrow = await gateway.keyWith(VIEWER, { ownerId: bob.userId, scopes: ['jobs.read'] });
    const path = `/api/keys/${keyId}`;
    for (const [method, url, payload] of [
      ['DELETE', path, undefined],
      ['PATCH', path, { name: 'mine now' }],
      ['POST', `${path}/rotate`, {}],
    ] as const) {
      expect((await gateway.askWith(narrow, method, url, payload && { payload })).status).toBe(403);
    }
    expect((await gateway.askWith(secret, 'GET', '/api/jobs')).status).toBe(200);
    // The other way round, and by signing in, it goes.
    const { body: keys } = await gateway.askWith(secret, 'GET', '/api/keys');
    const { key_id: narrowId } = keys.find(({ key_id: id }: { key_id: string }) => id !== keyId);
    expect((await gateway.askWith(secret, 'DELETE', `/api/keys/${narrowId}`)).status).toBe(204);
    expect((await gateway.askAs(await gateway.signIn('bob'), 'DELETE', path)).status).toBe(204);
  });

  it('is not rotated with the secret that a rotation replaced', async () => {
    const { keyId, secret } = await bobWithLogin();
    const rotate = (key: string) =>
      gateway.askWith(key, 'POST', `/api/keys/${keyId}/rotate`, { payload: {} });
    const { body: rotated } = await rotate(secret);
    expect((await gateway.askWith(secret, 'GET', '/api/jobs')).status).toBe(200);
    expect((await rotate(secret)).body).toMatchObject({ status: 409, code: 'key_changed' });
    const longer = { name: 'more', grants: [VIEWER], expires_at: later(10 * DAY_MS) };
    const make = (key: string) => gateway.askWith(key, 'POST', '/api/keys', { payload: longer });
    expect((await make(secret)).body).toMatchObject({ status: 403, code: 'password_required' });
    expect((await make(rotated.key)).status).toBe(201);
  });

  it('rotates the key itself without a password: it lasts no longer than before', async () => {
    const { keyId, secret } = await bobWithLogin(300);
    const rotate = (key: string, payload: object) =>
      gateway.askWith(key, 'POST', `/api/keys/${keyId}/rotate`, { payload });
    const first = await rotate(secret, {});
    expect(first.status).toBe(200);
    expect((await rotate(first.body.key, { expires_at: null })).body).toMatchObject({
      code: 'password_required',
    });
    const endless = await rotate(first.body.key, { expires_at: null, current_password: PASSWORD });
    expect(endless.body).toMatchObject({ expires_at: null });
  });
});

describe('a stolen session or key', () => {
  const endless = { name: 'x', namespace: 'ops', role: 'viewer' };

  it('makes no key that outlives it without the password', async () => {
    const { secret, keyId } = await bobWithLogin(10);
    const session = await gateway.signIn('bob');
    const bySession = (body: object) => gateway.askAs(session, 'POST', '/api/keys', body);
    const byKey = (payload: object) => gateway.askWith(secret, 'POST', '/api/keys', { payload });
    const bounds = [
      [bySession, 7 * DAY_MS],
      [byKey, 10 * DAY_MS],
    ] as const;
    for (const [make, ms] of bounds) {
      const refused = await make(endless);
      expect(refused.status).toBe(403);
      expect(refused.body).toMatchObject({ code: 'password_required', field: 'current_password' });
      expect(refused.body.detail).toContain(later(ms));
      expect((await make({ ...endless, expires_at: later(ms + 1) })).status).toBe(403);
      expect((await make({ ...endless, expires_at: later(ms) })).status).toBe(201);
      expect((await make({ ...endless, current_password: 'a wrong phrase' })).body).toMatchObject({
        code: 'field_invalid',
        field: 'current_password',
      });
      expect((await make({ ...endless, current_password: PASSWORD })).status).toBe(201);
    }
    const rotate = { overlap: 0, expires_at: null };
    const rotated = await gateway.askAs(session, 'POST', `/api/keys/${keyId}/rotate`, rotate);
    expect(rotated.body).toMatchObject({ code: 'password_required' });
  });

  it('that does not expire makes keys of 30 days', async () => {
    const bob = await gateway.person('bob', [VIEWER]);
    const key = await gateway.keyWith(VIEWER, { ownerId: bob.userId });
    const make = async (expiresAt: string) => {
      const payload = { ...endless, expires_at: expiresAt };
      return (await gateway.askWith(key, 'POST', '/api/keys', { payload })).status;
    };
    expect(await make(later(30 * DAY_MS + 1))).toBe(403);
    expect(await make(later(30 * DAY_MS))).toBe(201);
  });

  it('of an administrator makes no endless key of the installation either', async () => {
    const root = await gateway.person('root', [{ namespace: '*', role: 'admin' }]);
    const session = await gateway.signIn('root');
    await gateway.namespace('ops');
    expect((await gateway.askAs(session, 'POST', '/api/keys', endless)).body).toMatchObject({
      code: 'password_required',
    });
    const of = await gateway.person('cora', []);
    const forCora = { ...endless, user_id: of.userId };
    expect((await gateway.askAs(session, 'POST', '/api/keys', forCora)).status).toBe(403);
    expect(root.userId).toBeDefined();
  });

  it('is over with a new password, and so are the keys that the person made, if asked', async () => {
    const { bob, secret } = await bobWithLogin();
    const session = await gateway.signIn('bob');
    const thief = await gateway.signIn('bob');
    const { body: stolen } = await gateway.askAs(thief, 'POST', '/api/keys', {
      ...endless,
      expires_at: later(DAY_MS),
    });
    const { body: next } = await gateway.askWith(stolen.key, 'POST', '/api/keys', {
      payload: { ...endless, expires_at: later(HOUR_MS) },
    });
    const change = { password: 'a quite new phrase', current_password: PASSWORD };
    const path = `/api/users/${bob.userId}/password`;
    expect((await gateway.askAs(session, 'POST', path, change)).status).toBe(204);
    expect((await gateway.askAs(thief, 'GET', '/api/session')).status).toBe(401);
    expect((await gateway.askWith(stolen.key, 'GET', '/api/jobs')).status).toBe(200);
    const again = { password: PASSWORD, current_password: change.password, end_keys: true };
    expect((await gateway.askAs(session, 'POST', path, again)).status).toBe(204);
    for (const key of [stolen.key, next.key])
      expect((await gateway.askWith(key, 'GET', '/api/jobs')).status).toBe(401);
    // One that an administrator made for him goes on.
    expect((await gateway.askWith(secret, 'GET', '/api/jobs')).status).toBe(200);
    expect((await gateway.askAs(session, 'GET', '/api/session')).status).toBe(200);
  });
});

describe('keys are found', () => {
  it('by owner, namespace, name, expiry and last use', async () => {
    const { bob, secret } = await bobWithLogin();
    await gateway.keyWith({ namespace: 'billing' }, { expiresAtMs: gateway.clock.now() + HOUR_MS });
    gateway.clock.advance(2 * HOUR_MS);
    await gateway.askWith(secret, 'GET', '/api/jobs');
    await gateway.accounts.runOnce();
    const names = async (query: string) =>
      (await gateway.ask('GET', `/api/keys?${query}`)).body.map(({ name }: { name: string }) => name);
    expect(await names(`user_id=${bob.userId}`)).toEqual(['login']);
    expect(await names('namespace=billing')).toEqual(['viewer key']);
    expect(await names('name=login')).toEqual(['login']);
    expect(await names('expired=true')).toEqual(['viewer key']);
    expect(await names('expired=false')).toEqual(['login']);
    expect(await names(`unused_since=${later(-HOUR_MS)}`)).toEqual(['viewer key']);
    const [login] = (await gateway.ask('GET', '/api/keys?name=login')).body;
    expect(login).toMatchObject({
      user_name: 'bob',
      last_used_at: later(0),
      last_used_address: '127.0.0.1',
    });
    expect((await gateway.ask('GET', '/api/keys?expired=perhaps')).status).toBe(400);
  });

  it('rotated at the same instant, one rotation counts', async () => {
    const { body } = await gateway.post('/api/keys', { name: 'x', role: 'viewer' });
    const rotate = () => gateway.operations.rotateKey(body.key_id, { overlapMs: HOUR_MS });
    const [first, second] = await Promise.allSettled([rotate(), rotate()]);
    expect(first).toMatchObject({ status: 'fulfilled' });
    expect(second).toMatchObject({ reason: { code: 'key_changed' } });
    expect((await gateway.askWith(body.key, 'GET', '/api/jobs')).status).toBe(200);
    const wrong = (overlap: unknown) => gateway.post(`/api/keys/${body.key_id}/rotate`, { overlap });
    for (const overlap of ['soon', '91d', -1]) expect((await wrong(overlap)).status).toBe(400);
  });
});

describe('a key of nobody', () => {
  it('gives neither itself nor others a longer life than it has', async () => {
    const grants: Grant[] = [{ namespace: '*', role: 'admin', ownOnly: false }];
    const expiresAtMs = gateway.clock.now() + DAY_MS;
    const { key, secret } = await gateway.operations.createKey({ name: 'contractor', grants, expiresAtMs });
    const ask = (path: string, payload: object) => gateway.askWith(secret, 'POST', path, { payload });
    const refused = { status: 400, code: 'field_invalid', field: 'expires_at' };
    expect((await ask(`/api/keys/${key.keyId}/rotate`, { expires_at: null })).body).toMatchObject(refused);
    expect((await ask('/api/keys', { name: 'endless', grants })).body).toMatchObject(refused);
    const shorter = { name: 'shorter', grants, expires_at: later(HOUR_MS) };
    expect((await ask('/api/keys', shorter)).status).toBe(201);
    expect((await ask(`/api/keys/${key.keyId}/rotate`, {})).status).toBe(200);
  });
});

describe('the password of a person', () => {
  it('is not changed by a key of theirs without the current one', async () => {
    const grants: Grant[] = [{ namespace: '*', role: 'admin', ownOnly: false }];
    const { userId } = await gateway.person('ada', grants);
    const { secret } = await gateway.operations.createKey({ name: 'stolen', grants, ownerId: userId });
    const change = (body: object) =>
      gateway.askWith(secret, 'POST', `/api/users/${userId}/password`, { payload: body });
    const password = 'a brand new passphrase';
    expect((await change({ password })).body).toMatchObject({
      code: 'field_invalid',
      field: 'current_password',
    });
    expect((await change({ password, current_password: PASSWORD })).status).toBeLessThan(300);
  });
});
