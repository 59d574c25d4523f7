/** The promises of AccountStore about sessions: found by the hash of their token, gone with whom they belong to. */
import type { Session } from '@carillon/domain';
import { describe, expect, it } from 'vitest';
import { readAs, sampleUser } from './account-store.conformance.ts';
import { ENTRY } from './audit-store.conformance.ts';
import { newId } from './sample-job.ts';
import { BASE_MS, HOUR_MS, MINUTE_MS } from './storage-under-test.ts';
import type { StorageWorld } from './storage-world.ts';

export function sampleSession(userId: string | undefined, over: Partial<Session> = {}): Session {
  return {
    sessionId: newId(),
    userId,
    userName: userId === undefined ? undefined : 'ada',
    method: userId === undefined ? 'ticket' : 'password',
    createdAtMs: BASE_MS,
    lastSeenAtMs: BASE_MS,
    expiresAtMs: BASE_MS + HOUR_MS,
    address: '203.0.113.7',
    userAgent: 'test',
    ...over,
  };
}

export function describeSessions(stage: { readonly world: StorageWorld }): void {
  const accounts = () => stage.world.storage.accounts;
  const newUser = async (name = 'ada') => {
    const user = sampleUser({ name });
    await accounts().createUser(user);
    return user;
  };

  const sessionsOf = (userId: string) => accounts().sessions({ userId, limit: 9 });

  it('where somebody has signed in from is known, until it is long ago or they are gone', async () => {
    const [ada, bob] = [await newUser('ada'), await newUser('bob')];
    const open = (userId: string, address: string | undefined, createdAtMs = BASE_MS) =>
      accounts().createSession(sampleSession(userId, { createdAtMs }), newId(), { address });
    await open(ada.userId, '203.0.113.7');
    await open(ada.userId, '203.0.113.7', BASE_MS + HOUR_MS);
    await open(ada.userId, '203.0.113.8');
    await open(bob.userId, '203.0.113.9');
    await open(bob.userId, undefined);
    const from = (name: string, address: string) => accounts().hasSignedInFrom(name, address);
    expect(await from('ada', '203.0.113.7')).toBe(true);
    expect(await from('ada', '203.0.113.9')).toBe(false);
    expect(await from('nobody', '203.0.113.7')).toBe(false);
    await accounts().forgetAddresses(BASE_MS + 1);
    expect(await from('ada', '203.0.113.7')).toBe(true);
    expect(await from('ada', '203.0.113.8')).toBe(false);
    await accounts().removeUser(ada.userId);
    await newUser('ada');
    expect(await from('ada', '203.0.113.7')).toBe(false);
  });

  it('an address is not remembered for a session that was not opened', async () => {
    const { userId } = await newUser();
    const opening = { address: '203.0.113.7', checkedPasswordHash: 'wrong', audit: ENTRY };
    expect(await accounts().createSession(sampleSession(userId), 'aa', opening)).toBe(false);
    expect(await accounts().hasSignedInFrom('ada', '203.0.113.7')).toBe(false);
    expect(await stage.world.storage.audit.list({ limit: 9 })).toEqual([]);
  });

  it('who signs in with a provider is known by issuer and subject, each once', async () => {
    const identity = { issuer: 'https://id.example', subject: 's1' };
    const ada = { ...sampleUser({ name: 'ada' }), identity };
    expect(await accounts().userWithIdentity(identity)).toBeUndefined();
    expect(await accounts().createUser(ada)).toBe(true);
    expect(await accounts().createUser({ ...sampleUser({ name: 'other' }), identity })).toBe(false);
    const elsewhere = { ...identity, issuer: 'https://other.example' };
    expect(await accounts().createUser({ ...sampleUser({ name: 'bob' }), identity: elsewhere })).toBe(true);
    expect(await accounts().userWithIdentity(identity)).toEqual(readAs(ada));
    expect((await accounts().userWithIdentity(elsewhere))?.name).toBe('bob');
    expect(await accounts().user(ada.userId)).toEqual(readAs(ada));
    expect((await accounts().user((await newUser('plain')).userId))?.identity).toBeUndefined();
    await accounts().changeUser(ada.userId, { displayName: 'Ada' }, BASE_MS);
    expect((await accounts().userWithIdentity(identity))?.displayName).toBe('Ada');
  });

  const useKey = (digest: string, { holder = newId(), nowMs = BASE_MS, unusedSinceMs = 0 } = {}) =>
    accounts().useAdminKey({ holder, digest }, { nowMs, unusedSinceMs });

  it('a ticket opens one session of nobody, before it expires', async () => {
    await useKey('k1');
    const add = (hash: string, expiresAtMs: number, nowMs = BASE_MS) =>
      accounts().addTicket({ hash, expiresAtMs, adminKey: 'k1' }, nowMs);
    const open = (ticketHash: string, hash: string = newId()) =>
      accounts().createSession(sampleSession(undefined), hash, { ticketHash, address: '203.0.113.7' });
    await add('t1', BASE_MS + 1);
    await add('t2', BASE_MS);
    expect(await open('t0')).toBe(false);
    expect(await open('t2')).toBe(false);
    const tries = await Promise.all(['a1', 'a2', 'a3'].map((hash) => open('t1', hash)));
    expect(tries.filter(Boolean)).toHaveLength(1);
    expect(await open('t1')).toBe(false);
    const found = await accounts().sessionToCheck(['a1', 'a2', 'a3'][tries.indexOf(true)]!);
    expect(found).toMatchObject({ user: undefined, session: { userId: undefined, method: 'ticket' } });
    expect(await accounts().sessions({ limit: 9 })).toEqual([found!.session]);
    expect(await accounts().session(found!.session.sessionId)).toEqual(found!.session);
    await add('t3', BASE_MS + HOUR_MS, BASE_MS);
    await add('t4', BASE_MS + HOUR_MS, BASE_MS + 1);
    expect(await open('t3')).toBe(true);
  });

  describe('an admin key', () => {
    const open = (hash: string, opening: { adminKey?: string; ticketHash?: string }) =>
      accounts().createSession(sampleSession(undefined), hash, opening);
    const isOpen = async (hash: string) => (await accounts().sessionToCheck(hash)) !== undefined;
    const addTicket = (hash: string, adminKey: string) =>
      accounts().addTicket({ hash, expiresAtMs: BASE_MS + HOUR_MS, adminKey }, BASE_MS);

    it('that its server replaces ends its sessions and tickets, also those that a ticket opened', async () => {
      const { userId } = await newUser();
      const holder = newId();
      await useKey('old', { holder });
      await useKey('other');
      for (const [ticket, key] of [
        ['t1', 'old'],
        ['t2', 'old'],
        ['t3', 'other'],
      ] as const)
        await addTicket(ticket, key);
      expect(await open('a1', { adminKey: 'old' })).toBe(true);
      expect(await open('a2', { ticketHash: 't1' })).toBe(true);
      expect(await open('a3', { adminKey: 'other' })).toBe(true);
      await accounts().createSession(sampleSession(userId), 'a4');
      // It says so again and again.
      await useKey('old', { holder, nowMs: BASE_MS + MINUTE_MS });
      expect(await isOpen('a1')).toBe(true);

      await useKey('new', { holder, nowMs: BASE_MS + HOUR_MS });
      const are = await Promise.all(['a1', 'a2', 'a3', 'a4'].map(isOpen));
      expect(are).toEqual([false, false, true, true]);
      expect(await accounts().sessions({ limit: 9 })).toHaveLength(2);
      expect(await open('a5', { ticketHash: 't2' })).toBe(false);
      expect(await open('a6', { ticketHash: 't3' })).toBe(true);
      expect(await open('a7', { adminKey: 'old' })).toBe(false);
      expect(await open('a8', { adminKey: 'new' })).toBe(true);
    });

    it('that several servers share is in use until the last of them has another', async () => {
      const [one, two] = [newId(), newId()];
      await useKey('shared', { holder: one });
      await useKey('shared', { holder: two });
      await open('a1', { adminKey: 'shared' });
      await useKey('new', { holder: one });
      expect(await isOpen('a1')).toBe(true);
      await useKey('new', { holder: two });
      expect(await isOpen('a1')).toBe(false);
    });

    it('of a server that has been away for long is not in use', async () => {
      await useKey('gone', { nowMs: BASE_MS });
      await open('a1', { adminKey: 'gone' });
      const later = { nowMs: BASE_MS + HOUR_MS };
      await useKey('here', { ...later, unusedSinceMs: BASE_MS });
      expect(await isOpen('a1')).toBe(true);
      await useKey('here', { ...later, unusedSinceMs: BASE_MS + 1 });
      expect(await isOpen('a1')).toBe(false);
    });

    it('is in use where a session of nobody is opened', async () => {
      await useKey('k');
      expect(await open('a1', {})).toBe(false);
      expect(await open('a2', { adminKey: 'unknown' })).toBe(false);
      expect(await accounts().sessions({ limit: 9 })).toEqual([]);
    });
  });

  describe('sessions', () => {
    it('is not opened for who was disabled, or whose password changed, while it was checked', async () => {
      const { userId } = await newUser();
      const open = (hash: string, checkedPasswordHash: string) =>
        accounts().createSession(sampleSession(userId), hash, { checkedPasswordHash });
      await accounts().changeUser(userId, { passwordHash: 'new' }, BASE_MS);
      expect(await open('a1', 'old')).toBe(false);
      expect(await open('a2', 'new')).toBe(true);
      await accounts().changeUser(userId, { disabled: true }, BASE_MS);
      expect(await open('a3', 'new')).toBe(false);
      expect(await accounts().sessionToCheck('a1')).toBeUndefined();
    });

    it('are found by the hash of their token, with the user as they are now', async () => {
      const user = await newUser();
      const session = sampleSession(user.userId, { address: undefined, userAgent: undefined });
      await accounts().createSession(session, 'aa');
      expect(await accounts().sessionToCheck('aa')).toEqual({ session, user: readAs(user) });
      expect(await accounts().sessionToCheck('bb')).toBeUndefined();
      expect(await accounts().session(session.sessionId)).toEqual(session);
      expect(await accounts().session(newId())).toBeUndefined();
    });

    it('are listed and ended one by one, or all but one', async () => {
      const [ada, bob] = [await newUser('ada'), await newUser('bob')];
      const sessions = ['aa', 'bb', 'cc'].map((hash) => ({ hash, session: sampleSession(ada.userId) }));
      for (const { session, hash } of sessions) await accounts().createSession(session, hash);
      await accounts().createSession(sampleSession(bob.userId), 'dd');
      expect(await sessionsOf(ada.userId)).toHaveLength(3);
      expect(await accounts().removeSession(sessions[0]!.session.sessionId)).toBe(true);
      expect(await accounts().removeSession(sessions[0]!.session.sessionId)).toBe(false);
      const end = (except?: string) =>
        accounts().changeUser(ada.userId, { endSessions: { except } }, BASE_MS);
      await end('cc');
      expect(await sessionsOf(ada.userId)).toEqual([sessions[2]!.session]);
      await end();
      expect(await sessionsOf(ada.userId)).toEqual([]);
      expect(await sessionsOf(bob.userId)).toHaveLength(1);
    });

    it('of everybody come newest first, page by page, without those that have ended', async () => {
      const [ada, bob] = [await newUser('ada'), await newUser('bob')];
      const open = [
        sampleSession(ada.userId),
        sampleSession(bob.userId, { userName: 'bob' }),
        sampleSession(ada.userId, { expiresAtMs: BASE_MS + 1 }),
        sampleSession(ada.userId, { lastSeenAtMs: BASE_MS - HOUR_MS }),
      ];
      for (const session of open) await accounts().createSession(session, newId());
      const alive = { expiresAfterMs: BASE_MS + 1, seenAfterMs: BASE_MS - HOUR_MS };
      const [newest, oldest] = open.slice(0, 2).sort((a, b) => (a.sessionId < b.sessionId ? 1 : -1));
      expect(await accounts().sessions({ ...alive, limit: 9 })).toEqual([newest, oldest]);
      expect(await accounts().sessions({ ...alive, limit: 1 })).toEqual([newest]);
      const after = { ...alive, afterSessionId: newest!.sessionId };
      expect(await accounts().sessions({ ...after, limit: 9 })).toEqual([oldest]);
      expect(await accounts().sessions({ limit: 9 })).toHaveLength(4);
    });

    it('end with their user, and when the user is disabled', async () => {
      const [ada, bob] = [await newUser('ada'), await newUser('bob')];
      await accounts().createSession(sampleSession(ada.userId), 'aa');
      await accounts().createSession(sampleSession(bob.userId), 'bb');
      await accounts().changeUser(ada.userId, { disabled: true }, BASE_MS);
      await accounts().removeUser(bob.userId);
      expect(await accounts().sessionToCheck('aa')).toBeUndefined();
      expect(await accounts().sessionToCheck('bb')).toBeUndefined();
    });

    it('that ran out or were left alone are cleared away', async () => {
      const { userId } = await newUser();
      await accounts().createSession(sampleSession(userId, { expiresAtMs: BASE_MS + 1 }), 'aa');
      await accounts().createSession(sampleSession(userId, { lastSeenAtMs: BASE_MS - HOUR_MS }), 'bb');
      await accounts().createSession(sampleSession(userId), 'cc');
      const before = { expiresMs: BASE_MS + 2, lastSeenMs: BASE_MS - MINUTE_MS };
      expect(await accounts().removeOldSessions(before)).toBe(2);
      expect(await accounts().sessionToCheck('cc')).toBeDefined();
    });
  });
}
