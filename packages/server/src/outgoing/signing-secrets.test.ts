import { ManualClock } from '@carillon/foundation';
import { beforeEach, expect, test } from 'vitest';
import type { StoredSigningKey } from '../storage/signing-key-store.ts';
import { SecretSeal } from './secret-seal.ts';
import { SigningSecrets } from './signing-secrets.ts';

const START_MS = Date.UTC(2030, 0, 1);
const seal = new SecretSeal();
let clock: ManualClock;
let stored: StoredSigningKey[];
let reads: number;
let fails: boolean;
let secrets: SigningSecrets;

const key = (text: string, over: Partial<StoredSigningKey> = {}): StoredSigningKey => ({
  ...{ signingKeyId: text, namespace: 'team', secret: seal.seal(Buffer.from(text).toString('base64'), text) },
  ...{ createdAtMs: START_MS, startsAtMs: START_MS, endsAtMs: undefined, ...over },
});
const texts = async () => (await secrets.of('team')).map((secret) => Buffer.from(secret).toString());

beforeEach(() => {
  clock = new ManualClock(START_MS);
  stored = [];
  reads = 0;
  fails = false;
  const signingKeys = async () => {
    reads += 1;
    if (fails) throw new Error('the database is away');
    return stored;
  };
  secrets = new SigningSecrets({ store: { signingKeys }, seal, clock });
});

test('keys sign from their start to their end', async () => {
  stored = [key('old', { endsAtMs: START_MS + 2_000 }), key('next', { startsAtMs: START_MS + 1_000 })];
  expect(await texts()).toEqual(['old']);
  clock.advance(1_000);
  expect(await texts()).toEqual(['old', 'next']);
  clock.advance(1_000);
  expect(await texts()).toEqual(['next']);
  expect(reads).toBe(1);
});

test('runs that start together share one read, and a change is seen after five seconds', async () => {
  stored = [key('first')];
  expect(await Promise.all([texts(), texts(), texts()])).toEqual([['first'], ['first'], ['first']]);
  stored = [key('first'), key('second')];
  clock.advance(4_999);
  expect(await texts()).toEqual(['first']);
  clock.advance(1);
  expect(await texts()).toEqual(['first', 'second']);
  expect(reads).toBe(2);
});

test('while the storage is away those last read count; without any the request cannot be signed', async () => {
  fails = true;
  await expect(texts()).rejects.toThrow('the database is away');
  fails = false;
  stored = [key('first')];
  expect(await texts()).toEqual(['first']);
  fails = true;
  clock.advance(60_000);
  expect(await texts()).toEqual(['first']);
});

test('a key that cannot be decrypted is named', async () => {
  stored = [{ ...key('sealed'), secret: 'aes-256-gcm:AAAA' }];
  await expect(texts()).rejects.toThrow('the signing key sealed cannot be read: it is encrypted');
});
