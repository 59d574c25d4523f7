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

  it('names what an entry is about, as it is called now, while it is there', async () => {
    const { body: job } = await gateway.post('/api/jobs', {
      name: 'nightly',
      handler: 'default',
      interval: '1h',
    });
    await gateway.ask('PATCH', `/api/jobs/${job.job_id}`, { payload: { name: 'weekly' } });
    await gateway.post(`/api/jobs/${job.job_id}/pause`, {});
    const { body: key } = await gateway.post('/api/keys', {
      name: 'k',
      grants: [{ namespace: 'default', role: 'viewer' }],
    });
    await gateway.post(`/api/keys/${key.key_id}/rotate`, {});
    const { userId } = await gateway.person('bob', []);
    await gateway.ask('PATCH', `/api/users/${userId}`, { payload: { display_name: 'Bob B.' } });
    await gateway.post('/api/namespaces', { name: 'ops' });
    const subjects = async () =>
      Object.fromEntries(
        (await gateway.ask('GET', '/api/audit?limit=100')).body.map(
          ({ action, subject }: { action: string; subject: { name: string | null } }) => [
            action,
            subject.name,
          ],
        ),
      );
    expect(await subjects()).toMatchObject({
      ...{ 'jobs.pause': 'weekly', 'jobs.update': 'weekly', 'keys.rotate': 'k', 'users.update': 'bob' },
      'namespaces.create': null,
    });
    await gateway.ask('DELETE', `/api/jobs/${job.job_id}?purge=true`);
    expect(await subjects()).toMatchObject({ 'jobs.delete': null, 'jobs.update': null });
  });

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

  it('has one entry when guesses at a password are locked out, for each limit that they reach', async () => {
    const bob = await gateway.person('bob', [EDITOR]);
    const guess = (name: string) => gateway.post('/api/session', { name, password: 'a wrong phrase' });
    for (let i = 0; i < 5; i += 1) expect((await guess('bob')).status).toBe(401);
    expect(await entries('action=session.locked')).toEqual([]);
    for (let i = 0; i < 4; i += 1) expect((await guess('bob')).status).toBe(429);
    const locked = await entries('action=session.locked');
    const untilAt = new Date(gateway.clock.now() + 60_000).toISOString();
    expect(locked).toMatchObject([
      {
        subject: { kind: 'user', id: bob.userId },
        after: { counted_per: ['name_from_address'], until_at: untilAt },
      },
    ]);
    // Sometimes a password is typed into the wrong field.
    for (let i = 0; i < 6; i += 1) await guess('a secret phrase');
    const [unknown] = await entries('action=session.locked&limit=1');
    expect(unknown.subject).toMatchObject({ kind: 'user', id: 'unknown' });
    expect(JSON.stringify(unknown)).not.toContain('secret phrase');
  });

  it('names who is locked out of showing their password', async () => {
    const bob = await gateway.person('bob', [EDITOR]);
    const session = await gateway.signIn('bob');
    const change = { password: 'another long phrase', current_password: 'a wrong phrase' };
    for (let i = 0; i < 7; i += 1)
      await gateway.askAs(session, 'POST', `/api/users/${bob.userId}/password`, change);
    const locked = await entries('action=session.locked');
    expect(locked).toHaveLength(1);
    expect(locked[0]).toMatchObject({ subject: { id: bob.userId }, actor: { id: bob.userId } });
    expect(locked[0].actor.via.kind).toBe('session');
  });

  it("has an entry for a new password of one's own, and for sessions that one ends", async () => {
    const bob = await gateway.person('bob', [EDITOR]);
    const session = await gateway.signIn('bob');
    const url = `/api/users/${bob.userId}/password`;
    const change = { password: 'another long phrase', current_password: PASSWORD };
    expect((await gateway.askAs(session, 'POST', url, change)).status).toBeLessThan(300);
    await gateway.signIn('bob', change.password);
    const { body: sessions } = await gateway.askAs(session, 'GET', '/api/sessions');
    const other = sessions.find(({ current }: { current: boolean }) => !current);
    await gateway.askAs(session, 'DELETE', `/api/sessions/${other.session_id}`);
    await gateway.askAs(session, 'DELETE', '/api/session');
    const actions = (await entries('actor=bob')).map(({ action }: { action: string }) => action);
    expect(actions).toEqual([
      ...['session.sign_out', 'session.revoke', 'session.sign_in', 'users.password', 'session.sign_in'],
    ]);
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
