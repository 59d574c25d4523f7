/** The promises of AccountStore: namespaces and people here, keys and sessions in a suite of their own. */
import type { Grant, User } from '@carillon/domain';
import { describe, expect, it } from 'vitest';
import {
  LastAdministrator,
  NAME_RESTS_MS,
  NamespaceGone,
  NamespaceRecentlyRemoved,
  type NewUser,
  type UserChange,
} from '../account-store.ts';
import { describeCredentials } from './account-credentials.conformance.ts';
import { describeSessions } from './account-sessions.conformance.ts';
import { ENTRY } from './audit-store.conformance.ts';
import { newId } from './sample-job.ts';
import { BASE_MS, type MakeStorage, MINUTE_MS } from './storage-under-test.ts';
import { useStorageWorld } from './storage-world.ts';

export const EDITOR: Grant = { namespace: 'default', role: 'editor', ownOnly: false };

export function sampleUser(over: Partial<NewUser> = {}): NewUser {
  return {
    userId: newId(),
    name: 'ada',
    displayName: 'Ada Lovelace',
    disabled: false,
    grants: [EDITOR],
    passwordHash: undefined,
    createdAtMs: BASE_MS,
    updatedAtMs: BASE_MS,
    ...over,
  };
}

/** As it is read. */
export function readAs({ passwordHash, ...user }: NewUser): User {
  return { ...user, hasPassword: passwordHash !== undefined };
}

