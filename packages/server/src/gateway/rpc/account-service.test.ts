import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { rpc } from '@carillon/contract';
import { Code } from '@connectrpc/connect';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { PROTOCOLS, type ProtocolName, RpcFixture, refusalOf } from './rpc.fixture.ts';

let gateway: RpcFixture;
beforeEach(async () => {
  gateway = await RpcFixture.start();
});
afterEach(() => gateway.stop());

const accounts = (protocol?: ProtocolName) =>
  gateway.client(rpc.AccountService, protocol === undefined ? {} : { protocol });
const audit = () => gateway.client(rpc.AuditService);
const PASSWORD = 'correct horse battery';
const NOBODY = '00000000-0000-7000-8000-000000000000';

test.each(Object.keys(PROTOCOLS) as ProtocolName[])(
  'a namespace, a user and a key are made and read, over %s',
  async (protocol) => {
    const client = accounts(protocol);
    const { namespace } = await client.createNamespace({ name: 'billing', description: 'Invoices' });
    expect(await client.getNamespace({ name: 'billing' })).toMatchObject({ namespace });
    const grants = [{ namespace: 'billing', role: 'editor', ownOnly: true }];
    const { user } = await client.createUser({ name: 'Ada', password: PASSWORD, grants });
    expect(user).toMatchObject({ name: 'ada', hasPassword: true, disabled: false, grants });
    const { key, secret } = await client.createKey({ name: 'ci', namespace: 'billing', role: 'viewer' });
    expect(key).toMatchObject({ name: 'ci', namespace: 'billing', role: 'viewer', scopes: [] });
    expect(secret).toContain(key!.prefix);
    expect(await client.getKey({ keyId: key!.keyId })).toMatchObject({ key });
  },
);

describe('namespaces', () => {
  test('are listed by name page by page, described anew and removed', async () => {
    const client = accounts();
    for (const name of ['c', 'a', 'b']) await client.createNamespace({ name });
    const first = await client.listNamespaces({ pageSize: 2 });
    const rest = await client.listNamespaces({ pageToken: first.nextPageToken });
    expect([...first.namespaces, ...rest.namespaces].map(({ name }) => name)).toEqual([
      'a',
      'b',
      'c',
      'default',
    ]);
    expect(rest.nextPageToken).toBe('');
    const described = await client.updateNamespace({ name: 'a', description: 'theirs' });
    expect(described.namespace).toMatchObject({ name: 'a', description: 'theirs' });
    expect((await client.updateNamespace({ name: 'a' })).namespace?.description).toBe('theirs');
    expect((await client.updateNamespace({ name: 'a', description: '' })).namespace?.description).toBe('');
    expect(await client.deleteNamespace({ name: 'a' })).toMatchObject({ name: 'a' });
    expect(await refusalOf(client.getNamespace({ name: 'a' }))).toMatchObject({
      status: Code.NotFound,
      detail: { code: 'namespace_not_found' },
    });
  });

  test('asked for twice with an idempotency key are the same one', async () => {
    const asked = { name: 'billing', idempotencyKey: 'k1' };
    const made = await accounts().createNamespace(asked);
    expect(await accounts().createNamespace(asked)).toEqual(made);
    expect(await refusalOf(accounts().createNamespace({ name: 'billing' }))).toMatchObject({
      detail: { code: 'namespace_exists', field: 'name' },
    });
  });
});

describe('users', () => {
  test('are changed, given grants, disabled and removed', async () => {
    const client = accounts();
    const { user } = await client.createUser({ name: 'ada', displayName: 'Ada' });
    const { userId } = user!;
    expect((await client.updateUser({ userId, disabled: true })).user).toMatchObject({
      displayName: 'Ada',
      disabled: true,
    });
    expect((await client.updateUser({ userId, displayName: '', disabled: false })).user).toMatchObject({
      displayName: '',
      disabled: false,
    });
    const grants = [{ namespace: '*', role: 'viewer', ownOnly: false }];
    expect((await client.setUserGrants({ userId, grants })).user).toMatchObject({ grants });
    expect((await client.setUserGrants({ userId })).user).toMatchObject({ grants: [] });
    await client.setUserPassword({ userId, password: PASSWORD });
    expect((await client.getUser({ userId })).user).toMatchObject({ hasPassword: true });
    expect((await client.listUsers({})).users.map(({ name }) => name)).toEqual(['ada']);
    expect(await client.deleteUser({ userId })).toMatchObject({ userId });
    expect(await refusalOf(client.getUser({ userId }))).toMatchObject({
      status: Code.NotFound,
      detail: { code: 'user_not_found' },
    });
  });

  test('made twice with the same idempotency key are one', async () => {
    const asked = { name: 'ada', password: PASSWORD, idempotencyKey: 'k1' };
    const { user } = await accounts().createUser(asked);
    expect((await accounts().createUser(asked)).user).toEqual(user);
    expect(await refusalOf(accounts().createUser({ ...asked, displayName: 'Ada' }))).toMatchObject({
      status: Code.AlreadyExists,
      detail: { code: 'idempotency_key_reused', field: 'idempotency_key' },
    });
  });
});

