import { type ApiKey, type Grant, SERVER } from '@carillon/domain';
import { beforeEach, describe, expect, it } from 'vitest';
import { OperationsFixture } from '../operations/operations.fixture.ts';
import { FAILURES_MAX } from './failure-budget.ts';
import { CACHED_MS, Identities } from './identities.ts';
import { hashSecret, withChecksum } from './secrets.ts';

const ORIGIN = SERVER.origin;
const EDITOR: Grant = { namespace: 'default', role: 'editor', ownOnly: false };
const HOUR_MS = 3_600_000;

let fixture: OperationsFixture;
/** A second server over the same storage. */
let there: Identities;
let reads: string[];

beforeEach(() => {
  fixture = new OperationsFixture();
  reads = [];
  const { accounts } = fixture.storage;
  const store = {
    keyToCheck: (prefix: string) => {
      reads.push(prefix);
      return accounts.keyToCheck(prefix);
    },
    sessionToCheck: accounts.sessionToCheck.bind(accounts),
    noteUses: accounts.noteUses.bind(accounts),
    credentialNames: (nowMs: number) => {
      reads.push('all');
      return accounts.credentialNames(nowMs);
    },
  };
  there = new Identities({ store, clock: fixture.clock, sessionIdleMs: HOUR_MS });
});

const here = () => fixture.accounts.identities;
const from7 = { ...ORIGIN, address: '203.0.113.7' };
const refused = { code: 'unauthorized', message: 'The key is not valid.' };

async function newKey(over: Partial<{ expiresAtMs: number; ownerId: string; grants: Grant[] }> = {}) {
  return fixture.operations.createKey({ name: 'deploy', grants: [EDITOR], ...over });
}

async function newUser(grants: readonly Grant[] = [EDITOR]) {
  return fixture.operations.createUser({ name: 'ada', grants, password: 'a long phrase' });
}

