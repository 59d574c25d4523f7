/** What a key may neither see nor do: foreign namespaces, the sessions of its owner, and staying behind a password change. */
import type { Grant } from '@carillon/domain';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GatewayFixture, PASSWORD } from './gateway.fixture.ts';

const ADMIN: Grant = { namespace: 'ops', role: 'admin', ownOnly: false };
const VIEWER: Grant = { namespace: 'ops', role: 'viewer', ownOnly: false };
const NOBODY = '00000000-0000-7000-8000-000000000000';

let gateway: GatewayFixture;
beforeEach(async () => {
  gateway = new GatewayFixture();
  for (const name of ['ops', 'hidden']) await gateway.namespace(name);
});
afterEach(() => gateway.app.close());

/** A key of nobody that works in both namespaces. */
async function spreadKey() {
  const grants = ['ops', 'hidden'].map((namespace) => ({ namespace, role: 'viewer' }));
  return (await gateway.post('/api/keys', { name: 'spread', grants })).body;
}

describe('a namespace that the caller knows nothing of', () => {
  it('is not named where a key is not theirs to change', async () => {
    const { key_id: id } = await spreadKey();
    const admin = await gateway.keyWith(ADMIN);
    for (const [method, path, payload] of [
      ['PATCH', '', { name: 'x' }],
      ['POST', '/rotate', {}],
      ['DELETE', '', undefined],
    ] as const) {
      const given = payload && { payload };
      const { status, body } = await gateway.askWith(admin, method, `/api/keys/${id}${path}`, given);
      expect(status).toBe(403);
      expect(JSON.stringify(body)).not.toContain('hidden');
    }
  });

  it('is not told by runs of its jobs: the answer is that of a job that is not there, with a cursor as well', async () => {
    const foreign = await gateway.createdId({ name: 'x', namespace: 'hidden', handler: 'default' });
    const viewer = await gateway.keyWith(VIEWER);
    const cursors = ['', `&cursor=2030-01-01T00:00:00.000Z_${NOBODY}_1`];
    for (const query of cursors) {
      const answers = [foreign, NOBODY].map((id) =>
        gateway.askWith(viewer, 'GET', `/api/runs?job_id=${id}${query}`),
      );
      for (const { status, body } of await Promise.all(answers))
        expect({ status, code: body.code }).toEqual({ status: 404, code: 'job_not_found' });
    }
    for (const query of ['', `?cursor=2030-01-01T00:00:00.000Z_${NOBODY}`]) {
      for (const id of [foreign, NOBODY])
        expect((await gateway.askWith(viewer, 'GET', `/api/jobs/${id}/runs${query}`)).status).toBe(404);
    }
  });
});

describe('a position in a list that is of somebody else', () => {
  const job = { handler: 'default', frequency: 'daily' };
  const namesOf = (body: { name: string }[]) => body.map(({ name }) => name);

  it('continues with what the caller may see, and with nothing of the other', async () => {
    await gateway.createdId({ ...job, name: 'mine, older', namespace: 'ops' });
    await gateway.createdId({ ...job, name: 'foreign, older', namespace: 'hidden' });
    const foreign = await gateway.createdId({ ...job, name: 'foreign', namespace: 'hidden' });
    await gateway.createdId({ ...job, name: 'mine', namespace: 'ops' });
    const viewer = await gateway.keyWith(VIEWER);
    const list = (query: string) => gateway.askWith(viewer, 'GET', `/api/jobs${query}`);
    expect(namesOf((await list('')).body)).toEqual(['mine', 'mine, older']);
    expect(namesOf((await list(`?cursor=${foreign}`)).body)).toEqual(['mine, older']);
  });

  it('opens nothing: whatever is asked about its id is answered as of one that is not there', async () => {
    const foreign = await gateway.createdId({ ...job, name: 'foreign', namespace: 'hidden' });
    const admin = await gateway.keyWith(ADMIN);
    for (const [method, path] of [
      ['GET', `/jobs/@`],
      ['GET', '/jobs/@/status'],
      ['GET', '/jobs/@/runs'],
      ['POST', '/jobs/@/pause'],
      ['POST', '/jobs/@/runNow'],
      ['POST', '/jobs/@/cancel'],
      ['DELETE', '/jobs/@'],
      ['GET', '/runs/@'],
      ['GET', '/runs/@/logs'],
      ['POST', '/runs/@/cancel'],
      ['GET', '/dead-letters/@'],
    ] as const) {
      const answers = [foreign, NOBODY].map(async (id) => {
        const { status, body } = await gateway.askWith(admin, method, `/api${path.replace('@', id)}`);
        return { status, code: body.code, detail: String(body.detail).replaceAll(id, '@') };
      });
      const [asked, unknown] = await Promise.all(answers);
      expect(asked, path).toEqual(unknown);
      expect(asked?.status, path).toBe(404);
    }
  });
});