test('a namespace or a user whose name is taken exists already', async () => {
  const client = accounts();
  await client.createNamespace({ name: 'billing' });
  expect(await refusalOf(client.createNamespace({ name: 'billing' }))).toMatchObject({
    status: Code.AlreadyExists,
    detail: { code: 'namespace_exists' },
  });
  await client.createUser({ name: 'ada', password: PASSWORD });
  expect(await refusalOf(client.createUser({ name: 'ada', password: PASSWORD }))).toMatchObject({
    status: Code.AlreadyExists,
    detail: { code: 'user_exists' },
  });
});

describe('keys', () => {
  test('can be narrowed and end, are listed newest first and revoked', async () => {
    const client = accounts();
    const expiresAt = timestampFromMs(gateway.clock.now() + 60_000);
    const narrow = { name: 'old', role: 'editor', scopes: ['jobs.read'], expiresAt };
    const { key: old } = await client.createKey(narrow);
    expect(old).toMatchObject({ namespace: 'default', scopes: ['jobs.read'], expiresAt });
    gateway.clock.advance(10);
    const { key } = await client.createKey({ name: 'new', role: 'viewer' });
    const first = await client.listKeys({ pageSize: 1 });
    const rest = await client.listKeys({ pageToken: first.nextPageToken });
    expect([...first.keys, ...rest.keys].map(({ name }) => name)).toEqual(['new', 'old']);
    expect(await client.revokeKey({ keyId: key!.keyId })).toMatchObject({ keyId: key!.keyId });
    expect(await refusalOf(client.getKey({ keyId: key!.keyId }))).toMatchObject({
      status: Code.NotFound,
      detail: { code: 'key_not_found' },
    });
  });

  test('have several grants, are found, renamed and rotated', async () => {
    const client = accounts();
    const { user } = await client.createUser({ name: 'ada', grants: [{ namespace: '*', role: 'admin' }] });
    const grants = [
      { namespace: 'default', role: 'viewer', ownOnly: false },
      { namespace: 'default', role: 'editor', ownOnly: true },
    ];
    const { userId } = user!;
    const { key, secret } = await client.createKey({ name: 'both', grants, userId });
    expect(key).toMatchObject({ grants, namespace: 'default', role: 'viewer', userName: 'ada' });
    await client.createKey({ name: 'other', role: 'viewer' });
    const names = async (filter: object) => (await client.listKeys(filter)).keys.map(({ name }) => name);
    expect(await names({ userId })).toEqual(['both']);
    expect(await names({ name: 'other' })).toEqual(['other']);
    expect(await names({ expired: true })).toEqual([]);
    expect(await names({ expired: false })).toHaveLength(2);
    expect(await names({ unusedSince: timestampFromMs(gateway.clock.now() + 1) })).toHaveLength(2);
    const { keyId, prefix } = key!;
    expect((await client.updateKey({ keyId, name: 'console' })).key).toMatchObject({ name: 'console' });
    const rotated = await client.rotateKey({ keyId, overlap: '1h' });
    expect(rotated.secret).not.toBe(secret);
    expect(rotated.key).toMatchObject({
      ...{ keyId, previousPrefix: prefix },
      previousExpiresAt: timestampFromMs(gateway.clock.now() + 3_600_000),
    });
    const conflict = client.createKey({ name: 'x', role: 'viewer', grants });
    expect((await refusalOf(conflict)).detail).toMatchObject({ code: 'field_conflict', field: 'role' });
    expect((await refusalOf(client.deleteUser({ userId }))).detail).toMatchObject({
      code: 'last_administrator',
    });
  });

  test('sessions are listed and ended', async () => {
    const client = accounts();
    const { user } = await client.createUser({ name: 'ada', password: PASSWORD });
    await gateway.operations.signIn({ name: 'ada', password: PASSWORD });
    const { sessions } = await client.listSessions({ userId: user!.userId });
    expect(sessions).toMatchObject([{ userName: 'ada', current: false }]);
    const { sessionId } = sessions[0]!;
    expect(await client.endSession({ sessionId })).toMatchObject({ sessionId });
    expect((await client.listSessions({ all: true })).sessions).toEqual([]);
  });

  test('know whose they are', async () => {
    const grants = [{ namespace: 'default', role: 'viewer', ownOnly: true }] as const;
    gateway.caller = { ...gateway.caller, kind: 'key', id: 'k', name: 'ci', userId: 'ada', grants };
    expect((await accounts().getCaller({})).caller).toMatchObject({
      kind: 'key',
      id: 'k',
      name: 'ci',
      userId: 'ada',
      grants,
      scopes: [],
    });
  });
});

