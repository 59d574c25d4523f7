import { beforeEach, describe, expect, it } from 'vitest';
import { GatewayFixture, PASSWORD } from '../gateway.fixture.ts';

let fixture: GatewayFixture;
beforeEach(() => {
  fixture = new GatewayFixture();
});

const auditOf = async (query = '') => (await fixture.ask('GET', `/api/audit${query}`)).body;

describe('a newcomer', () => {
  it('is made with the admin key, signs in, makes a key, and works with it', async () => {
    await fixture.post('/api/namespaces', { name: 'billing', description: 'Invoices' });
    const made = await fixture.post('/api/users', {
      ...{ name: 'Ada', display_name: 'Ada Lovelace', password: PASSWORD },
      grants: [{ namespace: 'billing', role: 'editor' }],
    });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({ name: 'ada', has_password: true, disabled: false });
    expect(made.headers.location).toBe(`/api/users/${made.body.user_id}`);

    const browser = await fixture.signIn('ada');
    const key = await fixture.askAs(browser, 'POST', '/api/keys', {
      ...{ name: 'laptop', namespace: 'billing', role: 'editor' },
      expires_at: '2031-01-01T00:00:00Z',
    });
    expect(key.status).toBe(201);
    expect(key.body.key).toMatch(new RegExp(`^${key.body.prefix}_[\\w-]{43}$`));
    expect(key.body).toMatchObject({ user_id: made.body.user_id, expires_at: '2031-01-01T00:00:00.000Z' });

    const job = { name: 'Invoice run', handler: 'default' };
    const created = await fixture.askWith(key.body.key, 'POST', '/api/jobs', { payload: job });
    expect(created.status).toBe(201);
    const read = await fixture.askWith(key.body.key, 'GET', `/api/jobs/${created.body.job_id}`);
    expect(read.body).toMatchObject({ namespace: 'billing', user_id: made.body.user_id });

    const again = await fixture.askAs(browser, 'GET', `/api/keys/${key.body.key_id}`);
    expect(again.body).not.toHaveProperty('key');
    expect((await fixture.askAs(browser, 'DELETE', `/api/keys/${key.body.key_id}`)).status).toBe(204);
    expect((await fixture.askWith(key.body.key, 'GET', '/api/jobs')).status).toBe(401);
  });
});

describe('signing in', () => {
  it('an unknown name, a wrong password and a disabled user are answered alike', async () => {
    await fixture.person('ada');
    const { userId } = await fixture.person('bob');
    await fixture.operations.createUser({ name: 'robot' });
    await fixture.ask('PATCH', `/api/users/${userId}`, { payload: { disabled: true } });
    const answers = [];
    for (const [name, password] of [
      ['nobody', PASSWORD],
      ['ada', 'a wrong phrase'],
      ['bob', PASSWORD],
      ['robot', ''],
      ['no such name at all!', PASSWORD],
    ] as const) {
      const { status, headers, body } = await fixture.askAs({}, 'POST', '/api/session', { name, password });
      const { request_id, ...problem } = body;
      expect(headers['set-cookie']).toBeUndefined();
      answers.push({ status, problem, auth: headers['www-authenticate'] });
    }
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(answers[0]).toMatchObject({ status: 401, problem: { code: 'sign_in_refused' } });
  });

  it('is slowed, with when to come back, for names that exist and names that do not', async () => {
    await fixture.person('ada');
    for (const name of ['ada', 'nobody']) {
      const statuses: number[] = [];
      for (let i = 0; i < 6; i += 1) {
        const { status } = await fixture.askAs({}, 'POST', '/api/session', { name, password: 'guess' });
        statuses.push(status);
      }
      expect(statuses).toEqual([401, 401, 401, 401, 401, 429]);
    }
    const { headers, body } = await fixture.post('/api/session', { name: 'ada', password: PASSWORD });
    expect(body.code).toBe('rate_limited');
    expect(headers['retry-after']).toBe('60');
    fixture.clock.advance(60_000);
    await fixture.signIn('ada');
  });

  it('is written down, whether it succeeds or not, and a name that nobody has is not', async () => {
    const { userId } = await fixture.person('ada');
    await fixture.signIn('ada');
    await fixture.post('/api/session', { name: 'ada', password: 'a wrong phrase' });
    await fixture.post('/api/session', { name: 'hunter2-typed-as-name', password: 'x' });
    const [unknown, wrong, right] = await auditOf();
    expect(unknown).toMatchObject({ action: 'session.refused', actor: { name: 'stranger' } });
    expect(wrong).toMatchObject({ action: 'session.refused', actor: { id: userId, name: 'ada' } });
    expect(right).toMatchObject({ action: 'session.sign_in', actor: { id: userId }, address: '127.0.0.1' });
    expect(JSON.stringify(await auditOf())).not.toContain('hunter2');
  });
});