export function describeAccountStore(makeStorage: MakeStorage): void {
  describe('account store', () => {
    const stage = useStorageWorld(makeStorage);
    const accounts = () => stage.world.storage.accounts;

    describe('namespaces', () => {
      const namespace = (name: string) => ({ name, description: `about ${name}`, createdAtMs: BASE_MS });
      const names = async (query: object = {}) =>
        (await accounts().namespaces({ limit: 10, ...query })).map(({ name }) => name);

      it('one is there from the start', async () => {
        expect(await names()).toEqual(['default']);
        expect(await accounts().existingNamespaces(['default', 'other'])).toEqual(['default']);
      });

      it('are made once, and listed by name', async () => {
        expect(await accounts().createNamespace(namespace('billing'))).toBe(true);
        expect(await accounts().createNamespace({ ...namespace('billing'), description: 'x' })).toBe(false);
        expect(await accounts().createNamespace(namespace('zoo'))).toBe(true);
        expect(await accounts().namespaces({ names: ['billing'], limit: 9 })).toEqual([namespace('billing')]);
        expect(await names()).toEqual(['billing', 'default', 'zoo']);
        expect(await names({ after: 'billing', limit: 1 })).toEqual(['default']);
        expect(await names({ names: [] })).toEqual([]);
      });

      it('are described anew, where there is one', async () => {
        await accounts().createNamespace(namespace('billing'));
        expect(await accounts().describeNamespace('billing', 'invoices')).toBe(true);
        expect(await accounts().describeNamespace('nowhere', 'x')).toBe(false);
        const [found] = await accounts().namespaces({ names: ['billing'], limit: 1 });
        expect(found!.description).toBe('invoices');
      });

      it('one with jobs in it stays', async () => {
        await accounts().createNamespace(namespace('billing'));
        await stage.world.oneOff({ job: { namespace: 'billing' } });
        expect(await accounts().removeNamespace('billing')).toBe('in_use');
        expect(await accounts().existingNamespaces(['billing'])).toEqual(['billing']);
      });

      it('one that goes takes the grants in it along, so that whoever gets the name next inherits none', async () => {
        await accounts().createNamespace(namespace('billing'));
        const user = sampleUser({ grants: [EDITOR, { ...EDITOR, namespace: 'billing' }] });
        await accounts().createUser(user);
        expect(await accounts().removeNamespace('billing')).toBe('removed');
        expect(await accounts().removeNamespace('billing')).toBe('unknown');
        expect((await accounts().user(user.userId))!.grants).toEqual([EDITOR]);
        expect(await names()).toEqual(['default']);
      });

      it('the name of one that was removed rests, so that nobody gets it while what was granted by it is still believed somewhere', async () => {
        const { under } = stage;
        const again = (store = accounts()) => store.createNamespace(namespace('billing'), ENTRY);
        const others = (under.other ?? under.storage).accounts;
        await accounts().createNamespace(namespace('billing'));
        await accounts().removeNamespace('billing');
        for (const store of [accounts(), others]) {
          const refused = await again(store).catch((error: unknown) => error);
          expect(refused).toBeInstanceOf(NamespaceRecentlyRemoved);
          const { leftMs } = refused as NamespaceRecentlyRemoved;
          expect(leftMs).toBeGreaterThan(0);
          expect(leftMs).toBeLessThanOrEqual(NAME_RESTS_MS);
        }
        expect(await accounts().existingNamespaces(['billing'])).toEqual([]);
        expect(await stage.world.storage.audit.list({ limit: 9 })).toEqual([]);
        await under.ageRemovals(NAME_RESTS_MS - 60_000);
        await expect(again()).rejects.toThrow(NamespaceRecentlyRemoved);
        await under.ageRemovals(60_000);
        expect(await again(others)).toBe(true);
        expect(await again()).toBe(false);
        // Each removal counts anew.
        await accounts().removeNamespace('billing');
        await expect(again()).rejects.toThrow(NamespaceRecentlyRemoved);
        await under.ageRemovals(2 * 3_600_000);
        await accounts().createNamespace(namespace('ops'));
        await accounts().removeNamespace('ops');
        expect(await again()).toBe(true);
        await expect(accounts().createNamespace(namespace('ops'))).rejects.toThrow(NamespaceRecentlyRemoved);
      });
    });

    describe('entries of the audit log', () => {
      const namespace = { name: 'billing', description: '', createdAtMs: BASE_MS };
      const entry = (action: string) => ({ ...ENTRY, action });
      const written = async () =>
        (await stage.world.storage.audit.list({ limit: 20 })).map(({ action }) => action).reverse();

      it('are written with the change that they tell of', async () => {
        const user = sampleUser();
        await accounts().createNamespace(namespace, entry('create namespace'));
        await accounts().describeNamespace('billing', 'x', entry('describe'));
        await accounts().createUser(user, entry('create user'));
        await accounts().changeUser(user.userId, { grants: [] }, BASE_MS, entry('change'));
        await accounts().removeUser(user.userId, entry('remove user'));
        await accounts().removeNamespace('billing', entry('remove namespace'));
        expect(await written()).toEqual([
          ...['create namespace', 'describe', 'create user', 'change', 'remove user', 'remove namespace'],
        ]);
      });

      it('are not written when nothing was changed', async () => {
        const user = sampleUser();
        await accounts().createUser(user);
        await accounts().createNamespace({ ...namespace, name: 'default' }, entry('a'));
        await accounts().describeNamespace('nowhere', 'x', entry('b'));
        await accounts().removeNamespace('nowhere', entry('c'));
        await accounts().createUser(sampleUser({ name: user.name }), entry('d'));
        await accounts().changeUser(newId(), { displayName: 'x' }, BASE_MS, entry('e'));
        await accounts().removeUser(newId(), entry('f'));
        await accounts().removeKey(newId(), entry('g'));
        await accounts().removeSession(newId(), entry('h'));
        expect(await written()).toEqual([]);
      });
    });

    describe('users', () => {
      it('are granted nothing in a namespace that is not there, and stay as they were', async () => {
        const gone: Grant = { ...EDITOR, namespace: 'billing' };
        const user = sampleUser({ grants: [gone] });
        await expect(accounts().createUser(user, ENTRY)).rejects.toBeInstanceOf(NamespaceGone);
        expect(await accounts().user(user.userId)).toBeUndefined();
        await accounts().createUser({ ...user, grants: [EDITOR] });
        const change = accounts().changeUser(user.userId, { disabled: true, grants: [gone] }, BASE_MS, ENTRY);
        await expect(change).rejects.toBeInstanceOf(NamespaceGone);
        expect(await accounts().user(user.userId)).toMatchObject({ disabled: false, grants: [EDITOR] });
        expect(await stage.world.storage.audit.list({ limit: 9 })).toEqual([]);
      });

      it('come back whole, with their grants', async () => {
        await accounts().createNamespace({ name: 'billing', description: '', createdAtMs: BASE_MS });
        const grants: Grant[] = [
          { namespace: '*', role: 'viewer', ownOnly: false },
          { namespace: '*', role: 'editor', ownOnly: true },
          { namespace: 'billing', role: 'admin', ownOnly: false },
        ];
        const user = sampleUser({ grants });
        expect(await accounts().createUser(user)).toBe(true);
        expect(await accounts().user(user.userId)).toEqual(readAs(user));
        expect(await accounts().user(newId())).toBeUndefined();
      });

      it('a name is given once, and so is an id', async () => {
        const first = sampleUser();
        await accounts().createUser(first);
        expect(await accounts().createUser(sampleUser({ grants: [] }))).toBe(false);
        expect(await accounts().createUser({ ...first, name: 'bob' })).toBe(false);
        expect(await accounts().users({ limit: 9 })).toEqual([readAs(first)]);
      });

      it('are listed by name, from any of them on', async () => {
        for (const name of ['cleo', 'ada', 'bob']) await accounts().createUser(sampleUser({ name }));
        const listed = async (query: object) =>
          (await accounts().users({ limit: 9, ...query })).map(({ name }) => name);
        expect(await listed({})).toEqual(['ada', 'bob', 'cleo']);
        expect(await listed({ after: 'ada', limit: 1 })).toEqual(['bob']);
      });

      it('are named by their ids, which may be of anybody or of nobody', async () => {
        const [ada, bob, gone] = [sampleUser({}), sampleUser({ name: 'bob' }), sampleUser({ name: 'gone' })];
        await accounts().createUser(ada);
        await accounts().createUser(bob);
        const named = await accounts().userNames([
          ada.userId,
          gone.userId,
          'u003',
          bob.userId,
          ada.userId,
          '',
        ]);
        expect([...named].toSorted(([, one], [, other]) => one.localeCompare(other))).toEqual([
          [ada.userId, 'ada'],
          [bob.userId, 'bob'],
        ]);
        expect(await accounts().userNames(['u003'])).toEqual(new Map());
        expect(await accounts().userNames([])).toEqual(new Map());
      });

      it('are found by name to sign in, with the hash of their password if they have one', async () => {
        const [ada, bob] = [sampleUser({ passwordHash: '$hash' }), sampleUser({ name: 'bob' })];
        await accounts().createUser(ada);
        await accounts().createUser(bob);
        expect(await accounts().userToSignIn('ada')).toEqual({ user: readAs(ada), passwordHash: '$hash' });
        expect((await accounts().userToSignIn('bob'))!.passwordHash ?? undefined).toBeUndefined();
        expect(await accounts().userToSignIn('cleo')).toBeUndefined();
        expect(await accounts().passwordHashOf(ada.userId)).toBe('$hash');
        expect(await accounts().passwordHashOf(bob.userId)).toBeUndefined();
      });

      it('a change changes what it names and leaves the rest', async () => {
        const user = sampleUser({ passwordHash: '$old' });
        await accounts().createUser(user);
        const nowMs = BASE_MS + MINUTE_MS;
        const renamed = await accounts().changeUser(user.userId, { displayName: 'A. L.' }, nowMs);
        expect(renamed).toEqual({ ...readAs(user), displayName: 'A. L.', updatedAtMs: nowMs });
        const grants: Grant[] = [{ namespace: '*', role: 'viewer', ownOnly: true }];
        expect((await accounts().changeUser(user.userId, { grants }, nowMs))!.grants).toEqual(grants);
        await accounts().changeUser(user.userId, { passwordHash: '$new', grants: [] }, nowMs);
        expect(await accounts().userToSignIn('ada')).toMatchObject({
          user: { displayName: 'A. L.', grants: [] },
          passwordHash: '$new',
        });
        expect(await accounts().changeUser(newId(), { disabled: true }, nowMs)).toBeUndefined();
      });

      it('are found by name', async () => {
        for (const name of ['ada', 'bob']) await accounts().createUser(sampleUser({ name }));
        expect((await accounts().users({ name: 'bob', limit: 9 })).map(({ name }) => name)).toEqual(['bob']);
        expect(await accounts().users({ name: 'bo', limit: 9 })).toEqual([]);
        expect(await accounts().users({ name: 'bob', after: 'bob', limit: 9 })).toEqual([]);
      });

      it('the last administrator is neither removed, disabled nor demoted', async () => {
        const ADMIN: Grant = { namespace: '*', role: 'admin', ownOnly: false };
        const add = async (name: string, over: Partial<NewUser> = {}) => {
          const user = sampleUser({ name, grants: [ADMIN], ...over });
          await accounts().createUser(user);
          return user.userId;
        };
        const ada = await add('ada');
        await add('disabled', { disabled: true });
        await add('of own jobs', { grants: [{ ...ADMIN, ownOnly: true }] });
        await add('of a namespace', { grants: [{ ...ADMIN, namespace: 'default' }] });
        const change = (to: UserChange) => accounts().changeUser(ada, to, BASE_MS, ENTRY);
        await expect(accounts().removeUser(ada, ENTRY)).rejects.toBeInstanceOf(LastAdministrator);
        await expect(change({ disabled: true })).rejects.toBeInstanceOf(LastAdministrator);
        await expect(change({ grants: [] })).rejects.toBeInstanceOf(LastAdministrator);
        await expect(change({ grants: [{ ...ADMIN, role: 'editor' }] })).rejects.toBeInstanceOf(
          LastAdministrator,
        );
        expect(await accounts().user(ada)).toMatchObject({ disabled: false, grants: [ADMIN] });
        expect(await stage.world.storage.audit.list({ limit: 9 })).toEqual([]);
        await change({ grants: [ADMIN, EDITOR], displayName: 'A.' });
        const bob = await add('bob');
        await change({ grants: [EDITOR] });
        await expect(accounts().removeUser(bob)).rejects.toBeInstanceOf(LastAdministrator);
        expect(await accounts().removeUser(ada)).toBe(true);
      });

      it('of two administrators who go at the same instant, one stays', async () => {
        const ADMIN: Grant = { namespace: '*', role: 'admin', ownOnly: false };
        const [ada, bob] = ['ada', 'bob'].map((name) => sampleUser({ name, grants: [ADMIN] }));
        for (const user of [ada!, bob!]) await accounts().createUser(user);
        const outcomes = await Promise.allSettled([
          accounts().removeUser(ada!.userId),
          accounts().changeUser(bob!.userId, { grants: [] }, BASE_MS),
        ]);
        const refused = outcomes.filter(({ status }) => status === 'rejected');
        expect(refused).toMatchObject([{ reason: expect.any(LastAdministrator) }]);
      });

      it('are removed once', async () => {
        const user = sampleUser();
        await accounts().createUser(user);
        expect(await accounts().removeUser(user.userId)).toBe(true);
        expect(await accounts().removeUser(user.userId)).toBe(false);
        expect(await accounts().user(user.userId)).toBeUndefined();
      });
    });

    describeCredentials(stage);
    describeSessions(stage);
  });
}
