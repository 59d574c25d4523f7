/** What an administrator gives to people outlasts the session or key that they came with, and so takes their password. */
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { rpc } from '@carillon/contract';
import type { Caller, Grant } from '@carillon/domain';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GatewayFixture, PASSWORD } from './gateway.fixture.ts';
import { RpcFixture, refusalOf } from './rpc/rpc.fixture.ts';

const ADMIN: Grant = { namespace: '*', role: 'admin', ownOnly: false };
const NEW_PASSWORD = 'a phrase that a thief knows';
const HOUR_MS = 3_600_000;
const required = { status: 403, code: 'password_required', field: 'current_password' };

describe('over REST', () => {
  let gateway: GatewayFixture;
  beforeEach(() => {
    gateway = new GatewayFixture();
  });
  afterEach(() => gateway.app.close());

  /** What outlasts a session, as requests without a password. */
  async function lasting() {
    const bob = await gateway.person('bob', []);
    const gone = await gateway.person('gone', [ADMIN]);
    await gateway.operations.updateUser(gone.userId, { disabled: true });
    return [
      ['POST', '/api/users', { name: 'second', password: NEW_PASSWORD, grants: [ADMIN] }],
      ['PUT', `/api/users/${bob.userId}/grants`, { grants: [ADMIN] }],
      ['POST', `/api/users/${bob.userId}/password`, { password: NEW_PASSWORD }],
      ['PATCH', `/api/users/${gone.userId}`, { disabled: false }],
    ] as const;
  }

  it('neither a stolen session nor a stolen key makes, promotes, enables or takes over a user', async () => {
    const root = await gateway.person('root', [ADMIN]);
    const session = await gateway.signIn('root');
    const key = await gateway.keyWith(ADMIN, { ownerId: root.userId });
    const requests = await lasting();
    for (const [method, url, payload] of requests) {
      expect((await gateway.askAs(session, method, url, payload)).body).toMatchObject(required);
      expect((await gateway.askWith(key, method, url, { payload })).body).toMatchObject(required);
      const wrong = { ...payload, current_password: 'a wrong phrase' };
      expect((await gateway.askAs(session, method, url, wrong)).body).toMatchObject({
        code: 'field_invalid',
        field: 'current_password',
      });
      gateway.clock.advance(60_000);
    }
    const { body: users } = await gateway.ask('GET', '/api/users');
    expect(users).toMatchObject([
      { name: 'bob', grants: [] },
      { name: 'gone', disabled: true },
      { name: 'root' },
    ]);
    for (const [method, url, payload] of requests) {
      const shown = { ...payload, current_password: PASSWORD };
      expect((await gateway.askAs(session, method, url, shown)).status).toBeLessThan(300);
    }
  });

  it('what lasts no longer than it is given needs none: a name, and taking something away', async () => {
    const root = await gateway.person('root', [ADMIN]);
    const key = await gateway.keyWith(ADMIN, { ownerId: root.userId });
    const bob = await gateway.person('bob', [ADMIN]);
    const path = `/api/users/${bob.userId}`;
    for (const payload of [{ display_name: 'Bob' }, { disabled: true }])
      expect((await gateway.askWith(key, 'PATCH', path, { payload })).status).toBe(200);
  });

  it('removing a user takes the password of who has one, for it cannot be undone', async () => {
    const root = await gateway.person('root', [ADMIN]);
    const session = await gateway.signIn('root');
    const key = await gateway.keyWith(ADMIN, { ownerId: root.userId });
    const bob = await gateway.person('bob', [ADMIN]);
    const path = `/api/users/${bob.userId}`;
    expect((await gateway.askAs(session, 'DELETE', path)).body).toMatchObject(required);
    expect((await gateway.askWith(key, 'DELETE', path)).body).toMatchObject(required);
    const wrong = { current_password: 'a wrong phrase' };
    expect((await gateway.askAs(session, 'DELETE', path, wrong)).body).toMatchObject({
      ...{ code: 'field_invalid', field: 'current_password' },
    });
    const shown = { current_password: PASSWORD };
    expect((await gateway.askAs(session, 'DELETE', path, shown)).status).toBe(204);
    const [cora, dora] = [await gateway.person('cora'), await gateway.person('dora')];
    expect((await gateway.ask('DELETE', `/api/users/${cora.userId}`)).status).toBe(204);
    const nobodys = await gateway.keyWith(ADMIN);
    expect((await gateway.askWith(nobodys, 'DELETE', `/api/users/${dora.userId}`)).status).toBe(204);
  });

  it('the admin key, keys of nobody and users without a password have none to show', async () => {
    const { userId: ownerId } = await gateway.operations.createUser({ name: 'program', grants: [ADMIN] });
    const keys = [await gateway.keyWith(ADMIN), await gateway.keyWith(ADMIN, { ownerId })];
    for (const [n, key] of keys.entries()) {
      const payload = { name: `user-${n}`, password: NEW_PASSWORD };
      expect((await gateway.askWith(key, 'POST', '/api/users', { payload })).status).toBe(201);
    }
    for (const [method, url, payload] of await lasting())
      expect((await gateway.ask(method, url, { payload })).status).toBeLessThan(300);
  });

  it('a stolen session or key takes over no key of others, however soon it would end', async () => {
    const root = await gateway.person('root', [ADMIN]);
    const session = await gateway.signIn('root');
    const login = await gateway.keyWith(ADMIN, { ownerId: root.userId });
    const { userId: robot } = await gateway.operations.createUser({ name: 'robot', grants: [ADMIN] });
    const { key: deploy } = await gateway.operations.createKey({ name: 'deploy', grants: [ADMIN] });
    const { key: robots } = await gateway.operations.createKey({
      ...{ name: 'robots', grants: [ADMIN], ownerId: robot },
    });
    const soon = new Date(gateway.clock.now() + HOUR_MS).toISOString();
    const made = { name: 'k', role: 'admin', namespace: '*', user_id: robot, expires_at: soon };
    for (const [url, payload] of [
      ['/api/keys', made],
      [`/api/keys/${deploy.keyId}/rotate`, { overlap: '24h', expires_at: soon }],
      [`/api/keys/${robots.keyId}/rotate`, { overlap: '24h', expires_at: soon }],
    ] as const) {
      expect((await gateway.askAs(session, 'POST', url, payload)).body).toMatchObject(required);
      expect((await gateway.askWith(login, 'POST', url, { payload })).body).toMatchObject(required);
      const shown = { ...payload, current_password: PASSWORD };
      expect((await gateway.askAs(session, 'POST', url, shown)).status).toBeLessThan(300);
    }
  });

  it('without a password to show, only what does not expire gives what lasts', async () => {
    const { userId: robot } = await gateway.operations.createUser({ name: 'robot', grants: [ADMIN] });
    const expiresAtMs = gateway.clock.now() + HOUR_MS;
    const ofRobot = await gateway.keyWith(ADMIN, { ownerId: robot, expiresAtMs });
    const replaced = await gateway.operations.createKey({ name: 'deploy', grants: [ADMIN] });
    await gateway.operations.rotateKey(replaced.key.keyId, { overlapMs: HOUR_MS });
    const requests = await lasting();
    const own = ['POST', `/api/users/${robot}/password`, { password: NEW_PASSWORD }] as const;
    for (const key of [ofRobot, await gateway.keyWith(ADMIN, { expiresAtMs }), replaced.secret]) {
      for (const [method, url, payload] of [...requests, own])
        expect((await gateway.askWith(key, method, url, { payload })).body).toMatchObject({
          code: 'forbidden',
          detail: expect.stringContaining('expire'),
        });
    }
    const endless = { name: 'k', role: 'admin', namespace: '*' };
    const later = { ...endless, expires_at: new Date(expiresAtMs + 1).toISOString() };
    for (const payload of [endless, later])
      expect((await gateway.askWith(ofRobot, 'POST', '/api/keys', { payload })).body).toMatchObject({
        code: 'password_required',
      });
    const within = { ...endless, expires_at: new Date(expiresAtMs).toISOString() };
    expect((await gateway.askWith(ofRobot, 'POST', '/api/keys', { payload: within })).status).toBe(201);
  });
});

