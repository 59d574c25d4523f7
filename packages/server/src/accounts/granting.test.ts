/** Nobody gets more out of making users and keys than they had before. */
import {
  ACTION_NAMES,
  type Action,
  type Caller,
  type Grant,
  may,
  mayOffer,
  SERVER,
  type User,
  workerNamespaces,
} from '@carillon/domain';
import { beforeEach, describe, expect, it } from 'vitest';
import { OperationsFixture } from '../operations/operations.fixture.ts';
import { NAME_RESTS_MS } from '../storage/account-store.ts';
import { namespaceKey } from '../storage/lane.ts';

const ADMIN_EVERYWHERE: Grant = { namespace: '*', role: 'admin', ownOnly: false };
const DEFAULT_ADMIN: Grant = { namespace: 'default', role: 'admin', ownOnly: false };
const VIEWER: Grant = { namespace: 'default', role: 'viewer', ownOnly: false };

let fixture: OperationsFixture;
let made = 0;
beforeEach(() => {
  fixture = new OperationsFixture();
});

async function person(...grants: Grant[]): Promise<{ user: User; caller: Caller }> {
  made += 1;
  const user = await fixture.operations.createUser({ name: `person-${made}`, grants });
  const { userId, name } = user;
  return { user, caller: { ...SERVER, kind: 'user', id: userId, name, userId, grants } };
}

const keyCaller = (grant: Grant, scopes?: Action[]): Caller => ({
  ...{ ...SERVER, kind: 'key', id: 'key', name: 'key', grants: [grant] },
  scopes: scopes && new Set(scopes),
});

const forbidden = { code: 'forbidden' };

describe('a key', () => {
  const create = (caller: Caller, grant: Grant, scopes?: Action[]) =>
    fixture.everyones.createKey(caller, {
      name: 'k',
      grants: [grant],
      scopes,
      expiresAtMs: fixture.clock.now() + 1_000,
    });

  it('of a signed-in person is theirs, and at most as strong as they are', async () => {
    const { user, caller } = await person(VIEWER);
    expect((await create(caller, VIEWER)).key.ownerId).toBe(user.userId);
    await expect(create(caller, { ...VIEWER, role: 'operator' })).rejects.toMatchObject(forbidden);
    await expect(create(caller, { ...VIEWER, namespace: '*' })).rejects.toMatchObject(forbidden);
    await expect(create(caller, { ...VIEWER, namespace: 'other' })).rejects.toMatchObject({
      code: 'namespace_not_found',
    });
  });

  it('of one’s own jobs does not become one of all jobs', async () => {
    const { caller } = await person({ ...VIEWER, ownOnly: true });
    expect((await create(caller, { ...VIEWER, ownOnly: true })).key.grants[0]!.ownOnly).toBe(true);
    await expect(create(caller, VIEWER)).rejects.toMatchObject(forbidden);
  });

  it('is not made with a key that may not manage keys: a found one does not multiply', async () => {
    const editor = { ...VIEWER, role: 'editor' } as const;
    await expect(create(keyCaller(editor), editor)).rejects.toMatchObject(forbidden);
    await expect(create(keyCaller(DEFAULT_ADMIN, ['jobs.read']), VIEWER)).rejects.toMatchObject(forbidden);
  });

  it('made with a scoped key has no scope that one lacks', async () => {
    const maker = keyCaller(DEFAULT_ADMIN, ['keys.manage', 'jobs.read']);
    await expect(create(maker, DEFAULT_ADMIN)).rejects.toMatchObject(forbidden);
    await expect(create(maker, DEFAULT_ADMIN, ['jobs.create'])).rejects.toMatchObject(forbidden);
    expect((await create(maker, DEFAULT_ADMIN, ['jobs.read'])).key.ownerId).toBeUndefined();
  });

  it('of an administrator of a namespace reaches nowhere else', async () => {
    await fixture.operations.createNamespace({ name: 'other' });
    const { caller } = await person(DEFAULT_ADMIN);
    await expect(create(caller, { ...DEFAULT_ADMIN, namespace: '*' })).rejects.toMatchObject(forbidden);
    await expect(create(caller, { ...DEFAULT_ADMIN, namespace: 'other' })).rejects.toMatchObject({
      code: 'namespace_not_found',
    });
  });

  it('for somebody else is only for who manages users', async () => {
    const { user } = await person(VIEWER);
    const { caller } = await person(DEFAULT_ADMIN);
    const input = { name: 'k', grants: [VIEWER], ownerId: user.userId };
    await expect(fixture.everyones.createKey(caller, input)).rejects.toMatchObject(forbidden);
    expect((await fixture.operations.createKey(input)).key.ownerId).toBe(user.userId);
  });

  it('of others is not seen, and not revoked, by who is neither them nor an administrator there', async () => {
    const [ada, bob] = [await person(VIEWER), await person(VIEWER)];
    const { key } = await create(ada.caller, VIEWER);
    for (const attempt of [fixture.everyones.getKey, fixture.everyones.revokeKey])
      await expect(attempt(bob.caller, key.keyId)).rejects.toMatchObject({ code: 'key_not_found' });
    expect(await fixture.everyones.listKeys(bob.caller, { limit: 9 })).toEqual([]);
    expect(await fixture.everyones.listKeys(ada.caller, { limit: 9 })).toHaveLength(1);
    const admin = await person(DEFAULT_ADMIN);
    expect(await fixture.everyones.listKeys(admin.caller, { limit: 9 })).toHaveLength(1);
    const ownOnly = await person({ ...DEFAULT_ADMIN, ownOnly: true });
    expect(await fixture.everyones.listKeys(ownOnly.caller, { limit: 9 })).toEqual([]);
    await fixture.everyones.revokeKey(admin.caller, key.keyId);
    await expect(fixture.operations.getKey(key.keyId)).rejects.toMatchObject({ code: 'key_not_found' });
  });
});