test('the audit log tells who changed what, page by page and by filter', async () => {
  const client = accounts();
  gateway.caller = { ...gateway.caller, kind: 'key', id: 'k', name: 'ci' };
  await client.createNamespace({ name: 'billing' });
  await client.updateNamespace({ name: 'billing', description: 'Invoices' });
  const { entries } = await audit().listAuditEntries({ action: 'namespaces.update' });
  expect(entries).toMatchObject([
    {
      actor: { kind: 'key', id: 'k', name: 'ci' },
      subject: { kind: 'namespace', id: 'billing' },
      before: { description: '' },
      after: { description: 'Invoices' },
    },
  ]);
  const first = await audit().listAuditEntries({ pageSize: 1 });
  const rest = await audit().listAuditEntries({ pageToken: first.nextPageToken });
  expect([...first.entries, ...rest.entries].map(({ action }) => action)).toEqual([
    'namespaces.update',
    'namespaces.create',
  ]);
  expect(rest.entries[0]?.before).toBeUndefined();
  const until = timestampFromMs(gateway.clock.now() - 1);
  expect((await audit().listAuditEntries({ until })).entries).toEqual([]);
});

test('the audit log names the person, and what they came with', async () => {
  const credential = { kind: 'key', id: 'k', name: 'login', expiresAtMs: undefined } as const;
  gateway.caller = { ...gateway.caller, kind: 'key', id: 'k', userId: 'u', userName: 'bob', credential };
  await accounts().createNamespace({ name: 'billing' });
  for (const actor of ['bob', 'u', 'login', 'k']) {
    expect((await audit().listAuditEntries({ actor })).entries).toMatchObject([
      { actor: { kind: 'user', id: 'u', name: 'bob', via: { kind: 'key', id: 'k', name: 'login' } } },
    ]);
  }
});

test('what means nothing is refused by name', async () => {
  const client = accounts();
  const refused = async (call: Promise<unknown>) => {
    const { detail } = await refusalOf(call);
    return [detail?.code, detail?.field];
  };
  expect(await refused(client.getUser({}))).toEqual(['field_missing', 'user_id']);
  expect(await refused(client.getUser({ userId: '42' }))).toEqual(['user_not_found', '']);
  expect(await refused(client.getKey({ keyId: NOBODY }))).toEqual(['key_not_found', '']);
  expect(await refused(client.createUser({ password: PASSWORD }))).toEqual(['field_missing', 'name']);
  expect(await refused(client.createUser({ name: 'ada', password: 'short' }))).toEqual([
    'field_invalid',
    'password',
  ]);
  expect(await refused(client.createUser({ name: 'ada', grants: [{ role: 'viewer' }] }))).toEqual([
    'field_missing',
    'grants[0].namespace',
  ]);
  expect(await refused(client.createKey({ name: 'a', role: 'king' }))).toEqual(['field_invalid', 'role']);
  const never = { name: 'a', role: 'viewer', expiresAt: { seconds: 2n ** 62n, nanos: 0 } };
  expect(await refused(client.createKey(never))).toEqual(['field_invalid', 'expires_at']);
  expect(await refused(client.listKeys({ pageToken: 'x' }))).toEqual(['field_invalid', 'page_token']);
  expect(await refused(client.listUsers({ pageSize: 1_001 }))).toEqual(['field_invalid', 'page_size']);
  expect(await refused(audit().listAuditEntries({ pageToken: 'x' }))).toEqual([
    'field_invalid',
    'page_token',
  ]);
  expect(gateway.errors).toEqual([]);
});