describe('the audit log of a namespace', () => {
  it('has what was done with a key that works there and elsewhere, and nothing of elsewhere', async () => {
    const { key_id: id } = await spreadKey();
    await gateway.ask('PATCH', `/api/keys/${id}`, { payload: { name: 'renamed' } });
    await gateway.ask('POST', `/api/keys/${id}/rotate`, { payload: {} });
    await gateway.ask('DELETE', `/api/keys/${id}`);
    for (const namespace of ['ops', 'hidden']) {
      const admin = await gateway.keyWith({ ...ADMIN, namespace });
      const { body } = await gateway.askWith(admin, 'GET', `/api/audit?subject_id=${id}`);
      expect(body.map(({ action }: { action: string }) => action)).toEqual([
        ...['keys.revoke', 'keys.rotate', 'keys.update', 'keys.create'],
      ]);
      expect(body[3].after.grants).toEqual([{ namespace, role: 'viewer', own_only: false }]);
      expect(body[0].before.grants).toEqual(body[3].after.grants);
    }
  });

  it('has a change of a key that works everywhere once, for administrators of everything', async () => {
    const grants = [{ namespace: '*', role: 'viewer' }, ...[{ namespace: 'ops', role: 'editor' }]];
    const { body: key } = await gateway.post('/api/keys', { name: 'both', grants });
    const { body } = await gateway.ask('GET', `/api/audit?subject_id=${key.key_id}`);
    expect(body.map(({ namespace }: { namespace: string | null }) => namespace).toSorted()).toEqual([
      null,
      'ops',
    ]);
  });
});

describe('sessions', () => {
  it('are listed and ended by their owner signed in or with a whole key, not with a key limited to some permissions', async () => {
    const { userId: ownerId } = await gateway.person('bob', [VIEWER]);
    await gateway.signIn('bob');
    const [narrow, whole] = [
      await gateway.keyWith(VIEWER, { ownerId, scopes: ['jobs.read'] }),
      await gateway.keyWith(VIEWER, { ownerId }),
    ];
    const { body: sessions } = await gateway.askWith(whole, 'GET', '/api/sessions');
    const path = `/api/sessions/${sessions[0].session_id}`;
    expect((await gateway.askWith(narrow, 'GET', '/api/sessions')).status).toBe(403);
    expect((await gateway.askWith(narrow, 'DELETE', path)).status).toBe(403);
    expect((await gateway.askWith(narrow, 'DELETE', `/api/sessions/${NOBODY}`)).status).toBe(403);
    expect((await gateway.askWith(whole, 'DELETE', path)).status).toBe(204);
  });
});

describe('a password change that ends keys', () => {
  it('ends one that a thief has rotated, and spares one that rotated itself', async () => {
    const { userId: ownerId } = await gateway.person('bob', [VIEWER]);
    const make = (name: string) => gateway.operations.createKey({ name, grants: [VIEWER], ownerId });
    const [taken, program] = [await make('taken'), await make('program')];
    const expires = new Date(gateway.clock.now() + 3_600_000).toISOString();
    const thief = await gateway.signIn('bob');
    const { body: stolen } = await gateway.askAs(thief, 'POST', `/api/keys/${taken.key.keyId}/rotate`, {
      expires_at: expires,
    });
    const { body: rotated } = await gateway.askWith(
      program.secret,
      'POST',
      `/api/keys/${program.key.keyId}/rotate`,
      { payload: {} },
    );
    const change = { password: 'a quite new phrase', current_password: PASSWORD, end_keys: true };
    const bob = await gateway.signIn('bob');
    expect((await gateway.askAs(bob, 'POST', `/api/users/${ownerId}/password`, change)).status).toBe(204);
    const ask = async (key: string) => (await gateway.askWith(key, 'GET', '/api/jobs')).status;
    expect(await ask(stolen.key)).toBe(401);
    expect(await ask(rotated.key)).toBe(200);
  });

  it('ends those that a thief made for others, or rotated, each with an entry in the audit log', async () => {
    const { userId: ada } = await gateway.person('ada', [{ ...ADMIN, namespace: '*' }]);
    const { userId: bobby } = await gateway.person('bobby', [VIEWER]);
    const nobodys = await gateway.operations.createKey({ name: 'deploy', grants: [VIEWER] });
    const bobbys = await gateway.operations.createKey({ name: 'b', grants: [VIEWER], ownerId: bobby });
    const session = await gateway.signIn('ada');
    const shown = { current_password: PASSWORD };
    const ends = [];
    for (const [url, payload] of [
      ['/api/keys', { name: 'made', role: 'viewer', namespace: 'ops', user_id: bobby }],
      [`/api/keys/${nobodys.key.keyId}/rotate`, {}],
      [`/api/keys/${bobbys.key.keyId}/rotate`, {}],
    ] as const)
      ends.push((await gateway.askAs(session, 'POST', url, { ...payload, ...shown })).body);
    const ask = async (key: string) => (await gateway.askWith(key, 'GET', '/api/jobs')).status;
    for (const { key } of ends) expect(await ask(key)).toBe(200);
    const change = { password: 'a quite new phrase', ...shown, end_keys: true };
    expect((await gateway.askAs(session, 'POST', `/api/users/${ada}/password`, change)).status).toBe(204);
    for (const { key, prefix, key_id: id } of ends) {
      expect(await ask(key)).toBe(401);
      const { body: entries } = await gateway.ask('GET', `/api/audit?action=keys.revoke&subject_id=${id}`);
      expect(entries).toMatchObject([{ actor: { id: ada }, namespace: 'ops', before: { prefix } }]);
    }
  });
});
