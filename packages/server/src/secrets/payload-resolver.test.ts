import { randomBytes } from 'node:crypto';
import { ManualClock } from '@carillon/foundation';
import { beforeEach, describe, expect, test } from 'vitest';
import { batchOf } from '../../../worker/src/claimed-run.fixture.ts';
import { SecretSeal } from '../outgoing/secret-seal.ts';
import { MemoryStorage } from '../storage/memory/memory-storage.ts';
import type { SecretStore } from '../storage/secret-store.ts';
import { PayloadResolver } from './payload-resolver.ts';
import { sealSecret } from './sealed-secret.ts';
import { SecretValues } from './secret-values.ts';

const CACHED_MS = 5_000;
let clock: ManualClock;
let store: SecretStore;
let seal: SecretSeal;
let values: SecretValues;
let resolver: PayloadResolver;
/** How often the storage was read. */
let reads: number;

beforeEach(() => {
  clock = new ManualClock();
  store = new MemoryStorage({ clock }).secrets;
  seal = new SecretSeal(randomBytes(32).toString('base64'));
  reads = 0;
  const counting = {
    findSecrets: (...asked: Parameters<SecretStore['findSecrets']>) => {
      reads += 1;
      return store.findSecrets(...asked);
    },
  };
  values = new SecretValues({ store: counting, seal, clock });
  resolver = new PayloadResolver({ values, clock });
});

async function put(name: string, value: string, { version = 1, by = seal } = {}): Promise<void> {
  const secret = { namespace: 'default', name, version, masked: true };
  const people = { createdAtMs: 0, createdBy: 'ann', updatedAtMs: 0, updatedBy: 'ann' };
  const stored = { ...secret, ...people, value: sealSecret(by, value, secret) };
  expect(await store.putSecret(stored, { secretsMax: 10 })).toBe('put');
}

const named = (payload: object, namespace: string | undefined = 'default') => ({
  payload: JSON.stringify(payload),
  namespace,
});

test('puts values into payloads, escaped, and says what they were', async () => {
  await put('token', 'a"b\\c\nd é');
  await put('other', 'plain');
  const batch = batchOf(
    named({ a: 'Bearer {{secrets.token}}', b: ['{{secrets.other}}{{secrets.token}}'], c: '{{!secrets.x}}' }),
    { payload: '{"n":1}' },
  );
  expect(resolver.concerns(batch)).toBe(true);
  const { runs } = await resolver.resolve(batch);
  expect(JSON.parse(runs[0]!.payload)).toEqual({
    a: 'Bearer a"b\\c\nd é',
    b: ['plaina"b\\c\nd é'],
    c: '{{secrets.x}}',
  });
  expect(runs[0]!.secrets).toEqual(['a"b\\c\nd é', 'plain']);
  expect(runs[1]).toBe(batch.runs[1]);
});

test('leaves batches alone that name no secrets', () => {
  expect(resolver.concerns(batchOf({ payload: '{"a":"{{ secrets.x }}"}' }))).toBe(false);
});