describe('a key that may only manage users', () => {
  const narrow = keyCaller(ADMIN_EVERYWHERE, ['users.manage', 'users.read']);

  it('cannot make an administrator, nor make one of somebody', async () => {
    const create = fixture.everyones.createUser(narrow, { name: 'eve', grants: [ADMIN_EVERYWHERE] });
    await expect(create).rejects.toMatchObject(forbidden);
    const { user } = await person(VIEWER);
    const grant = fixture.everyones.setGrants(narrow, user.userId, [ADMIN_EVERYWHERE]);
    await expect(grant).rejects.toMatchObject(forbidden);
  });

  it('cannot set the password of an administrator, nor enable one', async () => {
    const { user } = await person(ADMIN_EVERYWHERE);
    await person(ADMIN_EVERYWHERE);
    const set = fixture.everyones.setPassword(narrow, user.userId, { password: 'a long phrase' });
    await expect(set).rejects.toMatchObject(forbidden);
    await fixture.everyones.updateUser(narrow, user.userId, { disabled: true });
    const enable = fixture.everyones.updateUser(narrow, user.userId, { disabled: false });
    await expect(enable).rejects.toMatchObject(forbidden);
  });
});

describe('a key of a user without a password', () => {
  const password = 'a long phrase';
  async function setOwn(given: Partial<Caller>): Promise<void> {
    const { user, caller } = await person(ADMIN_EVERYWHERE);
    const key = { ...caller, kind: 'key', id: 'key', name: 'key', ...given } as Caller;
    await fixture.everyones.setPassword(key, user.userId, { password });
    await fixture.operations.signIn({ name: user.name, password });
  }
  const credential = { kind: 'key', id: 'key', name: 'key', expiresAtMs: undefined } as const;

  it('sets their password only if it may all that they may, and does not expire', async () => {
    const scopes = new Set<Action>(['users.read', 'users.manage']);
    await expect(setOwn({ credential, scopes })).rejects.toMatchObject(forbidden);
    const expiring = { ...credential, expiresAtMs: fixture.clock.now() + 1_000 };
    await expect(setOwn({ credential: expiring })).rejects.toMatchObject(forbidden);
    await setOwn({ credential });
  });
});

