/** The promises of SigningKeyStore: keys of a namespace, how one replaces another, and what a claim says of them. */
import { describe, expect, it } from 'vitest';
import { NamespaceGone } from '../account-store.ts';
import type { StoredSigningKey } from '../signing-key-store.ts';
import { ENTRY } from './audit-store.conformance.ts';
import { newId } from './sample-job.ts';
import { BASE_MS, type MakeStorage, MINUTE_MS } from './storage-under-test.ts';
import { useStorageWorld } from './storage-world.ts';

export function describeSigningKeyStore(makeStorage: MakeStorage): void {
  describe('signing key store', () => {
    const stage = useStorageWorld(makeStorage);
    const store = () => stage.world.storage.signingKeys;
    const sample = (over: Partial<StoredSigningKey> = {}): StoredSigningKey => ({
      ...{ signingKeyId: newId(), namespace: 'default', secret: 'sealed' },
      ...{ createdAtMs: BASE_MS, startsAtMs: BASE_MS, endsAtMs: undefined, ...over },
    });
    const add = (key: StoredSigningKey, options: { keysMax?: number; othersEndAtMs?: number } = {}) =>
      store().addSigningKey(key, { keysMax: 3, othersEndAtMs: undefined, ...options });

    it('keys are read with their secrets, oldest first, and one by one without', async () => {
      const [first, second] = [
        sample(),
        sample({ secret: 'other', startsAtMs: BASE_MS + 5, endsAtMs: BASE_MS + 9 }),
      ];
      expect(await add(first)).toBe(true);
      expect(await add(second)).toBe(true);
      expect(await store().signingKeys('default')).toEqual([first, second]);
      expect(await store().signingKeys('other')).toEqual([]);
      const { secret: _, ...key } = second;
      expect(await store().signingKey(second.signingKeyId)).toEqual(key);
      expect(await store().signingKey(newId())).toBeUndefined();
    });

    it('a new key ends the others at the given instant, or earlier where they end earlier', async () => {
      const [lasting, ending] = [sample(), sample({ endsAtMs: BASE_MS + 5 })];
      await add(lasting);
      await add(ending);
      const next = sample();
      await add(next, { othersEndAtMs: BASE_MS + MINUTE_MS });
      expect((await store().signingKeys('default')).map(({ endsAtMs }) => endsAtMs)).toEqual([
        BASE_MS + MINUTE_MS,
        BASE_MS + 5,
        undefined,
      ]);
    });

    it('there are never more than are allowed, not even for a moment; what has ended is forgotten', async () => {
      expect(await Promise.all([1, 2, 3].map(() => add(sample(), { keysMax: 2 })))).toHaveLength(3);
      const kept = await store().signingKeys('default');
      expect(kept).toHaveLength(2);
      expect(await add(sample(), { keysMax: 2, othersEndAtMs: BASE_MS + 1 })).toBe(false);
      expect(await store().signingKeys('default')).toEqual(kept);
      await store().removeSigningKey(kept[0]!.signingKeyId);
      await add(sample(), { keysMax: 2, othersEndAtMs: BASE_MS + 1 });
      const later = sample({ createdAtMs: BASE_MS + 1 });
      expect(await add(later, { keysMax: 2 })).toBe(true);
      expect(await store().signingKeys('default')).toHaveLength(2);
    });

    it('a key belongs to a namespace that is there, and goes with it', async () => {
      await expect(add(sample({ namespace: 'nowhere' }))).rejects.toThrow(NamespaceGone);
      const { accounts } = stage.world.storage;
      await accounts.createNamespace({ name: 'billing', description: '', createdAtMs: BASE_MS });
      const key = sample({ namespace: 'billing' });
      await add(key);
      expect(await accounts.removeNamespace('billing')).toBe('removed');
      expect(await store().signingKey(key.signingKeyId)).toBeUndefined();
    });

    it('a claim names the namespace of http runs, while there is a key', async () => {
      const { world } = stage;
      const claimed = async (handler: string) => {
        const { job } = await world.oneOff({ job: { handler, userId: newId() } });
        const { runs } = await world.claim(await world.pendingRuns(job));
        return runs.map(({ namespace }) => namespace);
      };
      expect(await claimed('http')).toEqual([undefined]);
      await add(sample());
      expect(await claimed('http')).toEqual(['default']);
      expect(await claimed('script')).toEqual([undefined]);
    });

    it('a change and its entry of the audit log are written together', async () => {
      const key = sample();
      await store().addSigningKey(key, { keysMax: 1, othersEndAtMs: undefined, audit: ENTRY });
      await store().addSigningKey(sample(), { keysMax: 1, othersEndAtMs: undefined, audit: ENTRY });
      expect(await store().removeSigningKey(key.signingKeyId, ENTRY)).toBe(true);
      expect(await store().removeSigningKey(key.signingKeyId, ENTRY)).toBe(false);
      const entries = await stage.world.storage.audit.list({
        namespaces: undefined,
        sinceMade: false,
        limit: 9,
      });
      expect(entries).toHaveLength(2);
    });
  });
}
