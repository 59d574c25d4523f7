/** Namespaces, people, keys and sessions on PostgreSQL. */
import type { ApiKey, Grant, Namespace, Session, User, UserIdentity } from '@carillon/domain';
import { plainArray, textArray } from '../../postgres/array-literal.ts';
import {
  type Database,
  RollBack,
  type Statement,
  type Session as Transaction,
} from '../../postgres/database.ts';
import {
  type AccountStore,
  type AuditEntries,
  type FoundKey,
  type FoundSession,
  type KeyFacts,
  type KeyQuery,
  KeysFull,
  type KeyUse,
  LastAdministrator,
  NAME_RESTS_MS,
  NamespaceGone,
  NamespaceRecentlyRemoved,
  type NewTicket,
  type NewUser,
  type Rotation,
  type SecretHash,
  type SessionQuery,
  type SignInFacts,
  type Use,
  type UserChange,
  type UserQuery,
} from '../account-store.ts';
import type { AuditEntry } from '../audit-store.ts';
import * as sql from './account.sql.ts';
import * as credentials from './credential.sql.ts';
import { recordAudit } from './postgres-audit-store.ts';
import { readAll, readFirst } from './selection.ts';

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

/** Much longer than names rest, whatever the clock of a database that takes over says. */
const REMOVALS_KEPT_MS = 3_600_000;

export class PostgresAccountStore implements AccountStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  namespaces(query: { names?: readonly string[]; after?: string; limit: number }): Promise<Namespace[]> {
    const names = query.names === undefined ? null : textArray(query.names);
    const values = [names, query.after ?? null, query.limit];
    return readAll(this.#database, sql.LIST_NAMESPACES, values);
  }

  async existingNamespaces(names: readonly string[]): Promise<string[]> {
    const rows = await this.#database.query<[string]>(sql.EXISTING_NAMESPACES, [textArray(names)]);
    return rows.map(([name]) => name);
  }