describe('a run that cannot be given its secrets', () => {
  test('ends with the name of the one that is not there, and the others of its batch go on', async () => {
    await put('token', 'a value');
    const { runs } = await resolver.resolve(
      batchOf(named({ a: '{{secrets.gone}}' }), named({ a: '{{secrets.token}}' }), { payload: '{}' }),
    );
    expect(runs[0]!.failure).toEqual({
      kind: 'FAILED',
      error: 'there is no secret gone any more',
      retryable: false,
    });
    expect(runs.map(({ failure, payload }) => [failure?.kind, payload])).toEqual([
      ['FAILED', '{}'],
      [undefined, '{"a":"a value"}'],
      [undefined, '{}'],
    ]);
  });

  test('ends alike where no claim has named its namespace: then there is no secret at all', async () => {
    const { runs } = await resolver.resolve(batchOf(named({ a: '{{secrets.token}}' }, undefined)));
    expect(runs[0]!.failure).toMatchObject({ kind: 'FAILED', error: 'there is no secret token any more' });
  });

  test('is tried again where the key of the server is another one', async () => {
    await put('token', 'a value', { by: new SecretSeal(randomBytes(32).toString('base64')) });
    const { runs } = await resolver.resolve(batchOf(named({ a: '{{secrets.token}}' })));
    expect(runs[0]!.failure).toEqual({
      kind: 'FAILED',
      error: 'the secret token cannot be read: secrets.key_file is not the one it was encrypted with',
      retryable: true,
    });
  });

  test('is given back while the storage does not answer, and the others go on', async () => {
    const failing = new SecretValues({
      store: { findSecrets: () => Promise.reject(new Error('connection refused')) },
      ...{ seal, clock },
    });
    const batch = batchOf(named({ a: '{{secrets.token}}' }), { payload: '{"n":1}' });
    const { runs } = await new PayloadResolver({ values: failing, clock }).resolve(batch);
    expect(runs[0]!.failure).toMatchObject({ kind: 'RETURNED', error: expect.stringContaining('refused') });
    expect(runs[1]).toBe(batch.runs[1]);
  });

  test('holds up its batch for two seconds at most', async () => {
    const silent = new SecretValues({ store: { findSecrets: () => new Promise(() => {}) }, seal, clock });
    const resolving = new PayloadResolver({ values: silent, clock }).resolve(
      batchOf(named({ a: '{{secrets.token}}' })),
    );
    clock.advance(2_000);
    expect((await resolving).runs[0]!.failure).toMatchObject({ kind: 'RETURNED' });
  });

  test('ends where a script job of earlier names a secret in its arguments', async () => {
    await put('token', 'a value');
    const payload = { script: 'echo', args: ['{{secrets.token}}'] };
    const { runs } = await resolver.resolve(
      batchOf({ ...named(payload), handler: 'script' }, { ...named(payload), handler: 'other' }),
    );
    expect(runs[0]).toMatchObject({
      payload: '{}',
      failure: { kind: 'FAILED', retryable: false, error: expect.stringContaining('payload.args[0]') },
    });
    expect(runs[0]!.secrets).toBeUndefined();
    expect(runs[1]!.payload).toContain('a value');
  });

  test('ends where its payload would be too large', async () => {
    await put('large', 'x'.repeat(60_000));
    const { runs } = await resolver.resolve(batchOf(named({ a: '{{secrets.large}}'.repeat(20) })));
    expect(runs[0]!.failure).toMatchObject({ kind: 'FAILED', error: expect.stringContaining('1 MiB') });
  });

  test('ends where its secrets are too large together, each counted once', async () => {
    await put('one', 'é'.repeat(20_000));
    await put('two', 'x'.repeat(25_536));
    await put('three', 'x');
    const { runs } = await resolver.resolve(
      batchOf(
        named({ a: '{{secrets.one}}{{secrets.two}}{{secrets.one}}' }),
        named({ a: '{{secrets.one}}{{secrets.two}}{{secrets.three}}' }),
      ),
    );
    expect(runs[0]!.failure).toBeUndefined();
    expect(runs[1]!.failure).toEqual({
      kind: 'FAILED',
      error: 'the secrets of the payload have more than 65536 bytes together',
      retryable: false,
    });
  });

  test('is told so by its bytes, of which a character may have several', async () => {
    await put('kanji', '漢'.repeat(20_000));
    const { runs } = await resolver.resolve(
      batchOf(named({ a: '{{secrets.kanji}}'.repeat(17) }), named({ a: '{{secrets.kanji}}'.repeat(18) })),
    );
    expect(Buffer.byteLength(runs[0]!.payload)).toBeGreaterThan(1_000_000);
    expect(runs[1]!.failure).toMatchObject({ kind: 'FAILED', error: expect.stringContaining('1 MiB') });
  });
});

test('values are read once in a while, and what was set here counts at once', async () => {
  await put('token', 'first');
  const resolved = async () =>
    (await resolver.resolve(batchOf(named({ a: '{{secrets.token}}' })))).runs[0]!.payload;
  expect(await resolved()).toBe('{"a":"first"}');
  expect(await resolved()).toBe('{"a":"first"}');
  expect(reads).toBe(1);
  await put('token', 'second', { version: 2 });
  expect(await resolved()).toBe('{"a":"first"}');
  clock.advance(CACHED_MS);
  expect(await resolved()).toBe('{"a":"second"}');
  await put('token', 'third', { version: 3 });
  values.forget('default', 'token');
  expect(await resolved()).toBe('{"a":"third"}');
});

test('a row cannot stand in for another: its value opens for its own namespace, name and version', async () => {
  await put('mine', 'a value');
  const [stored] = await store.findSecrets('default', ['mine']);
  await store.putSecret({ ...stored!, name: 'theirs' }, { secretsMax: 10 });
  const { runs } = await resolver.resolve(batchOf(named({ a: '{{secrets.theirs}}' })));
  expect(runs[0]!.failure).toMatchObject({
    kind: 'FAILED',
    error: expect.stringContaining('cannot be read'),
  });
});
