/** People who share a namespace and may touch only what is theirs: nothing of one reaches the other by a side door. */
import type { User } from '@carillon/domain';
import { beforeEach, describe, expect, it } from 'vitest';
import { GatewayFixture, PASSWORD } from './gateway.fixture.ts';

const OWN_EDITOR = { role: 'editor', ownOnly: true } as const;
const JOB = { name: 'daily', handler: 'default' };

let gateway: GatewayFixture;
let ada: User;
let bob: User;
let keys: { ada: string; bob: string };

beforeEach(async () => {
  gateway = new GatewayFixture();
  ada = await gateway.person('ada', [OWN_EDITOR]);
  bob = await gateway.person('bob', [OWN_EDITOR]);
  keys = {
    ada: await gateway.keyWith(OWN_EDITOR, { ownerId: ada.userId }),
    bob: await gateway.keyWith(OWN_EDITOR, { ownerId: bob.userId }),
  };
});

const create = (key: string, body: object, headers: Record<string, string> = {}) =>
  gateway.askWith(key, 'POST', '/api/jobs', { payload: body, headers });

describe('a job', () => {
  it('cannot be put on somebody else, neither when it is made nor when it is changed', async () => {
    expect((await create(keys.ada, { ...JOB, user_id: bob.userId })).status).toBe(403);
    const { body } = await create(keys.ada, JOB);
    const url = `/api/jobs/${body.job_id}`;
    const given = await gateway.askWith(keys.ada, 'PATCH', url, { payload: { user_id: bob.userId } });
    expect([given.status, given.body.code]).toEqual([403, 'forbidden']);
    expect((await gateway.askWith(keys.ada, 'GET', url)).body.user_id).toBe(ada.userId);
    expect((await gateway.askWith(keys.bob, 'GET', url)).status).toBe(404);
  });

  it('is found again by its Idempotency-Key only by the one who made it', async () => {
    const headers = { 'idempotency-key': 'daily' };
    const first = await create(keys.ada, JOB, headers);
    const second = await create(keys.bob, JOB, headers);
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.body.job_id).not.toBe(first.body.job_id);
    expect((await create(keys.ada, JOB, headers)).body.job_id).toBe(first.body.job_id);
    expect((await gateway.askWith(keys.bob, 'GET', `/api/jobs/${second.body.job_id}`)).status).toBe(200);
  });
});

describe('a key that a key of a person made', () => {
  it('belongs to that person, and ends with them', async () => {
    const cara = await gateway.person('cara', [{ role: 'admin' }]);
    const hers = await gateway.keyWith({ role: 'admin' }, { ownerId: cara.userId });
    const body = { name: 'second', namespace: 'default', role: 'admin', current_password: PASSWORD };
    const made = await gateway.askWith(hers, 'POST', '/api/keys', { payload: body });
    expect(made.body).toMatchObject({ user_id: cara.userId });
    expect((await gateway.askWith(made.body.key, 'GET', '/api/jobs')).status).toBe(200);
    await gateway.ask('DELETE', `/api/users/${cara.userId}`);
    for (const key of [hers, made.body.key as string])
      expect((await gateway.askWith(key, 'GET', '/api/jobs')).status).toBe(401);
  });
});