describe('sessions', () => {
  it('are listed and ended by whose they are', async () => {
    await fixture.person('ada');
    await fixture.person('bob');
    const [laptop, phone, bob] = [
      await fixture.signIn('ada'),
      await fixture.signIn('ada'),
      await fixture.signIn('bob'),
    ];
    const { body: sessions } = await fixture.askAs(laptop, 'GET', '/api/sessions');
    expect(sessions).toHaveLength(2);
    expect(JSON.stringify(sessions)).not.toContain(laptop.cookie.split('=')[1]);
    const newest = `/api/sessions/${sessions[0].session_id}`;
    expect((await fixture.askAs(bob, 'DELETE', newest)).body.code).toBe('session_not_found');
    expect((await fixture.askAs(laptop, 'DELETE', newest)).status).toBe(204);
    expect((await fixture.askAs(phone, 'GET', '/api/session')).status).toBe(401);
    expect((await fixture.askAs(laptop, 'GET', '/api/session')).status).toBe(200);
  });

  it('of others are for who manages users', async () => {
    const { userId } = await fixture.person('ada');
    const browser = await fixture.signIn('ada');
    const bob = await fixture.person('bob');
    const others = await fixture.askAs(browser, 'GET', `/api/sessions?user_id=${bob.userId}`);
    expect(others.status).toBe(403);
    const { body } = await fixture.ask('GET', `/api/sessions?user_id=${userId}`);
    expect((await fixture.ask('DELETE', `/api/sessions/${body[0].session_id}`)).status).toBe(204);
    expect((await fixture.askAs(browser, 'GET', '/api/session')).status).toBe(401);
  });

  it('a new password ends all but the one it was set in', async () => {
    const { userId } = await fixture.person('ada');
    const [laptop, phone] = [await fixture.signIn('ada'), await fixture.signIn('ada')];
    const body = { password: 'another long phrase', current_password: PASSWORD };
    const set = await fixture.askAs(laptop, 'POST', `/api/users/${userId}/password`, body);
    expect(set.status).toBe(204);
    expect((await fixture.askAs(laptop, 'GET', '/api/session')).status).toBe(200);
    expect((await fixture.askAs(phone, 'GET', '/api/session')).status).toBe(401);
    await fixture.signIn('ada', 'another long phrase');
  });
});

