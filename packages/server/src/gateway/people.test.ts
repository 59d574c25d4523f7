/** Who did it is a person, whatever they came with; sessions are seen and ended; somebody who may do everything is always left. */
import type { Grant } from '@carillon/domain';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GatewayFixture, PASSWORD } from './gateway.fixture.ts';

const EDITOR: Grant = { namespace: 'default', role: 'editor', ownOnly: false };
const ADMIN: Grant = { namespace: '*', role: 'admin', ownOnly: false };

let gateway: GatewayFixture;

beforeEach(() => {
  gateway = new GatewayFixture();
});
afterEach(() => gateway.app.close());

describe('the audit log', () => {
  const job = { name: 'x', handler: 'default' };
  const entries = async (query: string) => (await gateway.ask('GET', `/api/audit?${query}`)).body;

  it('names the person with a key and with a session, also after the key is gone', async () => {
    const bob = await gateway.person('bob', [EDITOR]);
    const { key, secret } = await gateway.operations.createKey({
      ...{ name: 'carillon login on vm', grants: [EDITOR], ownerId: bob.userId },
    });
    const session = await gateway.signIn('bob');
    const { body } = await gateway.askWith(secret, 'POST', '/api/jobs', { payload: job });
    await gateway.askWith(secret, 'POST', '/api/jobs/batch', { payload: { jobs: [job, job] } });
    await gateway.askAs(session, 'POST', `/api/jobs/${body.job_id}/pause`);
    expect((await gateway.askWith(secret, 'DELETE', `/api/keys/${key.keyId}`)).status).toBe(204);
    const person = { kind: 'user', id: bob.userId, name: 'bob' };
    const byKey = { ...person, via: { kind: 'key', id: key.keyId, name: 'carillon login on vm' } };
    const found = await entries('actor=bob');
    expect(found.map(({ action }: { action: string }) => action)).toEqual([
      'keys.revoke',
      'jobs.pause',
      'jobs.create',
      'jobs.create',
      'jobs.create',
      'session.sign_in',
    ]);
    expect(found[0].actor).toEqual(byKey);
    expect(found[1].actor).toEqual({
      ...person,
      via: { kind: 'session', id: expect.stringMatching(/^[0-9a-f-]{36}$/), name: null },
    });
    expect(found[2].actor).toEqual(byKey);
    expect(await entries(`actor=${bob.userId}`)).toEqual(found);
    expect(await entries(`actor=${key.keyId}`)).toHaveLength(4);
    expect(await entries(`actor=${found[1].actor.via.id}`)).toHaveLength(1);
  });

  it('names keys of nobody, and the admin key, as themselves', async () => {
    const key = await gateway.keyWith(EDITOR);
    await gateway.askWith(key, 'POST', '/api/jobs', { payload: job });
    const [last] = await entries('limit=1');
    expect(last.actor).toMatchObject({ kind: 'key', name: 'editor key', via: null });
    await gateway.post('/api/jobs', job);
    expect((await entries('limit=1'))[0].actor).toEqual({
      ...{ kind: 'key', id: 'admin', name: 'admin key', via: null },
    });
  });

  it('writes accounts as answers do', async () => {
    const { body: user } = await gateway.post('/api/users', {
      ...{ name: 'cora', display_name: 'Cora' },
      grants: [{ namespace: 'default', role: 'editor', own_only: true }],
    });
    await gateway.ask('PATCH', `/api/users/${user.user_id}`, { payload: { display_name: 'Cora C.' } });
    const [updated, created] = await entries(`subject_id=${user.user_id}`);
    expect(created.after).toEqual({
      ...{ name: 'cora', display_name: 'Cora', has_password: false },
      grants: [{ namespace: 'default', role: 'editor', own_only: true }],
    });
    expect(updated).toMatchObject({ before: { display_name: 'Cora' }, after: { display_name: 'Cora C.' } });
    const { body: key } = await gateway.post('/api/keys', {
      name: 'k',
      role: 'viewer',
      expires_at: '2031-01-01T00:00:00Z',
    });
    const [made] = await entries(`subject_id=${key.key_id}`);
    expect(made.after).toEqual({
      ...{ name: 'k', prefix: key.prefix, expires_at: '2031-01-01T00:00:00.000Z' },
      grants: [{ namespace: 'default', role: 'viewer', own_only: false }],
    });
  });
});