describe('a key', () => {
  it('stands for what it was made for', async () => {
    const { key, secret } = await newKey();
    expect(await here().ofKey(secret, ORIGIN)).toMatchObject({
      ...{ kind: 'key', id: key.keyId, name: 'deploy', userId: undefined, grants: [EDITOR] },
      origin: ORIGIN,
    });
  });

  it('is not any other one: unknown, malformed and half right are refused with the same words', async () => {
    const { key } = await newKey();
    const halfRight = withChecksum(`${key.prefix}_${'a'.repeat(43)}`);
    const unknown = withChecksum(`ck2_zzzzzzzzzz_${'a'.repeat(43)}`);
    for (const guess of [halfRight, unknown, 'ck_aaaaaaaaaa_x', `ck_zzzzzzzzzz_${'a'.repeat(43)}`, '']) {
      await expect(here().ofKey(guess, ORIGIN)).rejects.toMatchObject(refused);
    }
  });

  it('that is mistyped is told so, whether there is such a key or not, without a question', async () => {
    const { secret } = await newKey();
    const other = (letter: string) => (letter === 'A' ? 'B' : 'A');
    const mistyped = [
      `${secret.slice(0, -1)}${other(secret.at(-1)!)}`,
      `${secret.slice(0, 20)}${other(secret[20]!)}${secret.slice(21)}`,
      `ck2_zzzzzzzzzz_${'a'.repeat(49)}`,
    ];
    for (const guess of mistyped) {
      await expect(there.ofKey(guess, ORIGIN)).rejects.toThrow('mistyped or incomplete');
    }
    await expect(there.ofKey(secret.slice(0, -1), ORIGIN)).rejects.toThrow('mistyped or incomplete');
    expect(reads).toEqual([]);
  });

  it('made by an earlier version, without a checksum, goes on', async () => {
    const { key } = await newKey();
    const old = `ck_aaaaaaaaaa_${'b'.repeat(43)}`;
    const stored = { ...key, keyId: fixture.random.id(), prefix: 'ck_aaaaaaaaaa' };
    await fixture.storage.accounts.createKey(stored, hashSecret(old));
    expect(await here().ofKey(old, ORIGIN)).toMatchObject({ id: stored.keyId });
  });

  it('guessed at random costs no more questions than its address has a budget for', async () => {
    const { secret } = await newKey();
    const from = (address: string) => ({ ...ORIGIN, address });
    const guess = (n: number) =>
      withChecksum(`ck2_guess${String(n).padStart(5, '0')}_${String(n).padStart(43, 'x')}`);
    const answers = await Promise.allSettled(
      Array.from({ length: 1_000 }, (_, n) => there.ofKey(guess(n), from('198.51.100.7'))),
    );
    const codes = answers.map((answer) => answer.status === 'rejected' && answer.reason.code);
    expect(codes.filter((code) => code === 'unauthorized')).toHaveLength(FAILURES_MAX);
    expect(codes.filter((code) => code === 'rate_limited')).toHaveLength(1_000 - FAILURES_MAX);
    // One more for all that are valid, however many guesses follow.
    expect(reads).toHaveLength(FAILURES_MAX + 1);
    // The same ones again are known not to exist.
    await expect(there.ofKey(guess(0), from('198.51.100.7'))).rejects.toMatchObject(refused);
    // Others go on, and so does a guesser who waits.
    await there.ofKey(secret, from('203.0.113.9'));
    fixture.clock.advance(2_000);
    await expect(there.ofKey(guess(2_000), from('198.51.100.7'))).rejects.toMatchObject(refused);
    await expect(there.ofKey(guess(2_001), from('198.51.100.7'))).rejects.toMatchObject({
      code: 'rate_limited',
      retryAfterSeconds: 2,
    });
    expect(reads).toHaveLength(FAILURES_MAX + 3);
  });

  it('works while somebody guesses from the same address, also when it was not used here before', async () => {
    const [{ secret }, { secret: unused, key }] = [await newKey(), await newKey()];
    await newUser();
    const session = await fixture.operations.signIn({ name: 'ada', password: 'a long phrase' });
    await there.ofKey(secret, ORIGIN);
    for (let n = 0; n < FAILURES_MAX; n += 1) {
      const guess = withChecksum(`ck2_guess${String(n).padStart(5, '0')}_${'x'.repeat(43)}`);
      await expect(there.ofKey(guess, ORIGIN)).rejects.toMatchObject(refused);
    }
    fixture.clock.advance(CACHED_MS);
    for (const token of Array.from({ length: 5 }, (_, n) => String(n).repeat(43)))
      await there.ofSession(token, ORIGIN).catch(() => undefined);
    expect(await there.ofKey(secret, ORIGIN)).toBeDefined();
    expect(await there.ofKey(unused, ORIGIN)).toMatchObject({ id: key.keyId });
    expect(await there.ofSession(session.token, ORIGIN)).toMatchObject({ kind: 'user' });
    const wrong = withChecksum(`${key.prefix}_${'x'.repeat(43)}`);
    await expect(there.ofKey(wrong, ORIGIN)).rejects.toMatchObject(refused);
    const guess = withChecksum(`ck2_guesswork1_${'x'.repeat(43)}`);
    await expect(there.ofKey(guess, ORIGIN)).rejects.toMatchObject({ code: 'rate_limited' });
    expect(reads.filter((read) => read === 'all')).toHaveLength(1);
  });

  it('has two secrets while it is rotated, and one after that', async () => {
    const { key, secret } = await newKey();
    await there.ofKey(secret, from7);
    await there.recordUses();
    const rotated = await fixture.operations.rotateKey(key.keyId, { overlapMs: HOUR_MS });
    for (const each of [secret, rotated.secret]) {
      expect(await there.ofKey(each, from7)).toMatchObject({ id: key.keyId, grants: [EDITOR] });
    }
    expect(rotated.key).toMatchObject({
      keyId: key.keyId,
      previous: { prefix: key.prefix, expiresAtMs: fixture.clock.now() + HOUR_MS },
    });
    fixture.clock.advance(HOUR_MS - 1);
    await there.ofKey(secret, from7);
    await there.recordUses();
    expect(await fixture.operations.getKey(key.keyId)).toMatchObject({
      lastUsedAddress: '203.0.113.7',
      previous: { lastUsedAtMs: fixture.clock.now() },
    });
    fixture.clock.advance(1);
    await expect(there.ofKey(secret, from7)).rejects.toThrow('was rotated');
    await there.ofKey(rotated.secret, from7);
    const again = await fixture.operations.rotateKey(key.keyId, { overlapMs: 0 });
    await expect(here().ofKey(rotated.secret, from7)).rejects.toThrow('was rotated');
    await expect(here().ofKey(secret, from7)).rejects.toMatchObject(refused);
    await here().ofKey(again.secret, from7);
  });

  it('costs one question to the storage in a while, however often it is used', async () => {
    const { secret } = await newKey();
    await Promise.all(Array.from({ length: 50 }, () => there.ofKey(secret, ORIGIN)));
    for (let i = 0; i < 50; i += 1) await there.ofKey(secret, ORIGIN);
    expect(reads).toHaveLength(1);
    fixture.clock.advance(CACHED_MS);
    await there.ofKey(secret, ORIGIN);
    expect(reads).toHaveLength(2);
  });

  it('that nobody has costs one question as well', async () => {
    const unknown = withChecksum(`ck2_zzzzzzzzzz_${'a'.repeat(43)}`);
    for (let i = 0; i < 20; i += 1) await expect(there.ofKey(unknown, ORIGIN)).rejects.toMatchObject(refused);
    expect(reads).toHaveLength(1);
  });

  it('that is revoked stops at once where that was done, elsewhere within seconds', async () => {
    const { key, secret } = await newKey();
    await here().ofKey(secret, ORIGIN);
    await there.ofKey(secret, ORIGIN);
    await fixture.operations.revokeKey(key.keyId);
    await expect(here().ofKey(secret, ORIGIN)).rejects.toMatchObject(refused);
    await there.ofKey(secret, ORIGIN);
    fixture.clock.advance(CACHED_MS);
    await expect(there.ofKey(secret, ORIGIN)).rejects.toMatchObject(refused);
  });

  it('that is revoked while it is being looked up is not remembered', async () => {
    const { key, secret } = await newKey();
    const asked = here().ofKey(secret, ORIGIN);
    here().forget();
    await asked;
    await fixture.storage.accounts.removeKey(key.keyId);
    await expect(here().ofKey(secret, ORIGIN)).rejects.toMatchObject(refused);
  });

  it('ends when it expires, also while it is remembered', async () => {
    const { secret } = await newKey({ expiresAtMs: fixture.clock.now() + 1_000 });
    await here().ofKey(secret, ORIGIN);
    fixture.clock.advance(1_000);
    await expect(here().ofKey(secret, ORIGIN)).rejects.toMatchObject({ message: 'The key has expired.' });
  });

  it('of somebody carries no more than they have now, and their user_id', async () => {
    const { userId } = await newUser([EDITOR, { namespace: '*', role: 'viewer', ownOnly: true }]);
    const { secret } = await newKey({
      ownerId: userId,
      grants: [{ ...EDITOR, namespace: '*', role: 'operator' }],
    });
    expect(await here().ofKey(secret, ORIGIN)).toMatchObject({
      userId,
      grants: [
        { namespace: '*', role: 'viewer', ownOnly: true },
        { namespace: 'default', role: 'operator', ownOnly: false },
      ],
    });
    await fixture.operations.setGrants(userId, []);
    expect((await here().ofKey(secret, ORIGIN)).grants).toEqual([]);
    await fixture.operations.updateUser(userId, { disabled: true });
    await expect(here().ofKey(secret, ORIGIN)).rejects.toThrow('is disabled');
    await fixture.operations.deleteUser(userId);
    await expect(here().ofKey(secret, ORIGIN)).rejects.toMatchObject(refused);
  });

  it('is written down as used once in a while, and not while it is used', async () => {
    const { key, secret } = await newKey();
    const lastUsed = async () => (await fixture.operations.getKey(key.keyId)).lastUsedAtMs;
    for (let i = 0; i < 10; i += 1) await here().ofKey(secret, ORIGIN);
    expect(await lastUsed()).toBeUndefined();
    await fixture.accounts.runOnce();
    expect(await lastUsed()).toBe(fixture.clock.now());
  });

  it('keeps its time of use for later when the storage is away', async () => {
    const { key, secret } = await newKey();
    let away = true;
    const { accounts } = fixture.storage;
    const identities = new Identities({
      store: {
        keyToCheck: accounts.keyToCheck.bind(accounts),
        sessionToCheck: accounts.sessionToCheck.bind(accounts),
        credentialNames: accounts.credentialNames.bind(accounts),
        noteUses: async (uses) => {
          if (away) throw new Error('away');
          await accounts.noteUses(uses);
        },
      },
      clock: fixture.clock,
      sessionIdleMs: HOUR_MS,
    });
    await identities.ofKey(secret, ORIGIN);
    await expect(identities.recordUses()).rejects.toThrow('away');
    away = false;
    await identities.recordUses();
    expect((await accounts.key(key.keyId))!.lastUsedAtMs).toBe(fixture.clock.now());
  });
});

