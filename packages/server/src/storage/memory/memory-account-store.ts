/** Namespaces, people, keys and sessions in memory. */
import { type ApiKey, DEFAULT_NAMESPACE, type Namespace, type Session, type User } from '@carillon/domain';
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
import type { MemoryState } from './memory-state.ts';

interface UserRow {
  user: User;
  passwordHash: string | undefined;
  readonly idempotency: NewUser['idempotency'];
}

export class MemoryAccountStore implements AccountStore {
  readonly #jobs: MemoryState['jobs'];
  readonly #namespaces = new Map<string, Namespace>();
  readonly #users = new Map<string, UserRow>();
  readonly #keys = new Map<string, { key: ApiKey; hash: SecretHash }>();
  readonly #sessions = new Map<string, { session: Session; hash: SecretHash }>();

  constructor({ jobs }: Pick<MemoryState, 'jobs'>) {
    this.#jobs = jobs;
    const description = 'Jobs that name no other namespace.';
    this.#namespaces.set(DEFAULT_NAMESPACE, { name: DEFAULT_NAMESPACE, description, createdAtMs: 0 });
  }

  async namespaces({
    names,
    after = '',
    limit,
  }: {
    names?: readonly string[] | undefined;
    after?: string | undefined;
    limit: number;
  }): Promise<Namespace[]> {
    return [...this.#namespaces.values()]
      .filter(({ name }) => name > after && (names === undefined || names.includes(name)))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .slice(0, limit);
  }

  async existingNamespaces(names: readonly string[]): Promise<string[]> {
    return names.filter((name) => this.#namespaces.has(name));
  }

  async createNamespace(namespace: Namespace): Promise<boolean> {
    if (this.#namespaces.has(namespace.name)) return false;
    this.#namespaces.set(namespace.name, namespace);
    return true;
  }

  async describeNamespace(name: string, description: string): Promise<boolean> {
    const found = this.#namespaces.get(name);
    if (found) this.#namespaces.set(name, { ...found, description });
    return found !== undefined;
  }

  async removeNamespace(name: string): Promise<'removed' | 'in_use' | 'unknown'> {
    for (const job of this.#jobs.values()) if (job.namespace === name) return 'in_use';
    if (!this.#namespaces.delete(name)) return 'unknown';
    for (const row of this.#users.values()) {
      row.user = { ...row.user, grants: row.user.grants.filter((grant) => grant.namespace !== name) };
    }
    for (const { key } of this.#keys.values()) if (key.grant.namespace === name) this.#keys.delete(key.keyId);
    return 'removed';
  }

  async createUser({ passwordHash, idempotency, ...rest }: NewUser): Promise<boolean> {
    if (this.#users.has(rest.userId)) return false;
    for (const known of this.#users.values()) {
      if (known.user.name === rest.name) return false;
      if (idempotency && known.idempotency?.key === idempotency.key) return false;
    }
    const user = { ...rest, grants: inOrder(rest.grants), hasPassword: passwordHash !== undefined };
    this.#users.set(user.userId, { user, passwordHash, idempotency });
    return true;
  }

  async userMadeBy(key: string): Promise<{ user: User; requestHash: string } | undefined> {
    for (const { user, idempotency } of this.#users.values())
      if (idempotency?.key === key) return { user, requestHash: idempotency.requestHash };
    return undefined;
  }

  async user(userId: string): Promise<User | undefined> {
    return this.#users.get(userId)?.user;
  }

  async users({ after = '', limit }: { after?: string | undefined; limit: number }): Promise<User[]> {
    return [...this.#users.values()]
      .map(({ user }) => user)
      .filter(({ name }) => name > after)
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .slice(0, limit);
  }

  async userToSignIn(name: string): Promise<UserRow | undefined> {
    for (const row of this.#users.values()) if (row.user.name === name) return { ...row };
    return undefined;
  }

  async passwordHashOf(userId: string): Promise<string | undefined> {
    return this.#users.get(userId)?.passwordHash;
  }

  async changeUser(userId: string, change: UserChange, nowMs: number): Promise<User | undefined> {
    const row = this.#users.get(userId);
    if (!row) return undefined;
    const { passwordHash = row.passwordHash, grants = row.user.grants, ...rest } = change;
    const hasPassword = passwordHash !== undefined;
    row.user = { ...row.user, ...rest, grants: inOrder(grants), hasPassword, updatedAtMs: nowMs };
    row.passwordHash = passwordHash;
    if (row.user.disabled) await this.removeSessionsOf(userId);
    return row.user;
  }

  async removeUser(userId: string): Promise<boolean> {
    if (!this.#users.delete(userId)) return false;
    for (const { key } of this.#keys.values()) if (key.ownerId === userId) this.#keys.delete(key.keyId);
    await this.removeSessionsOf(userId);
    return true;
  }

  async createKey(key: ApiKey, hash: SecretHash): Promise<boolean> {
    for (const known of this.#keys.values()) if (known.key.prefix === key.prefix) return false;
    this.#keys.set(key.keyId, { key, hash });
    return true;
  }

  async key(keyId: string): Promise<ApiKey | undefined> {
    return this.#keys.get(keyId)?.key;
  }

  async keys({ ownerId, namespaces, afterKeyId, limit }: KeyQuery): Promise<ApiKey[]> {
    return [...this.#keys.values()]
      .map(({ key }) => key)
      .filter(
        (key) =>
          namespaces === undefined ||
          namespaces.includes(key.grant.namespace) ||
          (ownerId !== undefined && key.ownerId === ownerId),
      )
      .filter((key) => afterKeyId === undefined || key.keyId < afterKeyId)
      .sort((a, b) => (a.keyId < b.keyId ? 1 : -1))
      .slice(0, limit);
  }

  async keyToCheck(prefix: string): Promise<FoundKey | undefined> {
    for (const { key, hash } of this.#keys.values()) {
      if (key.prefix !== prefix) continue;
      return { key, hash, owner: key.ownerId === undefined ? undefined : this.#users.get(key.ownerId)?.user };
    }
    return undefined;
  }

  async removeKey(keyId: string): Promise<boolean> {
    return this.#keys.delete(keyId);
  }

  async createSession(session: Session, hash: SecretHash, checked?: string): Promise<boolean> {
    const row = this.#users.get(session.userId);
    if (!row || row.user.disabled || (checked !== undefined && row.passwordHash !== checked)) return false;
    this.#sessions.set(session.sessionId, { session, hash });
    return true;
  }

  async sessionToCheck(hash: SecretHash): Promise<FoundSession | undefined> {
    for (const row of this.#sessions.values()) {
      if (row.hash !== hash) continue;
      return { session: row.session, user: this.#users.get(row.session.userId)!.user };
    }
    return undefined;
  }

  async sessionsOf(userId: string): Promise<Session[]> {
    return [...this.#sessions.values()]
      .map(({ session }) => session)
      .filter((session) => session.userId === userId)
      .sort((a, b) => (a.sessionId < b.sessionId ? 1 : -1));
  }

  async session(sessionId: string): Promise<Session | undefined> {
    return this.#sessions.get(sessionId)?.session;
  }

  async removeSession(sessionId: string): Promise<boolean> {
    return this.#sessions.delete(sessionId);
  }

  async removeSessionsOf(userId: string, exceptHash?: SecretHash): Promise<number> {
    return this.#removeSessions(({ session, hash }) => session.userId === userId && hash !== exceptHash);
  }

  async removeOldSessions(before: { expiresMs: number; lastSeenMs: number }): Promise<number> {
    return this.#removeSessions(
      ({ session }) => session.expiresAtMs < before.expiresMs || session.lastSeenAtMs < before.lastSeenMs,
    );
  }

  async noteUses({ keys, sessions }: { keys: readonly Use[]; sessions: readonly Use[] }): Promise<void> {
    for (const { id, atMs } of keys) {
      const row = this.#keys.get(id);
      if (row) row.key = { ...row.key, lastUsedAtMs: Math.max(row.key.lastUsedAtMs ?? 0, atMs) };
    }
    for (const { id, atMs } of sessions) {
      const row = this.#sessions.get(id);
      if (row) row.session = { ...row.session, lastSeenAtMs: Math.max(row.session.lastSeenAtMs, atMs) };
    }
  }

  #removeSessions(gone: (row: { session: Session; hash: SecretHash }) => boolean): number {
    const found = [...this.#sessions.values()].filter(gone);
    for (const { session } of found) this.#sessions.delete(session.sessionId);
    return found.length;
  }
}

function inOrder(grants: User['grants']): User['grants'] {
  const key = (grant: User['grants'][number]) => `${grant.namespace} ${grant.ownOnly}`;
  return [...grants].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}