describe('whoami', () => {
  it('names the person that a key belongs to', async () => {
    const bob = await gateway.person('bob', [EDITOR]);
    const key = await gateway.keyWith(EDITOR, { ownerId: bob.userId });
    const { body } = await gateway.askWith(key, 'GET', '/api/session');
    expect(body).toMatchObject({ kind: 'key', user_id: bob.userId, user_name: 'bob' });
    expect((await gateway.ask('GET', '/api/session')).body).toMatchObject({ user_name: null });
  });
});

describe('sessions', () => {
  it('are listed with where they came from, the current one marked, and ended', async () => {
    const bob = await gateway.person('bob', [EDITOR]);
    await gateway.person('cora', [EDITOR]);
    const [first, second] = [await gateway.signIn('bob'), await gateway.signIn('bob')];
    await gateway.signIn('cora');
    const { body: listed } = await gateway.askAs(second, 'GET', '/api/sessions');
    expect(listed).toHaveLength(2);
    expect(listed[0]).toMatchObject({ user_id: bob.userId, user_name: 'bob', address: '127.0.0.1' });
    expect(listed.map(({ current }: { current: boolean }) => current).toSorted()).toEqual([false, true]);
    const other = listed.find(({ current }: { current: boolean }) => !current);
    // With a key of his own he sees the same, none of them the current one.
    const key = await gateway.keyWith(EDITOR, { ownerId: bob.userId });
    const { body: seen } = await gateway.askWith(key, 'GET', '/api/sessions');
    expect(seen).toEqual(listed.map((session: object) => ({ ...session, current: false })));
    expect((await gateway.askWith(key, 'DELETE', `/api/sessions/${other.session_id}`)).status).toBe(204);
    expect((await gateway.askAs(first, 'GET', '/api/session')).status).toBe(401);
    expect((await gateway.askAs(second, 'GET', '/api/session')).status).toBe(200);
  });

  it('of everybody are for who reads users, page by page', async () => {
    for (const name of ['bob', 'cora', 'dora']) {
      await gateway.person(name, [EDITOR]);
      await gateway.signIn(name);
    }
    const bob = await gateway.signIn('bob');
    expect((await gateway.askAs(bob, 'GET', '/api/sessions?all=true')).status).toBe(403);
    const { body, headers } = await gateway.ask('GET', '/api/sessions?all=true&limit=3');
    expect(body).toHaveLength(3);
    expect(String(headers.link)).toContain(`cursor=${body[2].session_id}`);
    const next = await gateway.ask('GET', `/api/sessions?all=true&limit=3&after=${body[2].session_id}`);
    expect(next.body).toHaveLength(1);
    // The admin key belongs to nobody: it asks for all.
    expect((await gateway.ask('GET', '/api/sessions')).body).toHaveLength(4);
  });
});

describe('users', () => {
  it('are found by name', async () => {
    for (const name of ['bob', 'bobby']) await gateway.person(name, []);
    const { body } = await gateway.ask('GET', '/api/users?name=Bob');
    expect(body.map(({ name }: { name: string }) => name)).toEqual(['bob']);
  });

  it('the last administrator is neither removed, disabled nor demoted, by nobody', async () => {
    const root = await gateway.person('root', [ADMIN, EDITOR]);
    const session = await gateway.signIn('root');
    const path = `/api/users/${root.userId}`;
    const requests = [
      ['DELETE', path, { current_password: PASSWORD }],
      ['PATCH', path, { disabled: true }],
      [
        'PUT',
        `${path}/grants`,
        { grants: [{ namespace: 'default', role: 'admin' }], current_password: PASSWORD },
      ],
    ] as const;
    for (const [method, url, payload] of requests) {
      for (const answer of [
        await gateway.askAs(session, method, url, payload),
        await gateway.ask(method, url, { payload }),
      ]) {
        expect(answer.status).toBe(409);
        expect(answer.body).toMatchObject({ code: 'last_administrator' });
      }
    }
    await gateway.person('second', [ADMIN]);
    expect((await gateway.ask('DELETE', path)).status).toBe(204);
  });
});