describe('users', () => {
  it('are not for administrators of a namespace, nor of their own jobs', async () => {
    for (const grant of [DEFAULT_ADMIN, { ...ADMIN_EVERYWHERE, ownOnly: true }]) {
      const { caller } = await person(grant);
      await expect(fixture.everyones.listUsers(caller, { limit: 1 })).rejects.toMatchObject(forbidden);
      await expect(fixture.everyones.createUser(caller, { name: 'eve' })).rejects.toMatchObject(forbidden);
    }
  });

  it('change their own password with the current one, and that of nobody else', async () => {
    const password = 'a long phrase';
    const { user, caller } = await person(VIEWER);
    const other = await person(VIEWER);
    await fixture.operations.setPassword(user.userId, { password });
    const set = (userId: string, currentPassword?: string) =>
      fixture.everyones.setPassword(caller, userId, { password: 'another long phrase', currentPassword });
    await expect(set(user.userId)).rejects.toMatchObject({ field: 'current_password' });
    await expect(set(user.userId, 'a wrong phrase')).rejects.toMatchObject({ field: 'current_password' });
    await expect(set(other.user.userId, password)).rejects.toMatchObject(forbidden);
    await set(user.userId, password);
    await fixture.operations.signIn({ name: user.name, password: 'another long phrase' });
  });

  it('get no grant in a namespace that is not there', async () => {
    const grants = [{ ...VIEWER, namespace: 'nowhere' }];
    await expect(fixture.operations.createUser({ name: 'eve', grants })).rejects.toMatchObject({
      code: 'namespace_not_found',
    });
  });
});

describe('jobs', () => {
  it('go into namespaces that exist, found again at once wherever they were made', async () => {
    const create = () =>
      fixture.operations.createJob({ name: 'x', namespace: 'billing', handler: 'default' });
    await expect(create()).rejects.toMatchObject({ code: 'namespace_not_found', field: 'namespace' });
    // Made on another server.
    await fixture.storage.accounts.createNamespace({ name: 'billing', description: '', createdAtMs: 0 });
    const { jobId } = await create();
    await expect(fixture.operations.deleteNamespace('billing')).rejects.toMatchObject({
      code: 'namespace_in_use',
    });
    await fixture.operations.deleteJob(jobId);
    await fixture.operations.deleteNamespace('billing');
    await expect(create()).rejects.toMatchObject({ code: 'namespace_not_found' });
  });

  it('and not at once into another one of the same name, whose members would not be told apart from those before', async () => {
    const create = () => fixture.operations.createNamespace({ name: 'billing' });
    await create();
    await fixture.operations.deleteNamespace('billing');
    fixture.clock.advance(NAME_RESTS_MS - 1_500);
    await expect(create()).rejects.toMatchObject({
      ...{ code: 'namespace_recently_removed', status: 409, field: 'name', retryAfterSeconds: 2 },
    });
    fixture.clock.advance(1_500);
    expect(await create()).toMatchObject({ name: 'billing' });
  });

  it('of a batch are judged one by one', async () => {
    const [first, second] = await fixture.operations.createJobs([
      { name: 'x', namespace: 'nowhere', handler: 'default' },
      { name: 'y', handler: 'default' },
    ]);
    expect(first).toMatchObject({ code: 'namespace_not_found' });
    expect(second).toMatchObject({ created: true });
  });

  it('the default namespace stays', async () => {
    await expect(fixture.operations.deleteNamespace('default')).rejects.toMatchObject({
      code: 'namespace_in_use',
    });
  });
});

