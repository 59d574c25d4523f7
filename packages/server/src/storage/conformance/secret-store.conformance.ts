/** The promises of SecretStore: versions that only grow by one, secrets that go with their namespace, and what a claim says of them. */
import { describe, expect, it } from 'vitest';
import { NamespaceGone } from '../account-store.ts';
import type { StoredSecret } from '../secret-store.ts';
import { ENTRY } from './audit-store.conformance.ts';
import { newId } from './sample-job.ts';
import { BASE_MS, type MakeStorage, MINUTE_MS } from './storage-under-test.ts';
import { useStorageWorld } from './storage-world.ts';

export function describeSecretStore(makeStorage: MakeStorage): void {
  describe('secret store', () => {
    const stage = useStorageWorld(makeStorage);
    const store = () => stage.world.storage.secrets;
    const sample = (over: Partial<StoredSecret> = {}): StoredSecret => ({
      ...{ namespace: 'default', name: 'token', version: 1, masked: true, value: 'sealed-1' },
      ...{ createdAtMs: BASE_MS, createdBy: 'ann', updatedAtMs: BASE_MS, updatedBy: 'ann', ...over },
    });
    const put = (secret: StoredSecret, secretsMax = 5) => store().putSecret(secret, { secretsMax });

    it('secrets are listed by name without values, and found with them', async () => {
      const [token, api] = [sample(), sample({ name: 'api.key', value: 'sealed-2', masked: false })];
      expect(await put(token)).toBe('put');
      expect(await put(api)).toBe('put');
      expect(await store().findSecrets('default', ['token', 'nothing'])).toEqual([token]);
      const listed = await store().secrets('default');
      expect(listed.map(({ name, masked }) => [name, masked])).toEqual([
        ['api.key', false],
        ['token', true],
      ]);
      expect(JSON.stringify(listed)).not.toContain('sealed');
      expect(await store().secrets('other')).toEqual([]);
      expect(await store().findSecrets('other', ['token'])).toEqual([]);
    });

    it('a new value has the next version, and who made the secret first stays known', async () => {
      await put(sample());
      const next = sample({
        version: 2,
        value: 'sealed-2',
        updatedAtMs: BASE_MS + MINUTE_MS,
        updatedBy: 'bob',
      });
      expect(await put({ ...next, createdAtMs: next.updatedAtMs, createdBy: 'bob' })).toBe('put');
      expect(await store().findSecrets('default', ['token'])).toEqual([next]);
    });

    it('of two who set the same version one is told that it has changed', async () => {
      const both = await Promise.all([put(sample({ value: 'a' })), put(sample({ value: 'b' }))]);
      expect(both.sort()).toEqual(['changed', 'put']);
      expect(await put(sample({ version: 3 }))).toBe('changed');
      expect((await store().secrets('default')).map(({ version }) => version)).toEqual([1]);
    });

    it('there are never more than are allowed; those that are there can be set', async () => {
      const puts = await Promise.all(['a', 'b', 'c'].map((name) => put(sample({ name }), 2)));
      expect(puts.sort()).toEqual(['full', 'put', 'put']);
      const [{ name }] = (await store().secrets('default')) as [StoredSecret];
      expect(await put(sample({ name, version: 2 }), 2)).toBe('put');
    });

    it('a secret belongs to a namespace that is there, and goes with it', async () => {
      await expect(put(sample({ namespace: 'nowhere' }))).rejects.toThrow(NamespaceGone);
      const { accounts } = stage.world.storage;
      await accounts.createNamespace({ name: 'billing', description: '', createdAtMs: BASE_MS });
      await put(sample({ namespace: 'billing' }));
      expect(await accounts.removeNamespace('billing')).toBe('removed');
      expect(await store().secrets('billing')).toEqual([]);
    });

    it('a change and its entry of the audit log are written together', async () => {
      const options = { secretsMax: 1, audit: ENTRY };
      expect(await store().putSecret(sample(), options)).toBe('put');
      expect(await store().putSecret(sample(), options)).toBe('changed');
      expect(await store().putSecret(sample({ name: 'other' }), options)).toBe('full');
      expect(await store().removeSecret(sample(), ENTRY)).toBe(true);
      expect(await store().removeSecret(sample(), ENTRY)).toBe(false);
      const query = { namespaces: undefined, sinceMade: false, limit: 9 };
      expect(await stage.world.storage.audit.list(query)).toHaveLength(2);
    });

    it('values that are sealed otherwise are found page by page, and sealed anew unless they have changed', async () => {
      const [a, b, c] = [
        sample({ name: 'a', value: 'old-1' }),
        sample({ name: 'b', value: 'new-1' }),
        sample({ name: 'c', value: 'old-2' }),
      ];
      for (const secret of [a, b, c]) await put(secret);
      expect(await store().secretsSealedOtherwise('new-', { limit: 1 })).toEqual([a]);
      expect(await store().secretsSealedOtherwise('new-', { after: a, limit: 9 })).toEqual([c]);
      expect(await store().resealSecret(a, 'new-2')).toBe(true);
      expect(await store().resealSecret(a, 'new-3')).toBe(false);
      expect(await store().findSecrets('default', ['a'])).toEqual([{ ...a, value: 'new-2' }]);
    });

    it('a claim names the namespace of runs whose payload names secrets, while there is one', async () => {
      const { world } = stage;
      const claimed = async (payload: string) => {
        const { job } = await world.oneOff({ job: { handler: 'script', payload, userId: newId() } });
        const { runs } = await world.claim(await world.pendingRuns(job));
        return runs.map(({ namespace }) => namespace);
      };
      const [naming, plain] = ['{"a":"{{secrets.token}}"}', '{"a":"secrets"}'];
      const large = JSON.stringify({ a: '{{secrets.token}}', b: 'x'.repeat(20_000) });
      expect(await claimed(naming)).toEqual([undefined]);
      await put(sample());
      expect(await claimed(naming)).toEqual(['default']);
      expect(await claimed(large)).toEqual(['default']);
      expect(await claimed(plain)).toEqual([undefined]);
    });
  });
}