  createNamespace({ name, description, createdAtMs }: Namespace, audit?: AuditEntry): Promise<boolean> {
    return this.#changed(audit, async (session) => {
      const values = [name, description, createdAtMs];
      if ((await session.query(sql.CREATE_NAMESPACE, values)).length === 0) return false;
      const [removed] = await session.query<[number]>(sql.NAME_RESTS, [name, NAME_RESTS_MS]);
      if (removed) throw new NamespaceRecentlyRemoved(removed[0]);
      await session.query(sql.BEGIN_HISTORY, [name]);
      return true;
    });
  }

  describeNamespace(name: string, description: string, audit?: AuditEntry): Promise<boolean> {
    return this.#touched(sql.DESCRIBE_NAMESPACE, [name, description], audit);
  }

  removeNamespace(name: string, audit?: AuditEntry): Promise<'removed' | 'in_use' | 'unknown'> {
    return this.#database.transaction(async (session) => {
      if ((await session.query(sql.LOCK_NAMESPACE, [name])).length === 0) return 'unknown';
      if ((await session.query(sql.NAMESPACE_IN_USE, [name])).length > 0) return 'in_use';
      await session.query(credentials.LOCK_KEYS_IN, [name]);
      await session.query(credentials.REMOVE_KEYS_IN, [name]);
      await session.query(sql.REMOVE_NAMESPACE, [name]);
      await session.query(sql.FORGET_REMOVED, [REMOVALS_KEPT_MS]);
      await session.query(sql.REMEMBER_REMOVED, [name]);
      await recordAudit(session, [audit]);
      return 'removed';
    });
  }

  createUser(user: NewUser, audit?: AuditEntry): Promise<boolean> {
    const { userId, name, displayName, passwordHash = null, disabled, createdAtMs, updatedAtMs } = user;
    const values = [userId, name, displayName, passwordHash, disabled, createdAtMs, updatedAtMs];
    const { key = null, requestHash = null } = user.idempotency ?? {};
    const identity = [user.identity?.issuer ?? null, user.identity?.subject ?? null];
    const all = [...values, ...grantArrays(user.grants), key, requestHash, ...identity];
    return this.#touched(sql.CREATE_USER, all, audit);
  }

  async userMadeBy(key: string): Promise<{ user: User; requestHash: string } | undefined> {
    const [made] = await this.#database.query<readonly [string, string]>(sql.USER_MADE_BY, [key]);
    const user = made && (await this.user(made[0]));
    return user && { user, requestHash: made[1] };
  }

  user(userId: string): Promise<User | undefined> {
    return readFirst(this.#database, sql.GET_USER, [userId]);
  }

  users({ name, after, limit }: UserQuery): Promise<User[]> {
    return readAll(this.#database, sql.LIST_USERS, [after ?? null, limit, name ?? null]);
  }

  userNames(userIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return this.#names(sql.USER_NAMES, userIds);
  }

  subjectNames(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return this.#names(sql.SUBJECT_NAMES, ids);
  }

  async #names(names: Statement, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    // A job may belong to any text, and an entry be about any; what is looked for here has a UUID.
    const wanted = [...new Set(ids)].filter((id) => UUID.test(id));
    if (wanted.length === 0) return new Map();
    return new Map(await this.#database.query<[string, string]>(names, [plainArray(wanted)]));
  }

  userToSignIn(name: string): Promise<{ user: User; passwordHash: string | undefined } | undefined> {
    return readFirst(this.#database, sql.USER_TO_SIGN_IN, [name]);
  }

  userWithIdentity({ issuer, subject }: UserIdentity): Promise<User | undefined> {
    return readFirst(this.#database, sql.USER_WITH_IDENTITY, [issuer, subject]);
  }

  async passwordHashOf(userId: string): Promise<string | undefined> {
    const [row] = await this.#database.query<[string | null]>(sql.PASSWORD_HASH_OF, [userId]);
    return row?.[0] ?? undefined;
  }

  changeUser(
    userId: string,
    change: UserChange,
    nowMs: number,
    audit?: AuditEntry,
  ): Promise<User | undefined> {
    const { displayName = null, disabled = null, passwordHash = null, grants, endSessions, endKeys } = change;
    const mayEndAdministrator = disabled === true || grants !== undefined;
    return this.#keepingAdministrators(mayEndAdministrator, async (session) => {
      const values = [userId, displayName, disabled, passwordHash, nowMs];
      if ((await session.query(sql.CHANGE_USER, values)).length === 0) return undefined;
      if (grants) {
        await session.query(sql.DROP_GRANTS, [userId]);
        await session.query(sql.ADD_GRANTS, [userId, ...grantArrays(grants)]);
      }
      if (endSessions) await session.query(credentials.END_SESSIONS, [userId, endSessions.except ?? null]);
      const ended = endKeys ? await readAll(session, credentials.END_KEYS, [userId]) : [];
      await recordAudit(session, [audit, ...ended.flatMap((key) => endKeys!(key))]);
      return readFirst(session, sql.GET_USER, [userId]);
    });
  }

  removeUser(userId: string, audit?: AuditEntry): Promise<boolean> {
    return this.#keepingAdministrators(true, async (session) => {
      if ((await session.query(sql.REMOVE_USER, [userId])).length === 0) return false;
      await recordAudit(session, [audit]);
      return true;
    });
  }

  createKey(key: ApiKey, hash: SecretHash, { livingMax, audit }: KeyFacts = {}): Promise<boolean> {
    const { keyId, prefix, name, ownerId = null, makerId = null, scopes, createdAtMs } = key;
    const scopeList = scopes === undefined ? null : textArray([...scopes]);
    const values = [
      keyId,
      prefix,
      hash,
      name,
      ownerId,
      makerId,
      scopeList,
      createdAtMs,
      key.expiresAtMs ?? null,
      key.offers === undefined ? null : textArray(key.offers),
    ];
    return this.#changed(audit, async (session) => {
      if (livingMax !== undefined && (await livingBeside(session, key)) >= livingMax) throw new KeysFull();
      return (
        (await session.query(credentials.CREATE_KEY, [...values, ...grantArrays(key.grants)])).length > 0
      );
    });
  }

  key(keyId: string): Promise<ApiKey | undefined> {
    return readFirst(this.#database, credentials.GET_KEY, [keyId]);
  }

  keys({ ownerId, namespaces, filter = {}, afterKeyId, limit }: KeyQuery): Promise<ApiKey[]> {
    const all = namespaces === undefined;
    const { namespace = null, name = null, expired, unusedSinceMs = null } = filter;
    return readAll(this.#database, credentials.LIST_KEYS, [
      ...[all, ownerId ?? null, all ? null : textArray(namespaces), afterKeyId ?? null, limit],
      ...[filter.ownerId ?? null, namespace, name, expired?.is ?? null, expired?.atMs ?? null, unusedSinceMs],
    ]);
  }

  keyToCheck(prefix: string): Promise<FoundKey | undefined> {
    return readFirst(this.#database, credentials.KEY_TO_CHECK, [prefix]);
  }

  renameKey(keyId: string, name: string, audit?: AuditEntries): Promise<boolean> {
    return this.#touched(credentials.RENAME_KEY, [keyId, name], audit);
  }

  rotateKey(keyId: string, rotation: Rotation, audit?: AuditEntries): Promise<boolean> {
    const { fromPrefix, prefix, hash, previousExpiresAtMs, expiresAtMs = null, makerId = null } = rotation;
    const values = [keyId, fromPrefix, prefix, hash, previousExpiresAtMs, expiresAtMs, makerId];
    return this.#touched(credentials.ROTATE_KEY, values, audit);
  }

  removeKey(keyId: string, audit?: AuditEntries): Promise<boolean> {
    return this.#touched(credentials.REMOVE_KEY, [keyId], audit);
  }

  async removeExpiredKeys(beforeMs: number): Promise<number> {
    return (await this.#database.query(credentials.REMOVE_EXPIRED_KEYS, [beforeMs])).length;
  }

  async useAdminKey(
    { holder, digest }: { holder: string; digest: SecretHash },
    { nowMs, unusedSinceMs }: { nowMs: number; unusedSinceMs: number },
  ): Promise<void> {
    await this.#database.transaction(async (session) => {
      await session.query(credentials.USE_ADMIN_KEY, [holder, digest, nowMs]);
      await session.query(credentials.FORGET_ADMIN_KEYS, [unusedSinceMs]);
      await session.query(credentials.END_ADMIN_SESSIONS, []);
      await session.query(credentials.END_TICKETS, []);
    });
  }

  async addTicket({ hash, expiresAtMs, adminKey }: NewTicket, nowMs: number): Promise<void> {
    await this.#database.query(credentials.REMOVE_OLD_TICKETS, [nowMs]);
    await this.#database.query(credentials.ADD_TICKET, [hash, expiresAtMs, adminKey]);
  }

  createSession(opened: Session, hash: SecretHash, opening: SignInFacts = {}): Promise<boolean> {
    const { sessionId, userId = null, createdAtMs, lastSeenAtMs, expiresAtMs, address = null } = opened;
    const values = [sessionId, hash, userId, createdAtMs, lastSeenAtMs, expiresAtMs, address];
    const checked = [opened.userAgent ?? null, opening.checkedPasswordHash ?? null, opened.method];
    const { ticketHash: ticket } = opening;
    return this.#changed(opening.audit, async (session) => {
      let { adminKey = null } = opening;
      if (ticket !== undefined) {
        const [used] = await session.query<readonly [SecretHash]>(credentials.USE_TICKET, [
          ticket,
          createdAtMs,
        ]);
        if (!used) return false;
        [adminKey] = used;
      }
      const parameters = [...values, ...checked, adminKey];
      if ((await session.query(credentials.CREATE_SESSION, parameters)).length === 0) return false;
      if (opening.address !== undefined && userId !== null) {
        await session.query(credentials.NOTE_ADDRESS, [userId, opening.address, createdAtMs]);
      }
      return true;
    });
  }

  sessionToCheck(hash: SecretHash): Promise<FoundSession | undefined> {
    return readFirst(this.#database, credentials.SESSION_TO_CHECK, [hash]);
  }

  sessions(query: SessionQuery): Promise<Session[]> {
    const { userId = null, expiresAfterMs = null, seenAfterMs = null, afterSessionId = null, limit } = query;
    const values = [userId, expiresAfterMs, seenAfterMs, afterSessionId, limit];
    return readAll(this.#database, credentials.LIST_SESSIONS, values);
  }

  session(sessionId: string): Promise<Session | undefined> {
    return readFirst(this.#database, credentials.GET_SESSION, [sessionId]);
  }

  removeSession(sessionId: string, audit?: AuditEntry): Promise<boolean> {
    return this.#touched(credentials.REMOVE_SESSION, [sessionId], audit);
  }

  async removeOldSessions(before: { expiresMs: number; lastSeenMs: number }): Promise<number> {
    const values = [before.expiresMs, before.lastSeenMs];
    return (await this.#database.query(credentials.REMOVE_OLD_SESSIONS, values)).length;
  }

  async hasSignedInFrom(name: string, address: string): Promise<boolean> {
    return (await this.#database.query(credentials.HAS_SIGNED_IN_FROM, [name, address])).length > 0;
  }

  async forgetAddresses(beforeMs: number): Promise<void> {
    await this.#database.query(credentials.FORGET_ADDRESSES, [beforeMs]);
  }

  async credentialNames(nowMs: number): Promise<string[]> {
    const rows = await this.#database.query<[string]>(credentials.CREDENTIAL_NAMES, [nowMs]);
    return rows.map(([name]) => name);
  }

  async noteUses({ keys, sessions }: { keys: readonly KeyUse[]; sessions: readonly Use[] }): Promise<void> {
    if (keys.length > 0) {
      const addresses = textArray(keys.map(({ address }) => address));
      const previous = plainArray(keys.map(({ previousAtMs }) => previousAtMs));
      await this.#database.query(credentials.NOTE_KEY_USES, [...useArrays(keys), addresses, previous]);
    }
    if (sessions.length > 0) await this.#database.query(credentials.NOTE_SESSION_USES, useArrays(sessions));
  }

  /** Whether the statement changed a row; then the entry is written with it. */
  #touched(
    statement: Statement,
    values: readonly unknown[],
    audit: AuditEntries | undefined,
  ): Promise<boolean> {
    return this.#changed(audit, async (session) => (await session.query(statement, values)).length > 0);
  }

  #changed(
    audit: AuditEntries | undefined,
    change: (session: Transaction) => Promise<boolean>,
  ): Promise<boolean> {
    return this.#transaction(async (session) => {
      if (!(await change(session))) throw new RollBack(false);
      await recordAudit(session, [audit].flat());
      return true;
    });
  }

  /** When at stake: whoever takes an administrator away waits for others who do, and leaves one if there was one. */
  #keepingAdministrators<T>(atStake: boolean, work: (session: Transaction) => Promise<T>): Promise<T> {
    if (!atStake) return this.#transaction(work);
    return this.#transaction(async (session) => {
      await session.query(sql.LOCK_ADMINISTRATORS, []);
      const before = await session.query(sql.ADMINISTRATORS, []);
      const result = await work(session);
      if (before.length === 1 && (await session.query(sql.ADMINISTRATORS, [])).length === 0)
        throw new LastAdministrator();
      return result;
    });
  }

  async #transaction<T>(work: (session: Transaction) => Promise<T>): Promise<T> {
    try {
      return await this.#database.transaction(work);
    } catch (error) {
      throw isNamespaceGone(error) ? new NamespaceGone() : error;
    }
  }
}