describe('namespaces', () => {
  it('of others look as if they were not there', async () => {
    const key = await fixture.keyWith({ namespace: 'billing', role: 'admin' });
    await fixture.namespace('secret');
    const { body: listed } = await fixture.askWith(key, 'GET', '/api/namespaces');
    expect(listed.map(({ name }: { name: string }) => name)).toEqual(['billing']);
    expect((await fixture.askWith(key, 'GET', '/api/namespaces/secret')).body.code).toBe(
      'namespace_not_found',
    );
    expect((await fixture.askWith(key, 'GET', '/api/namespaces/billing')).status).toBe(200);
  });

  it('are made, described, paged through and removed by who manages the whole', async () => {
    for (const name of ['billing', 'zoo'])
      expect((await fixture.post('/api/namespaces', { name })).status).toBe(201);
    expect((await fixture.post('/api/namespaces', { name: 'zoo' })).body.code).toBe('namespace_exists');
    expect((await fixture.post('/api/namespaces', { name: 'No Way' })).body.field).toBe('name');
    const described = await fixture.ask('PATCH', '/api/namespaces/zoo', {
      payload: { description: 'Animals' },
    });
    expect(described.body.description).toBe('Animals');
    const first = await fixture.ask('GET', '/api/namespaces?limit=2');
    expect(first.headers.link).toContain('after=default');
    const rest = await fixture.ask('GET', '/api/namespaces?limit=2&after=default');
    expect(rest.body).toMatchObject([{ name: 'zoo', description: 'Animals' }]);
    expect((await fixture.ask('DELETE', '/api/namespaces/zoo')).status).toBe(204);
    expect((await fixture.ask('GET', '/api/namespaces/zoo')).status).toBe(404);
    for (const name of ['%00', '..', '*', 'A'])
      expect((await fixture.ask('DELETE', `/api/namespaces/${name}`)).status).toBe(404);
  });
});

describe('users', () => {
  it('are changed and removed, and no answer ever holds a password or its hash', async () => {
    const { userId } = await fixture.person('ada');
    const stored = await fixture.storage.accounts.passwordHashOf(userId);
    const url = `/api/users/${userId}`;
    const answers = [
      await fixture.ask('PATCH', url, { payload: { display_name: 'A. L.' } }),
      await fixture.ask('PUT', `${url}/grants`, {
        payload: { grants: [{ namespace: '*', role: 'viewer' }] },
      }),
      await fixture.ask('GET', url),
      await fixture.ask('GET', '/api/users'),
      await fixture.ask('POST', `${url}/password`, { payload: { password: 'another long phrase' } }),
      await fixture.ask('DELETE', url),
      await fixture.ask('GET', '/api/audit'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 204, 204, 200]);
    expect(answers[2]!.body).toMatchObject({
      display_name: 'A. L.',
      grants: [{ namespace: '*', own_only: false }],
    });
    const told = JSON.stringify(answers.map(({ body }) => body));
    for (const secret of [PASSWORD, stored, 'another long phrase', 'argon2'])
      expect(told).not.toContain(secret);
    expect((await fixture.ask('GET', url)).body.code).toBe('user_not_found');
  });

  it('every change of them is written down, with who made it', async () => {
    const { userId } = await fixture.person('ada');
    await fixture.ask('PATCH', `/api/users/${userId}`, { payload: { disabled: true } });
    await fixture.ask('PATCH', `/api/users/${userId}`, { payload: { disabled: true } });
    await fixture.ask('DELETE', `/api/users/${userId}`);
    const entries = await auditOf(`?subject_id=${userId}`);
    expect(entries.map(({ action }: { action: string }) => action)).toEqual([
      'users.delete',
      'users.update',
      'users.create',
    ]);
    expect(entries[1]).toMatchObject({
      ...{ actor: { name: 'admin key' }, before: { disabled: false }, after: { disabled: true } },
      subject: { kind: 'user', id: userId },
    });
  });

  it.each([
    [{ name: 'x y', password: PASSWORD }, 'name'],
    [{ name: 'eve', password: 'short' }, 'password'],
    [{ name: 'eve', grants: [{ namespace: 'default', role: 'king' }] }, 'grants[0].role'],
    [{ name: 'eve', grants: 'all' }, 'grants'],
    [{ name: 'eve', admin: true }, 'admin'],
  ])('%j is refused, naming the field', async (body, field) => {
    const answer = await fixture.post('/api/users', body);
    expect([answer.status, answer.body.field]).toEqual([400, field]);
  });
});

