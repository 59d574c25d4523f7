/** Two servers over one PostgreSQL: what one does about people and keys, the other knows. */
import { SERVER, stranger } from '@carillon/domain';
import { ManualClock, silentLog, systemRandom } from '@carillon/foundation';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  createTestDatabase,
  describeOldestPostgres,
  type TestDatabase,
} from '../../../../tests/support/postgres.ts';
import { openTestStorage } from '../../../../tests/support/test-storage.ts';
import { AuditLog } from '../audit/audit-log.ts';
import { PostgresCounters } from '../counters/postgres/postgres-counters.ts';
import { statement } from '../postgres/database.ts';
import type { PostgresStorage } from '../storage/postgres/postgres-storage.ts';
import { Accounts } from './accounts.ts';
import { type AdminKey, adminKeyDigest } from './admin-key.ts';
import { FAILURES_MAX } from './failure-budget.ts';
import { CACHED_MS } from './identities.ts';
import { withChecksum } from './secrets.ts';

const PASSWORD = 'a long phrase';
const VIEWER = { namespace: 'default', role: 'viewer', ownOnly: false } as const;

describeOldestPostgres('accounts', (postgres) => {
  const clock = new ManualClock(Date.UTC(2030, 0, 1, 12));
  const opened: PostgresStorage[] = [];
  let database: TestDatabase;
  let here: ReturnType<typeof server>;
  let there: ReturnType<typeof server>;

  function server(adminKey?: AdminKey) {
    const storage = openTestStorage(database.url);
    opened.push(storage);
    const accounts = new Accounts({
      ...{ store: storage.accounts, clock, random: systemRandom, log: silentLog },
      audit: new AuditLog({ store: storage.audit, clock }),
      counters: new PostgresCounters(storage.database),
      hashCost: { memoryKib: 64, passes: 1, parallelism: 1 },
      adminKey,
    });
    return { accounts, ...accounts.operations };
  }

  beforeAll(async () => {
    database = await createTestDatabase(postgres.url);
    [here, there] = [server(), server()];
  });

  afterAll(async () => {
    for (const storage of opened) await storage.close();
    await database.drop();
  });

  const { origin } = SERVER;

  it('a key works everywhere at once, and is revoked everywhere within seconds', async () => {
    const { key, secret } = await here.createKey(SERVER, { name: 'k', grants: [VIEWER] });
    const caller = await there.accounts.identities.ofKey(secret, origin);
    expect(caller).toMatchObject({ id: key.keyId, grants: [VIEWER] });
    await here.revokeKey(SERVER, key.keyId);
    await expect(here.accounts.identities.ofKey(secret, origin)).rejects.toThrow('not valid');
    clock.advance(CACHED_MS);
    await expect(there.accounts.identities.ofKey(secret, origin)).rejects.toThrow('not valid');
  });

  it('who signs in here is signed in there; who is disabled here is out there within seconds', async () => {
    const user = await here.createUser(SERVER, { name: 'ada', password: PASSWORD, grants: [VIEWER] });
    const { token } = await here.signIn(stranger(origin), { name: 'Ada', password: PASSWORD });
    expect(await there.accounts.identities.ofSession(token, origin)).toMatchObject({ id: user.userId });
    await here.updateUser(SERVER, user.userId, { disabled: true });
    clock.advance(CACHED_MS);
    await expect(there.accounts.identities.ofSession(token, origin)).rejects.toThrow('has ended');
  });

  it('an admin key that its server replaced ends what it opened, on the others within seconds', async () => {
    const holder = systemRandom.id();
    const before = server({ holder, digest: adminKeyDigest('old') });
    await before.accounts.start();
    const isAdminKey = () => true;
    const admin = await before.signInWithAdminKey(stranger(origin), { key: 'old', isAdminKey });
    const ticket = await before.issueTicket(SERVER);
    const byTicket = await there.signInWithTicket(stranger(origin), { ticket });
    const unused = await before.issueTicket(SERVER);
    await before.accounts.stop();
    const isOpen = ({ token }: { token: string }) =>
      there.accounts.identities.ofSession(token, origin).then(
        () => true,
        () => false,
      );
    expect([await isOpen(admin), await isOpen(byTicket)]).toEqual([true, true]);

    const again = server({ holder, digest: adminKeyDigest('old') });
    await again.accounts.start();
    await again.accounts.stop();
    clock.advance(CACHED_MS);
    expect([await isOpen(admin), await isOpen(byTicket)]).toEqual([true, true]);

    const after = server({ holder, digest: adminKeyDigest('new') });
    await after.accounts.start();
    clock.advance(CACHED_MS);
    expect([await isOpen(admin), await isOpen(byTicket)]).toEqual([false, false]);
    const refused = there.signInWithTicket(stranger(origin), { ticket: unused });
    await expect(refused).rejects.toMatchObject({ code: 'sign_in_refused' });
    await after.accounts.stop();
  });

  it('a password guessed on one server is slowed on the other', async () => {
    const guess = (on: typeof here) => on.signIn(stranger(origin), { name: 'bob', password: 'guess' });
    for (let i = 0; i < 5; i += 1)
      await expect(guess(here)).rejects.toMatchObject({ code: 'sign_in_refused' });
    await expect(guess(there)).rejects.toMatchObject({ code: 'rate_limited' });
  });

  it('guesses from elsewhere keep nobody out where they have signed in before', async () => {
    const at = (address: string) => stranger({ ...origin, address });
    await here.createUser(SERVER, { name: 'dora', password: PASSWORD });
    await here.signIn(at('203.0.113.7'), { name: 'dora', password: PASSWORD });
    const guess = (n: number) =>
      here.signIn(at(`198.51.100.${n}`), { name: 'dora', password: 'guess' }).catch(({ code }) => code);
    const answers: unknown[] = [];
    for (let n = 0; n < 12; n += 1) answers.push(await guess(n));
    expect(answers.slice(-3)).toEqual(['sign_in_refused', 'rate_limited', 'rate_limited']);
    const right = { name: 'dora', password: PASSWORD };
    await expect(there.signIn(at('198.51.100.50'), right)).rejects.toMatchObject({
      code: 'rate_limited',
    });
    expect((await there.signIn(at('203.0.113.7'), right)).user?.name).toBe('dora');
  });

  it('random keys and sessions cost no more statements than their address has a budget for', async () => {
    const { key, secret } = await here.createKey(SERVER, { name: 'k', grants: [VIEWER] });
    const { database: connection } = opened[0]!;
    const statements: string[] = [];
    const query = connection.query.bind(connection);
    connection.query = (statement, values) => {
      // That of all that are valid is one in ten seconds.
      if (statement.name !== 'credential_names') statements.push(statement.name);
      return query(statement, values);
    };
    const from = (address: string) => ({ ...origin, address });
    const { identities } = here.accounts;
    const guess = (n: number) =>
      withChecksum(`ck2_${String(n).padStart(10, 'g')}_${String(n).padStart(43, 'x')}`);
    const codes = new Map<string, number>();
    const ask = async (answer: Promise<unknown>) => {
      const { code } = (await answer.catch((error: unknown) => error)) as { code: string };
      codes.set(code, (codes.get(code) ?? 0) + 1);
    };
    for (let n = 0; n < 500; n += 1) {
      await ask(identities.ofKey(guess(n), from('198.51.100.7')));
      await ask(identities.ofSession(String(n).padStart(43, 'y'), from('198.51.100.7')));
      await ask(identities.ofKey(guess(n).slice(0, -1), from('198.51.100.8')));
    }
    expect(statements).toHaveLength(FAILURES_MAX);
    expect(codes).toEqual(
      new Map([
        ['unauthorized', FAILURES_MAX + 500],
        ['rate_limited', 1_000 - FAILURES_MAX],
      ]),
    );
    expect(await identities.ofKey(secret, from('203.0.113.1'))).toMatchObject({ id: key.keyId });
    expect(statements).toHaveLength(FAILURES_MAX + 1);
    connection.query = query;
  });

  it('of the last two administrators, removed on two servers at the same instant, one stays', async () => {
    const ADMIN = { namespace: '*', role: 'admin', ownOnly: false } as const;
    for (let round = 0; round < 10; round += 1) {
      const [ada, bob] = [
        await here.createUser(SERVER, { name: `first-${round}`, grants: [ADMIN] }),
        await here.createUser(SERVER, { name: `second-${round}`, grants: [ADMIN] }),
      ];
      const ways = [
        () => there.deleteUser(SERVER, bob.userId),
        () => there.setGrants(SERVER, bob.userId, []),
        () => there.updateUser(SERVER, bob.userId, { disabled: true }),
      ];
      const outcomes = await Promise.allSettled([
        here.deleteUser(SERVER, ada.userId),
        ways[round % ways.length]!(),
      ]);
      const refused = outcomes.filter(({ status }) => status === 'rejected');
      expect(refused).toMatchObject([{ reason: { code: 'last_administrator' } }]);
      // Somebody else takes over, so that the next round begins without either.
      const next = await here.createUser(SERVER, { name: `next-${round}`, grants: [ADMIN] });
      for (const { userId } of [ada, bob]) await here.deleteUser(SERVER, userId).catch(() => undefined);
      await expect(here.deleteUser(SERVER, next.userId)).rejects.toMatchObject({
        code: 'last_administrator',
      });
      await opened[0]!.database.query(statement('remove_all')`DELETE FROM users WHERE user_id = $1`, [
        next.userId,
      ]);
    }
  });

  it('a namespace made here is known there at once', async () => {
    expect(await there.accounts.namespaces.missing(['billing'])).toEqual(['billing']);
    await here.createNamespace(SERVER, { name: 'billing' });
    expect(await there.accounts.namespaces.missing(['billing'])).toEqual([]);
  });

  it('what is handed out while its namespace is removed is refused, or goes with it', async () => {
    for (let round = 0; round < 10; round += 1) {
      const name = `brief-${round}`;
      const grant = { ...VIEWER, namespace: name };
      await here.createNamespace(SERVER, { name });
      // The other server knows of it, and goes on believing in it for seconds.
      expect(await there.accounts.namespaces.missing([name])).toEqual([]);
      const user = await here.createUser(SERVER, { name: `user-${round}` });
      const outcomes = await Promise.allSettled([
        here.deleteNamespace(SERVER, name),
        there.createKey(SERVER, { name: 'k', grants: [grant] }),
        there.setGrants(SERVER, user.userId, [grant]),
        there.createUser(SERVER, { name: `late-${round}`, grants: [grant] }),
      ]);
      expect(outcomes[0]!.status).toBe('fulfilled');
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') expect(outcome.reason.code).toBe('namespace_not_found');
      }
      await expect(there.createKey(SERVER, { name: 'k', grants: [grant] })).rejects.toMatchObject({
        code: 'namespace_not_found',
      });
    }
    const brief = ({ namespace }: { namespace: string }) => namespace.startsWith('brief-');
    expect((await here.listUsers(SERVER, { limit: 100 })).flatMap(({ grants }) => grants).some(brief)).toBe(
      false,
    );
    expect((await here.listKeys(SERVER, { limit: 100 })).flatMap(({ grants }) => grants).some(brief)).toBe(
      false,
    );
  });

  it('times of use are written down, and what has ended is cleared away', async () => {
    const { key, secret } = await here.createKey(SERVER, { name: 'k', grants: [VIEWER] });
    await here.accounts.identities.ofKey(secret, origin);
    await here.accounts.runOnce();
    expect((await there.getKey(SERVER, key.keyId)).lastUsedAtMs).toBe(clock.now());
  });

  it('two requests that make the same user at once make one', async () => {
    const made = await Promise.allSettled(
      [here, there, here, there].map((on) => on.createUser(SERVER, { name: 'cleo', grants: [VIEWER] })),
    );
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(made.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { code: 'user_exists' },
    });
  });
});