describe('what is stored of a key', () => {
  it('is its prefix and a hash, never the key', async () => {
    const { key, secret } = await newKey();
    const found = await fixture.storage.accounts.keyToCheck(key.prefix);
    expect(secret.startsWith(`${key.prefix}_`)).toBe(true);
    expect(found!.hash).toBe(hashSecret(secret));
    const texts = JSON.stringify([found, await fixture.storage.audit.list({ limit: 100 })] satisfies [
      { key: ApiKey } | undefined,
      unknown,
    ]);
    expect(texts).not.toContain(secret.slice(key.prefix.length + 1));
  });
});

describe('a session', () => {
  const signIn = async () =>
    (await fixture.operations.signIn({ name: 'ada', password: 'a long phrase' })).token;

  it('stands for the user as they are now', async () => {
    const { userId } = await newUser();
    const token = await signIn();
    expect(await here().ofSession(token, ORIGIN)).toMatchObject({
      kind: 'user',
      id: userId,
      grants: [EDITOR],
    });
    await fixture.operations.setGrants(userId, []);
    expect((await here().ofSession(token, ORIGIN)).grants).toEqual([]);
  });

  it('ends when it is left alone, and goes on while it is used', async () => {
    await newUser();
    const token = await signIn();
    for (let i = 0; i < 5; i += 1) {
      fixture.clock.advance(11 * HOUR_MS);
      await here().ofSession(token, ORIGIN);
    }
    fixture.clock.advance(12 * HOUR_MS);
    await expect(here().ofSession(token, ORIGIN)).rejects.toThrow('has ended');
  });

  it('ends after its longest time, however much it is used', async () => {
    await newUser();
    const token = await signIn();
    for (let i = 0; i < 7 * 24 - 1; i += 1) {
      fixture.clock.advance(HOUR_MS);
      await here().ofSession(token, ORIGIN);
    }
    fixture.clock.advance(HOUR_MS);
    await expect(here().ofSession(token, ORIGIN)).rejects.toThrow('has ended');
  });

  it('ends when somebody ends it: by signing out, by a new password, by disabling', async () => {
    const { userId } = await newUser();
    const ended = (token: string) => expect(here().ofSession(token, ORIGIN)).rejects.toThrow('has ended');
    const first = await signIn();
    const caller = await here().ofSession(first, ORIGIN);
    await fixture.everyones.signOut(caller, first);
    await ended(first);
    const second = await signIn();
    await fixture.operations.setPassword(userId, { password: 'another long phrase' });
    await ended(second);
    const { token: third } = await fixture.operations.signIn({
      name: 'ada',
      password: 'another long phrase',
    });
    await fixture.operations.updateUser(userId, { disabled: true });
    await ended(third);
  });

  it('is not anything that merely looks like its token', async () => {
    for (const guess of ['', 'x', 'a'.repeat(43), '\u0000'.repeat(43)])
      await expect(here().ofSession(guess, ORIGIN)).rejects.toThrow('has ended');
  });

  it('that has ended is cleared away', async () => {
    const { userId } = await newUser();
    await signIn();
    fixture.clock.advance(13 * HOUR_MS);
    await fixture.accounts.runOnce();
    expect(await fixture.storage.accounts.sessions({ userId, limit: 9 })).toEqual([]);
  });
});