describe('a worker key', () => {
  const connecting = (caller: Caller, worker: { handlers: string[]; namespaces?: string[] }) =>
    fixture.everyones.createKey(caller, { name: 'w', worker });

  it('belongs to nobody, and may connect workers in its namespaces and nothing else', async () => {
    const { key, secret } = await connecting(keyCaller(DEFAULT_ADMIN), { handlers: ['resize', 'resize'] });
    expect(key).toMatchObject({ ownerId: undefined, grants: [DEFAULT_ADMIN], offers: ['resize'] });
    const caller = await fixture.accounts.identities.ofKey(secret, SERVER.origin);
    expect(ACTION_NAMES.filter((action) => may(caller, action))).toEqual(['workers.connect']);
    expect([mayOffer(caller, 'resize'), mayOffer(caller, 'http')]).toEqual([true, false]);
    expect(workerNamespaces(caller)).toEqual(['default']);
  });

  it('is for all namespaces where its maker has rights in all and names none', async () => {
    const { key } = await connecting(SERVER, { handlers: ['resize'] });
    expect(key.grants).toEqual([ADMIN_EVERYWHERE]);
  });

  it('is no stronger than its maker', async () => {
    const worker = { handlers: ['resize'] };
    const { caller: editor } = await person({ ...ADMIN_EVERYWHERE, role: 'editor' });
    const makers = [
      editor,
      keyCaller(ADMIN_EVERYWHERE, ['keys.manage']),
      keyCaller(ADMIN_EVERYWHERE, ['workers.connect']),
      { ...keyCaller(ADMIN_EVERYWHERE, ['workers.connect']), offers: ['resize'] },
    ];
    for (const maker of makers) await expect(connecting(maker, worker)).rejects.toMatchObject(forbidden);
    const everywhere = { ...worker, namespaces: ['*'] };
    await expect(connecting(keyCaller(DEFAULT_ADMIN), everywhere)).rejects.toMatchObject(forbidden);
  });

  it.each([[[]], [['not a name!']], [['x'.repeat(101)]], [Array.from({ length: 101 }, (_, i) => `h${i}`)]])(
    'with handlers that are none is refused: %j',
    async (handlers) => {
      await expect(connecting(SERVER, { handlers })).rejects.toMatchObject({ field: 'worker.handlers' });
    },
  );

  it('may not read, rename, rotate or revoke itself', async () => {
    const { key, secret } = await connecting(SERVER, { handlers: ['resize'] });
    const caller = await fixture.accounts.identities.ofKey(secret, SERVER.origin);
    const { everyones } = fixture;
    const tries = [
      () => everyones.getKey(caller, key.keyId),
      () => everyones.renameKey(caller, key.keyId, 'mine'),
      () => everyones.rotateKey(caller, key.keyId, { overlapMs: 0 }),
      () => everyones.revokeKey(caller, key.keyId),
    ];
    for (const each of tries) await expect(each()).rejects.toMatchObject(forbidden);
    expect(await everyones.getKey(SERVER, key.keyId)).toMatchObject({ name: 'w', prefix: key.prefix });
  });

  it('keeps what it may when it is rotated', async () => {
    const { key } = await connecting(SERVER, { handlers: ['resize'] });
    const { secret } = await fixture.everyones.rotateKey(SERVER, key.keyId, { overlapMs: 0 });
    const caller = await fixture.accounts.identities.ofKey(secret, SERVER.origin);
    expect([mayOffer(caller, 'resize'), mayOffer(caller, 'http')]).toEqual([true, false]);
  });

  it('is not given the jobs of another namespace: two namespaces that share a number are not made', async () => {
    const names = new Map<number, string>();
    let pair: [string, string] | undefined;
    for (let i = 0; !pair; i += 1) {
      const name = `team-${i}`;
      const former = names.get(namespaceKey(name));
      if (former) pair = [former, name];
      names.set(namespaceKey(name), name);
    }
    await fixture.operations.createNamespace({ name: pair[0] });
    await expect(fixture.operations.createNamespace({ name: pair[1] })).rejects.toMatchObject({
      field: 'name',
    });
  });
});