/** Of what refers to namespaces, the database says so: whoever checked before may have been overtaken by a removal. */
function isNamespaceGone(error: unknown): boolean {
  const { code, constraint } = error as { code?: unknown; constraint?: unknown };
  return code === '23503' && /^(user_grants|key_grants)_place_fkey$/.test(String(constraint));
}

/** Keys of the same owner; of nobody, in the same namespace. Whoever makes another one of these at the same time waits. */
async function livingBeside(session: Transaction, key: ApiKey): Promise<number> {
  const { ownerId, grants, createdAtMs } = key;
  const namespace = grants[0]!.namespace;
  if (ownerId !== undefined) await session.query(credentials.LOCK_OWNER, [ownerId]);
  else await session.query(credentials.LOCK_PLACE, [namespace]);
  const values = [ownerId ?? null, namespace, createdAtMs];
  const [row] = await session.query<[number]>(credentials.LIVING_KEYS, values);
  return row![0];
}

function grantArrays(grants: readonly Grant[]): string[] {
  return [
    textArray(grants.map(({ namespace }) => namespace)),
    textArray(grants.map(({ role }) => role)),
    plainArray(grants.map(({ ownOnly }) => ownOnly)),
  ];
}

function useArrays(uses: readonly Use[]): string[] {
  return [plainArray(uses.map(({ id }) => id)), plainArray(uses.map(({ atMs }) => atMs))];
}