describe('over RPC', () => {
  let gateway: RpcFixture;
  beforeEach(async () => {
    gateway = await RpcFixture.start();
  });
  afterEach(() => gateway.stop());

  it('the same calls take the password', async () => {
    const client = gateway.client(rpc.AccountService);
    const { userId } = await gateway.operations.createUser({
      ...{ name: 'root', password: PASSWORD, grants: [ADMIN] },
    });
    const { userId: bob } = await gateway.operations.createUser({ name: 'bob' });
    const { userId: gone } = await gateway.operations.createUser({ name: 'gone' });
    await gateway.operations.updateUser(gone, { disabled: true });
    const { userId: robot } = await gateway.operations.createUser({ name: 'robot', grants: [ADMIN] });
    const { key: deploy } = await gateway.operations.createKey({ name: 'deploy', grants: [ADMIN] });
    const soon = timestampFromMs(gateway.clock.now() + HOUR_MS);
    const forRobot = { name: 'k', grants: [ADMIN], userId: robot, expiresAt: soon };
    const root: Caller = {
      ...gateway.caller,
      ...{ kind: 'key', id: 'k', name: 'login', userId, userName: 'root', grants: [ADMIN] },
    };
    gateway.caller = root;
    const calls = [
      (proof: object) => client.createUser({ name: 'second', password: NEW_PASSWORD, ...proof }),
      (proof: object) => client.setUserGrants({ userId: bob, grants: [ADMIN], ...proof }),
      (proof: object) => client.setUserPassword({ userId: bob, password: NEW_PASSWORD, ...proof }),
      (proof: object) => client.updateUser({ userId: gone, disabled: false, ...proof }),
      (proof: object) => client.deleteUser({ userId: bob, ...proof }),
      (proof: object) => client.rotateKey({ keyId: deploy.keyId, expiresAt: soon, ...proof }),
      (proof: object) => client.createKey({ ...forRobot, ...proof }),
    ];
    for (const call of calls) {
      expect((await refusalOf(call({}))).detail).toMatchObject({
        code: 'password_required',
        field: 'current_password',
      });
      await call({ currentPassword: PASSWORD });
    }
  });
});
