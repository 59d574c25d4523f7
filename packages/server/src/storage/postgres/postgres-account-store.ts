/** Namespaces, people, keys and sessions on PostgreSQL. */
import type { ApiKey, Grant, Namespace, Session, User } from '@carillon/domain';
import { plainArray, textArray } from '../../postgres/array-literal.ts';
import type { Database, Statement } from '../../postgres/database.ts';
import type {
  AccountStore,
  FoundKey,
  FoundSession,
  KeyQuery,
  NewUser,
  SecretHash,
  Use,
  UserChange,
} from '../account-store.ts';
import * as sql from './account.sql.ts';
import {
  KEY_COLUMNS,
  type KeyRow,
  keyOf,
  type NamespaceRow,
  namespaceOf,
  SESSION_COLUMNS,
  type SessionRow,
  sessionOf,
  type UserRow,
  userOf,
} from './account-rows.ts';
import * as credentials from './credential.sql.ts';

export class PostgresAccountStore implements AccountStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async namespaces(query: {
    names?: readonly string[];
    after?: string;
    limit: number;
  }): Promise<Namespace[]> {
    const names = query.names === undefined ? null : textArray(query.names);
    const values = [names, query.after ?? null, query.limit];
    return (await this.#database.query<NamespaceRow>(sql.LIST_NAMESPACES, values)).map(namespaceOf);
  }

  async existingNamespaces(names: readonly string[]): Promise<string[]> {
    const rows = await this.#database.query<[string]>(sql.EXISTING_NAMESPACES, [textArray(names)]);
    return rows.map(([name]) => name);
  }

  createNamespace({ name, description, createdAtMs }: Namespace): Promise<boolean> {
    return this.#touched(sql.CREATE_NAMESPACE, [name, description, createdAtMs]);
  }

  describeNamespace(name: string, description: string): Promise<boolean> {
    return this.#touched(sql.DESCRIBE_NAMESPACE, [name, description]);
  }

  async removeNamespace(name: string): Promise<'removed' | 'in_use' | 'unknown'> {
    const [row] = await this.#database.query<[used: boolean, removed: boolean]>(sql.REMOVE_NAMESPACE, [name]);
    const [used, removed] = row!;
    if (removed) return 'removed';
    return used ? 'in_use' : 'unknown';
  }

  createUser(user: NewUser): Promise<boolean> {
    const { userId, name, displayName, passwordHash = null, disabled, createdAtMs, updatedAtMs } = user;
    const values = [userId, name, displayName, passwordHash, disabled, createdAtMs, updatedAtMs];
    const { key = null, requestHash = null } = user.idempotency ?? {};
    return this.#touched(sql.CREATE_USER, [...values, ...grantArrays(user.grants), key, requestHash]);
  }

  async userMadeBy(key: string): Promise<{ user: User; requestHash: string } | undefined> {
    const [made] = await this.#database.query<readonly [string, string]>(sql.USER_MADE_BY, [key]);
    const user = made && (await this.user(made[0]));
    return user && { user, requestHash: made[1] };
  }

  async user(userId: string): Promise<User | undefined> {
    const [row] = await this.#database.query<UserRow>(sql.GET_USER, [userId]);
    return row && userOf(row);
  }

  async users({ after, limit }: { after?: string; limit: number }): Promise<User[]> {
    return (await this.#database.query<UserRow>(sql.LIST_USERS, [after ?? null, limit])).map(userOf);
  }

  async userToSignIn(name: string): Promise<{ user: User; passwordHash: string | undefined } | undefined> {
    const [row] = await this.#database.query<[...UserRow, string | null]>(sql.USER_TO_SIGN_IN, [name]);
    return row && { user: userOf(row as unknown as UserRow), passwordHash: row.at(-1) as string | undefined };
  }

  async passwordHashOf(userId: string): Promise<string | undefined> {
    const [row] = await this.#database.query<[string | null]>(sql.PASSWORD_HASH_OF, [userId]);
    return row?.[0] ?? undefined;
  }

  changeUser(userId: string, change: UserChange, nowMs: number): Promise<User | undefined> {
    const { displayName = null, disabled = null, passwordHash = null, grants } = change;
    return this.#database.transaction(async (session) => {
      const values = [userId, displayName, disabled, passwordHash, nowMs];
      if ((await session.query(sql.CHANGE_USER, values)).length === 0) return undefined;
      if (grants) {
        await session.query(sql.DROP_GRANTS, [userId]);
        await session.query(sql.ADD_GRANTS, [userId, ...grantArrays(grants)]);
      }
      const [row] = await session.query<UserRow>(sql.GET_USER, [userId]);
      return row && userOf(row);
    });
  }

  removeUser(userId: string): Promise<boolean> {
    return this.#touched(sql.REMOVE_USER, [userId]);
  }

  createKey(key: ApiKey, hash: SecretHash): Promise<boolean> {
    const { keyId, prefix, name, ownerId = null, grant, scopes, createdAtMs, expiresAtMs = null } = key;
    const { namespace, role, ownOnly } = grant;
    const scopeList = scopes === undefined ? null : textArray([...scopes]);
    const values = [keyId, prefix, hash, name, ownerId, namespace, role, ownOnly, scopeList];
    return this.#touched(credentials.CREATE_KEY, [...values, createdAtMs, expiresAtMs]);
  }

  async key(keyId: string): Promise<ApiKey | undefined> {
    const [row] = await this.#database.query<KeyRow>(credentials.GET_KEY, [keyId]);
    return row && keyOf(row);
  }

  async keys({ ownerId, namespaces, afterKeyId, limit }: KeyQuery): Promise<ApiKey[]> {
    const all = namespaces === undefined;
    const values = [all, ownerId ?? null, all ? null : textArray(namespaces), afterKeyId ?? null, limit];
    return (await this.#database.query<KeyRow>(credentials.LIST_KEYS, values)).map(keyOf);
  }

  async keyToCheck(prefix: string): Promise<FoundKey | undefined> {
    const [row] = await this.#database.query<readonly unknown[]>(credentials.KEY_TO_CHECK, [prefix]);
    if (!row) return undefined;
    const key = keyOf(row as unknown as KeyRow);
    const owner = row.slice(KEY_COLUMNS + 1) as unknown as UserRow;
    return {
      key,
      hash: row[KEY_COLUMNS] as string,
      owner: key.ownerId === undefined ? undefined : userOf(owner),
    };
  }

  removeKey(keyId: string): Promise<boolean> {
    return this.#touched(credentials.REMOVE_KEY, [keyId]);
  }

  createSession(session: Session, hash: SecretHash, checked?: string): Promise<boolean> {
    const { sessionId, userId, createdAtMs, lastSeenAtMs, expiresAtMs, address = null } = session;
    const values = [sessionId, hash, userId, createdAtMs, lastSeenAtMs, expiresAtMs, address];
    return this.#touched(credentials.CREATE_SESSION, [...values, session.userAgent ?? null, checked ?? null]);
  }

  async sessionToCheck(hash: SecretHash): Promise<FoundSession | undefined> {
    const [row] = await this.#database.query<readonly unknown[]>(credentials.SESSION_TO_CHECK, [hash]);
    if (!row) return undefined;
    const user = userOf(row.slice(SESSION_COLUMNS) as unknown as UserRow);
    return { session: sessionOf(row as unknown as SessionRow), user };
  }

  async sessionsOf(userId: string): Promise<Session[]> {
    return (await this.#database.query<SessionRow>(credentials.SESSIONS_OF, [userId])).map(sessionOf);
  }

  async session(sessionId: string): Promise<Session | undefined> {
    const [row] = await this.#database.query<SessionRow>(credentials.GET_SESSION, [sessionId]);
    return row && sessionOf(row);
  }

  removeSession(sessionId: string): Promise<boolean> {
    return this.#touched(credentials.REMOVE_SESSION, [sessionId]);
  }

  async removeSessionsOf(userId: string, exceptHash?: SecretHash): Promise<number> {
    const values = [userId, exceptHash ?? null];
    return (await this.#database.query(credentials.REMOVE_SESSIONS_OF, values)).length;
  }

  async removeOldSessions(before: { expiresMs: number; lastSeenMs: number }): Promise<number> {
    const values = [before.expiresMs, before.lastSeenMs];
    return (await this.#database.query(credentials.REMOVE_OLD_SESSIONS, values)).length;
  }

  async noteUses({ keys, sessions }: { keys: readonly Use[]; sessions: readonly Use[] }): Promise<void> {
    if (keys.length > 0) await this.#database.query(credentials.NOTE_KEY_USES, useArrays(keys));
    if (sessions.length > 0) await this.#database.query(credentials.NOTE_SESSION_USES, useArrays(sessions));
  }

  /** Whether the statement changed a row. */
  async #touched(statement: Statement, values: readonly unknown[]): Promise<boolean> {
    return (await this.#database.query(statement, values)).length > 0;
  }
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
