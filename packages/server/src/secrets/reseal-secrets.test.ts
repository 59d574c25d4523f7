import { randomBytes } from 'node:crypto';
import { ManualClock, silentLog } from '@carillon/foundation';
import { expect, test } from 'vitest';
import { SecretSeal } from '../outgoing/secret-seal.ts';
import { MemoryStorage } from '../storage/memory/memory-storage.ts';
import { resealSecrets } from './reseal-secrets.ts';
import { openSecret, sealSecret } from './sealed-secret.ts';

const keyText = () => randomBytes(32).toString('base64');

test('what an earlier key encrypted is encrypted with the first one, and needs the earlier no more', async () => {
  const [first, old, lost] = [keyText(), keyText(), keyText()];
  const store = new MemoryStorage({ clock: new ManualClock() }).secrets;
  const put = async (name: string, key: string) => {
    const secret = { namespace: 'default', name, version: 1, masked: true };
    const people = { createdAtMs: 0, createdBy: 'ann', updatedAtMs: 0, updatedBy: 'ann' };
    const value = sealSecret(new SecretSeal(key), `value of ${name}`, secret);
    await store.putSecret({ ...secret, ...people, value }, { secretsMax: 1_000 });
  };
  for (let i = 0; i < 150; i += 1) await put(`old-${i}`, old);
  await put('first', first);
  await put('lost', lost);
  const warned: unknown[] = [];
  const log = { ...silentLog, warn: (facts: object) => void warned.push(facts) };
  expect(await resealSecrets({ store, seal: new SecretSeal(`${first}\n${old}`), log })).toBe(150);
  expect(warned).toMatchObject([{ name: 'lost' }]);
  const [sealed] = await store.findSecrets('default', ['old-7']);
  expect(openSecret(new SecretSeal(first), sealed!)).toBe('value of old-7');
  expect(await resealSecrets({ store, seal: new SecretSeal(first), log: silentLog })).toBe(0);
  expect(await resealSecrets({ store, seal: new SecretSeal(), log: silentLog })).toBe(0);
});