describe('a request that is repeated with its Idempotency-Key', () => {
  const headers = { 'idempotency-key': 'once' };

  it('answers the same user, and refuses another one', async () => {
    const first = await fixture.post('/api/users', { name: 'ada' }, headers);
    const second = await fixture.post('/api/users', { name: 'ada' }, headers);
    expect([second.status, second.body]).toEqual([201, first.body]);
    expect((await fixture.post('/api/users', { name: 'bob' }, headers)).body.code).toBe(
      'idempotency_key_reused',
    );
    expect((await fixture.post('/api/users', { name: 'ada' })).body.code).toBe('user_exists');
  });

  it('is another request when it asks for other rights, and never gives an id a second time', async () => {
    const first = await fixture.post('/api/users', { name: 'ada' }, headers);
    const grants = [{ namespace: '*', role: 'admin', own_only: false }];
    const stronger = await fixture.post('/api/users', { name: 'ada', grants }, headers);
    expect(stronger.body.code).toBe('idempotency_key_reused');
    await fixture.ask('DELETE', `/api/users/${first.body.user_id}`);
    const bob = await fixture.post('/api/users', { name: 'bob' }, headers);
    expect(bob.status).toBe(201);
    expect(bob.body.user_id).not.toBe(first.body.user_id);
  });

  it('makes no second key', async () => {
    const body = { name: 'k', role: 'viewer' };
    expect((await fixture.post('/api/keys', body, headers)).status).toBe(201);
    expect((await fixture.post('/api/keys', body, headers)).body.code).toBe('idempotency_key_reused');
    expect((await fixture.ask('GET', '/api/keys')).body).toHaveLength(1);
  });

  it('finds the namespace as it was asked for', async () => {
    const body = { name: 'billing', description: 'Invoices' };
    const first = await fixture.post('/api/namespaces', body, headers);
    expect((await fixture.post('/api/namespaces', body, headers)).body).toEqual(first.body);
    const other = await fixture.post('/api/namespaces', { ...body, description: 'x' }, headers);
    expect(other.body.code).toBe('namespace_exists');
  });
});

describe('the audit log', () => {
  it('of a namespace is for its administrators, of the whole for those of the whole', async () => {
    const key = await fixture.keyWith({ namespace: 'billing', role: 'admin' });
    await fixture.askWith(key, 'POST', '/api/jobs', { payload: { name: 'mine', handler: 'default' } });
    await fixture.createdId({ name: 'theirs', handler: 'default' });
    const { body } = await fixture.askWith(key, 'GET', '/api/audit');
    expect(new Set(body.map(({ namespace }: { namespace: string }) => namespace))).toEqual(
      new Set(['billing']),
    );
    expect((await fixture.askWith(key, 'GET', '/api/audit?namespace=default')).body).toEqual([]);
    expect((await auditOf('?namespace=default'))[0].after.name).toBe('theirs');
    const viewer = await fixture.keyWith({ namespace: 'billing', role: 'editor' });
    expect((await fixture.askWith(viewer, 'GET', '/api/audit')).status).toBe(403);
  });

  it('is filtered and paged through', async () => {
    for (const name of ['a', 'b', 'c']) await fixture.post('/api/namespaces', { name });
    const first = await fixture.ask('GET', '/api/audit?action=namespaces.create&limit=2');
    expect(first.body.map((entry: { subject: { id: string } }) => entry.subject.id)).toEqual(['c', 'b']);
    const next = /<([^>]+)>; rel="next"/.exec(String(first.headers.link))![1]!;
    const rest = await fixture.ask('GET', next);
    expect(rest.body).toMatchObject([{ subject: { kind: 'namespace', id: 'a' } }]);
    expect(rest.headers.link).toBeUndefined();
    expect(await auditOf('?from=2031-01-01T00:00:00Z')).toEqual([]);
    expect(await auditOf('?actor=admin&until=2031-01-01T00:00:00Z')).toHaveLength(3);
    expect((await fixture.ask('GET', '/api/audit?before=x')).body.field).toBe('before');
  });
});
