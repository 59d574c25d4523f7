/** The promises of AuditStore: what was written down is found again, newest first, by whatever it is looked for. */

import { describe, expect, it } from 'vitest';
import { NAME_RESTS_MS } from '../account-store.ts';
import type { AuditEntry, AuditQuery } from '../audit-store.ts';
import { BASE_MS, type MakeStorage, MINUTE_MS } from './storage-under-test.ts';
import { useStorageWorld } from './storage-world.ts';

export const ENTRY: AuditEntry = {
  atMs: BASE_MS,
  actor: { kind: 'user', id: 'u1', name: 'ada' },
  action: 'jobs.update',
  namespace: 'default',
  subject: { kind: 'job', id: 'j1' },
  before: '{"name":"a"}',
  after: '{"name":"b"}',
  origin: { address: '203.0.113.7', userAgent: 'test', requestId: 'r1' },
};

export function describeAuditStore(makeStorage: MakeStorage): void {
  describe('audit store', () => {
    const stage = useStorageWorld(makeStorage);
    const record = (...entries: Partial<AuditEntry>[]) =>
      stage.world.storage.audit.record(entries.map((over) => ({ ...ENTRY, ...over })));
    const actions = async (query: Partial<AuditQuery>) =>
      (await stage.world.storage.audit.list({ limit: 100, ...query })).map(({ action }) => action);

    it('an entry comes back whole', async () => {
      await record({});
      const [found] = await stage.world.storage.audit.list({ limit: 1 });
      const { before, after, auditId, ...rest } = found!;
      const { before: _before, after: _after, ...written } = ENTRY;
      expect(rest).toEqual(written);
      expect([JSON.parse(before!), JSON.parse(after!)]).toEqual([{ name: 'a' }, { name: 'b' }]);
      expect(auditId).toBeGreaterThan(0);
    });

    it('what is not known comes back as not known', async () => {
      const origin = { address: undefined, userAgent: undefined, requestId: undefined };
      await record({ namespace: undefined, before: undefined, after: undefined, origin });
      const [found] = await stage.world.storage.audit.list({ limit: 1 });
      expect(found).toMatchObject({ namespace: undefined, before: undefined, after: undefined, origin });
    });

    it('the newest come first, and a list goes on after any of them', async () => {
      await record({ action: 'a' }, { action: 'b' });
      await record({ action: 'c' });
      expect(await actions({})).toEqual(['c', 'b', 'a']);
      const [, second] = await stage.world.storage.audit.list({ limit: 2 });
      expect(await actions({ beforeId: second!.auditId })).toEqual(['a']);
      expect(await actions({ limit: 1 })).toEqual(['c']);
    });

    it('of a namespace that was made anew, what was done in the one before can be left out', async () => {
      const { accounts } = stage.world.storage;
      const namespace = { name: 'one', description: '', createdAtMs: BASE_MS };
      const entry = (action: string) => ({ ...ENTRY, action, namespace: 'one' });
      await accounts.createNamespace(namespace, entry('create'));
      await record({ action: 'keys.create', namespace: 'one', subject: { kind: 'key', id: 'k' } });
      const made = { namespaces: ['one', 'default'], sinceMade: true };
      expect(await actions(made)).toEqual(['keys.create', 'create']);
      await accounts.removeNamespace('one', entry('remove'));
      expect(await actions(made)).toEqual([]);
      await stage.under.ageRemovals(NAME_RESTS_MS);
      await accounts.createNamespace(namespace, entry('create again'));
      await record({ action: 'keys.create', namespace: 'one', subject: { kind: 'key', id: 'l' } }, {});
      expect(await actions(made)).toEqual(['jobs.update', 'keys.create', 'create again']);
      expect(await actions({ ...made, action: 'keys.create' })).toEqual(['keys.create']);
      expect(await actions({ ...made, subjectId: 'k' })).toEqual([]);
      expect(await actions({ ...made, subjectId: 'l' })).toEqual(['keys.create']);
      expect(await actions({ namespaces: ['one'] })).toHaveLength(5);
      expect(await actions({ namespaces: ['one'], action: 'keys.create' })).toHaveLength(2);
    });

    it('finds what a person did by them, and by what they came with', async () => {
      const via = { kind: 'key', id: 'k7', name: 'login' } as const;
      const session = { kind: 'session', id: 's1', name: undefined } as const;
      const bob = { kind: 'user', id: 'u7', name: 'bob' } as const;
      await record(
        { action: 'a', actor: { ...bob, via } },
        { action: 'b', actor: { ...bob, via: session } },
        { action: 'c', actor: bob },
      );
      for (const actor of ['bob', 'u7']) expect(await actions({ actor })).toEqual(['c', 'b', 'a']);
      for (const actor of ['k7', 'login']) expect(await actions({ actor })).toEqual(['a']);
      expect(await actions({ actor: 's1' })).toEqual(['b']);
      const [c, b, a] = await stage.world.storage.audit.list({ limit: 9 });
      expect([a!.actor.via, b!.actor.via, c!.actor.via]).toEqual([via, session, undefined]);
    });

    it('is searched by every filter, and by several together', async () => {
      await record(
        { action: 'a', namespace: 'one', subject: { kind: 'job', id: 'x' } },
        { action: 'b', namespace: 'two', actor: { kind: 'key', id: 'k1', name: 'deploy' } },
        { action: 'c', namespace: undefined, atMs: BASE_MS + MINUTE_MS },
      );
      expect(await actions({ namespaces: ['one', 'two'] })).toEqual(['b', 'a']);
      expect(await actions({ namespaces: [] })).toEqual([]);
      expect(await actions({ actor: 'k1' })).toEqual(['b']);
      expect(await actions({ actor: 'deploy' })).toEqual(['b']);
      expect(await actions({ action: 'c' })).toEqual(['c']);
      expect(await actions({ subjectId: 'x' })).toEqual(['a']);
      expect(await actions({ subjectId: 'x', action: 'b' })).toEqual([]);
      expect(await actions({ fromMs: BASE_MS + 1 })).toEqual(['c']);
      expect(await actions({ untilMs: BASE_MS + 1 })).toEqual(['b', 'a']);
    });
  });
}
