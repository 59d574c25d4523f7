/** The promises of AccountStore about keys: found by what is shown, gone with whom they belong to. */
import type { ApiKey } from '@carillon/domain';
import { describe, expect, it } from 'vitest';
import { type KeyFilter, KeysFull, NamespaceGone } from '../account-store.ts';
import { sampleSession } from './account-sessions.conformance.ts';
import { EDITOR, readAs, sampleUser } from './account-store.conformance.ts';
import { ENTRY } from './audit-store.conformance.ts';
import { newId } from './sample-job.ts';
import { BASE_MS, HOUR_MS, MINUTE_MS } from './storage-under-test.ts';
import type { StorageWorld } from './storage-world.ts';

function sampleKey(over: Partial<ApiKey> = {}): ApiKey {
  return {
    keyId: newId(),
    name: 'deploy',
    prefix: `ck_${newId().slice(-10)}`,
    ownerId: undefined,
    ownerName: undefined,
    makerId: undefined,
    grants: [EDITOR],
    scopes: undefined,
    createdAtMs: BASE_MS,
    expiresAtMs: undefined,
    lastUsedAtMs: undefined,
    lastUsedAddress: undefined,
    previous: undefined,
    ...over,
  };
}

export function describeCredentials(stage: { readonly world: StorageWorld }): void {
  const accounts = () => stage.world.storage.accounts;
  const newUser = async (name = 'ada') => {
    const user = sampleUser({ name });
    await accounts().createUser(user);
    return user;
  };

  describe('keys', () => {
    it('come back whole, and are found by their prefix with their owner as they are now', async () => {
      const user = await newUser();
      const scopes = new Set(['jobs.read', 'jobs.create'] as const);
      const owned = sampleKey({
        ...{ ownerId: user.userId, ownerName: user.name, makerId: user.userId, scopes },
        expiresAtMs: BASE_MS + HOUR_MS,
        grants: [
          { ...EDITOR, namespace: '*', role: 'viewer' },
          EDITOR,
          { ...EDITOR, ownOnly: true, role: 'admin' },
        ],
      });
      const installation = sampleKey({ offers: ['resize', 'odd, "name"'] });
      await accounts().createKey(owned, 'aa');
      await accounts().createKey(installation, 'bb');
      expect(await accounts().key(owned.keyId)).toEqual(owned);
      await accounts().changeUser(user.userId, { disabled: true }, BASE_MS);
      expect(await accounts().keyToCheck(owned.prefix)).toEqual({
        key: owned,
        hash: 'aa',
        isPrevious: false,
        owner: { ...readAs(user), disabled: true },
      });
      expect(await accounts().keyToCheck(installation.prefix)).toEqual({
        key: installation,
        hash: 'bb',
        isPrevious: false,
        owner: undefined,
      });
      expect(await accounts().keyToCheck('ck_unknown')).toBeUndefined();
      expect(await accounts().key(newId())).toBeUndefined();
    });

    it('are named with jobs and users, as what the audit log is about', async () => {
      const user = await newUser();
      const key = sampleKey({ name: 'deploy' });
      await accounts().createKey(key, 'aa');
      const job = await stage.world.recurring();
      const named = await accounts().subjectNames([
        user.userId,
        key.keyId,
        job.jobId,
        'default',
        user.userId,
      ]);
      expect([...named].sort()).toEqual(
        [
          [user.userId, user.name],
          [key.keyId, 'deploy'],
          [job.jobId, job.name],
        ].sort(),
      );
      expect(await accounts().subjectNames(['default'])).toEqual(new Map());
    });

    it('a prefix is given once', async () => {
      const key = sampleKey();
      expect(await accounts().createKey(key, 'aa')).toBe(true);
      expect(await accounts().createKey(sampleKey({ prefix: key.prefix }), 'bb')).toBe(false);
      expect((await accounts().keyToCheck(key.prefix))!.hash).toBe('aa');
    });

    it('are listed newest first: all, those of an owner, those in namespaces', async () => {
      const user = await newUser();
      await accounts().createNamespace({ name: 'billing', description: '', createdAtMs: BASE_MS });
      const first = sampleKey({ ownerId: user.userId });
      const second = sampleKey({ grants: [{ ...EDITOR, namespace: 'billing' }] });
      const third = sampleKey({ grants: [{ ...EDITOR, namespace: '*' }] });
      for (const key of [first, second, third]) await accounts().createKey(key, 'aa');
      const listed = async (query: object) => {
        const all = { ownerId: undefined, namespaces: undefined, limit: 9 };
        return (await accounts().keys({ ...all, ...query })).map(({ keyId }) => keyId);
      };
      const [a, b, c] = [first.keyId, second.keyId, third.keyId].sort();
      expect(await listed({})).toEqual([c, b, a]);
      expect(await listed({ limit: 1 })).toEqual([c]);
      expect(await listed({ afterKeyId: b })).toEqual([a]);
      expect(await listed({ namespaces: ['billing'] })).toEqual([second.keyId]);
      expect(await listed({ namespaces: [], ownerId: user.userId })).toEqual([first.keyId]);
      expect(await listed({ namespaces: [] })).toEqual([]);
    });

    it('are filtered by owner, namespace, name, expiry and use', async () => {
      const user = await newUser();
      await accounts().createNamespace({ name: 'billing', description: '', createdAtMs: BASE_MS });
      const own = sampleKey({ ownerId: user.userId, name: 'mine', createdAtMs: BASE_MS - HOUR_MS });
      const both = sampleKey({ grants: [EDITOR, { ...EDITOR, namespace: 'billing' }] });
      const ended = sampleKey({ expiresAtMs: BASE_MS + 1, createdAtMs: BASE_MS - HOUR_MS });
      for (const key of [own, both, ended]) await accounts().createKey(key, 'aa');
      const listed = async (filter: KeyFilter) => {
        const keys = await accounts().keys({ ownerId: undefined, namespaces: undefined, filter, limit: 9 });
        return keys.map(({ keyId }) => keyId).sort();
      };
      expect(await listed({ ownerId: user.userId })).toEqual([own.keyId]);
      expect(await listed({ namespace: 'billing' })).toEqual([both.keyId]);
      expect(await listed({ name: 'mine' })).toEqual([own.keyId]);
      expect(await listed({ name: 'mine', namespace: 'billing' })).toEqual([]);
      expect(await listed({ expired: { is: true, atMs: BASE_MS + 1 } })).toEqual([ended.keyId]);
      expect(await listed({ expired: { is: true, atMs: BASE_MS } })).toEqual([]);
      expect(await listed({ expired: { is: false, atMs: BASE_MS + 1 } })).toEqual(
        [own.keyId, both.keyId].sort(),
      );
      expect(await listed({ unusedSinceMs: BASE_MS })).toEqual([own.keyId, ended.keyId].sort());
      const use = { atMs: BASE_MS, address: undefined, previousAtMs: undefined };
      await accounts().noteUses({ keys: [{ id: own.keyId, ...use }], sessions: [] });
      expect(await listed({ unusedSinceMs: BASE_MS })).toEqual([ended.keyId]);
    });

    it('are renamed', async () => {
      const key = sampleKey();
      await accounts().createKey(key, 'aa');
      expect(await accounts().renameKey(key.keyId, 'other', ENTRY)).toBe(true);
      expect(await accounts().key(key.keyId)).toEqual({ ...key, name: 'other' });
      expect(await accounts().renameKey(newId(), 'other', ENTRY)).toBe(false);
      expect(await stage.world.storage.audit.list({ limit: 9 })).toHaveLength(1);
    });

    it('are found by both prefixes after a rotation, and rotated once from where they are', async () => {
      const key = sampleKey({ expiresAtMs: BASE_MS + HOUR_MS });
      await accounts().createKey(key, 'aa');
      await accounts().noteUses({
        keys: [{ id: key.keyId, atMs: BASE_MS + 1, address: '203.0.113.7', previousAtMs: undefined }],
        sessions: [],
      });
      const rotated = { expiresAtMs: undefined, makerId: newId() };
      const rotate = (fromPrefix: string, prefix: string, hash: string) =>
        accounts().rotateKey(
          key.keyId,
          { fromPrefix, prefix, hash, ...rotated, previousExpiresAtMs: BASE_MS + MINUTE_MS },
          [ENTRY, ENTRY],
        );
      expect(await rotate(key.prefix, 'ck2_next', 'bb')).toBe(true);
      expect(await rotate(key.prefix, 'ck2_late', 'cc')).toBe(false);
      expect((await accounts().credentialNames(BASE_MS)).toSorted()).toEqual(['ck2_next', key.prefix]);
      const now = {
        ...key,
        ...{ prefix: 'ck2_next', ...rotated },
        ...{ lastUsedAtMs: BASE_MS + 1, lastUsedAddress: '203.0.113.7' },
        previous: { prefix: key.prefix, expiresAtMs: BASE_MS + MINUTE_MS, lastUsedAtMs: BASE_MS + 1 },
      };
      expect(await accounts().keyToCheck('ck2_next')).toMatchObject({
        key: now,
        hash: 'bb',
        isPrevious: false,
      });
      expect(await accounts().keyToCheck(key.prefix)).toMatchObject({
        key: now,
        hash: 'aa',
        isPrevious: true,
      });
      const use = { id: key.keyId, atMs: BASE_MS + 5, address: undefined, previousAtMs: BASE_MS + 3 };
      await accounts().noteUses({ keys: [use], sessions: [] });
      expect(await accounts().key(key.keyId)).toMatchObject({
        ...{ lastUsedAtMs: BASE_MS + 5, lastUsedAddress: '203.0.113.7' },
        previous: { lastUsedAtMs: BASE_MS + 3 },
      });
      expect(await rotate('ck2_next', 'ck2_last', 'cc')).toBe(true);
      expect(await accounts().keyToCheck(key.prefix)).toBeUndefined();
      // A repeated request to make it still finds its first prefix taken.
      expect(await accounts().createKey(sampleKey({ prefix: key.prefix }), 'dd')).toBe(false);
      expect(await stage.world.storage.audit.list({ limit: 9 })).toHaveLength(4);
    });

    it('lose their grants in a namespace that is removed, and go with the last one', async () => {
      for (const name of ['billing', 'ops'])
        await accounts().createNamespace({ name, description: '', createdAtMs: BASE_MS });
      const [billing, ops] = ['billing', 'ops'].map((namespace) => ({ ...EDITOR, namespace }));
      const key = sampleKey({ grants: [billing!, ops!] });
      await accounts().createKey(key, 'aa');
      await accounts().removeNamespace('billing');
      expect(await accounts().key(key.keyId)).toEqual({ ...key, grants: [ops] });
      await accounts().removeNamespace('ops');
      expect(await accounts().key(key.keyId)).toBeUndefined();
    });

    it('that a user made, whoever owns them, end with a password change that asks for it, and no others', async () => {
      const [ada, bob] = [await newUser('ada'), await newUser('bob')];
      const own = sampleKey({ ownerId: ada.userId, makerId: ada.userId });
      const given = sampleKey({ ownerId: ada.userId, makerId: bob.userId });
      const made = sampleKey({ ownerId: bob.userId, ownerName: 'bob', makerId: ada.userId });
      const nobodys = sampleKey({ makerId: ada.userId });
      for (const key of [own, given, made, nobodys]) await accounts().createKey(key, 'aa');
      await accounts().changeUser(ada.userId, { passwordHash: 'new' }, BASE_MS);
      expect(await accounts().key(own.keyId)).toBeDefined();
      const ended: ApiKey[] = [];
      const endKeys = (key: ApiKey) => {
        ended.push(key);
        return [{ ...ENTRY, action: 'keys.revoke', subject: { kind: 'key', id: key.keyId } }];
      };
      await accounts().changeUser(ada.userId, { passwordHash: 'new', endKeys }, BASE_MS, ENTRY);
      const gone = [{ ...own, ownerName: 'ada' }, made, nobodys];
      expect(ended).toHaveLength(3);
      expect(ended).toEqual(expect.arrayContaining(gone));
      for (const { keyId } of gone) expect(await accounts().key(keyId)).toBeUndefined();
      expect(await accounts().key(given.keyId)).toBeDefined();
      const recorded = await stage.world.storage.audit.list({ action: 'keys.revoke', limit: 9 });
      expect(recorded.map(({ subject }) => subject.id).toSorted()).toEqual(
        gone.map(({ keyId }) => keyId).toSorted(),
      );
      expect(await stage.world.storage.audit.list({ limit: 9 })).toHaveLength(4);
    });

    it('go with their owner, with their namespace, and when they are revoked', async () => {
      const user = await newUser();
      const owned = sampleKey({ ownerId: user.userId });
      const placed = sampleKey({ grants: [{ ...EDITOR, namespace: 'billing' }] });
      const revoked = sampleKey();
      await accounts().createNamespace({ name: 'billing', description: '', createdAtMs: BASE_MS });
      for (const key of [owned, placed, revoked]) await accounts().createKey(key, 'aa');
      await accounts().removeUser(user.userId);
      await accounts().removeNamespace('billing');
      expect(await accounts().removeKey(revoked.keyId)).toBe(true);
      expect(await accounts().removeKey(revoked.keyId)).toBe(false);
      expect(await accounts().keys({ ownerId: undefined, namespaces: undefined, limit: 9 })).toEqual([]);
    });
  });

  it('only so many keys of an owner live, and of nobody in a namespace, also when made at once', async () => {
    const { userId: ownerId } = await newUser();
    const make = (over: Partial<ApiKey>) =>
      accounts().createKey(sampleKey(over), 'aa', { livingMax: 2, audit: ENTRY });
    const madeOf = async (over: Partial<ApiKey>) => {
      const made = await Promise.allSettled(Array.from({ length: 5 }, () => make(over)));
      for (const one of made) if (one.status === 'rejected') expect(one.reason).toBeInstanceOf(KeysFull);
      return made.filter(({ status }) => status === 'fulfilled').length;
    };
    await accounts().createKey(sampleKey({ ownerId, expiresAtMs: BASE_MS }), 'aa');
    expect(await madeOf({ ownerId })).toBe(2);
    expect(await madeOf({})).toBe(2);
    expect(await madeOf({ grants: [{ ...EDITOR, namespace: '*' }] })).toBe(2);
    await accounts().createKey(sampleKey({ ownerId }), 'aa');
    expect(await stage.world.storage.audit.list({ limit: 99 })).toHaveLength(6);
  });

  it('those that expired are not among the valid ones, and are removed', async () => {
    const keys = [BASE_MS - 1, BASE_MS, undefined].map((expiresAtMs) => sampleKey({ expiresAtMs }));
    for (const key of keys) await accounts().createKey(key, 'aa');
    await accounts().createSession(sampleSession((await newUser()).userId), 'a session');
    expect((await accounts().credentialNames(BASE_MS)).toSorted()).toEqual(['a session', keys[2]!.prefix]);
    expect(await accounts().removeExpiredKeys(BASE_MS)).toBe(1);
    expect(await accounts().key(keys[0]!.keyId)).toBeUndefined();
  });

  it('no key is made in a namespace that is not there', async () => {
    const key = sampleKey({ grants: [{ ...EDITOR, namespace: 'billing' }] });
    await expect(accounts().createKey(key, 'aa', { audit: ENTRY })).rejects.toBeInstanceOf(NamespaceGone);
    expect(await accounts().key(key.keyId)).toBeUndefined();
    expect(await stage.world.storage.audit.list({ limit: 9 })).toEqual([]);
  });

  it('times of use go forward and never back', async () => {
    const { userId } = await newUser();
    const [key, session] = [sampleKey(), sampleSession(userId)];
    await accounts().createKey(key, 'aa');
    await accounts().createSession(session, 'aa');
    const note = (atMs: number) =>
      accounts().noteUses({
        keys: [{ id: key.keyId, atMs, address: `from ${atMs}`, previousAtMs: undefined }],
        sessions: [
          { id: session.sessionId, atMs },
          { id: newId(), atMs },
        ],
      });
    await note(BASE_MS + MINUTE_MS);
    await note(BASE_MS + 1);
    await accounts().noteUses({ keys: [], sessions: [] });
    expect(await accounts().key(key.keyId)).toMatchObject({
      lastUsedAtMs: BASE_MS + MINUTE_MS,
      lastUsedAddress: `from ${BASE_MS + MINUTE_MS}`,
    });
    expect((await accounts().session(session.sessionId))!.lastSeenAtMs).toBe(BASE_MS + MINUTE_MS);
  });
}
