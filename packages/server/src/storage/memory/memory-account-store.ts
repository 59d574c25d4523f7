/** Namespaces, people, keys and sessions in memory. */
import {
  type ApiKey,
  EVERYWHERE,
  type Grant,
  type Namespace,
  type Session,
  type User,
} from '@carillon/domain';
import {
  type AccountStore,
  type FoundKey,
  type FoundSession,
  type KeyQuery,
  NamespaceGone,
  type NewUser,
  type SecretHash,
  type SignInFacts,
  type Use,
  type UserChange,
} from '../account-store.ts';
import type { AuditEntry } from '../audit-store.ts';
import { addAudit } from './memory-audit-store.ts';
import type { MemoryState } from './memory-state.ts';

interface UserRow {
  user: User;
  passwordHash: string | undefined;
  readonly idempotency: NewUser['idempotency'];
}

export class MemoryAccountStore implements AccountStore {
  readonly #jobs: MemoryState['jobs'];
  readonly #namespaces: MemoryState['namespaces'];
  readonly #events: MemoryState['events'];
  readonly #audit: MemoryState['audit'];
  readonly #users = new Map<string, UserRow>();
  readonly #keys = new Map<string, { key: ApiKey; hash: SecretHash }>();
  readonly #sessions = new Map<string, { session: Session; hash: SecretHash }>();
  readonly #addresses = new Map<string, { userId: string; address: string; atMs: number }>();

  constructor({
    jobs,
    namespaces,
    audit,
    events,
  }: Pick<MemoryState, 'jobs' | 'namespaces' | 'audit' | 'events'>) {
    this.#events = events;
    this.#jobs = jobs;
    this.#namespaces = namespaces;
    this.#audit = audit;
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
      .map(({ namespace }) => namespace)
      .filter(({ name }) => name > after && (names === undefined || names.includes(name)))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .slice(0, limit);
  }

  async existingNamespaces(names: readonly string[]): Promise<string[]> {
    return names.filter((name) => this.#namespaces.has(name));
  }

  async createNamespace(namespace: Namespace, audit?: AuditEntry): Promise<boolean> {
    if (this.#namespaces.has(namespace.name)) return false;
    const auditAfter = this.#audit.at(-1)?.auditId ?? 0;
    const eventsAfter = this.#events.end().seq;
    this.#namespaces.set(namespace.name, { namespace, auditAfter, eventsAfter });
    return this.#done(audit);
  }

  async describeNamespace(name: string, description: string, audit?: AuditEntry): Promise<boolean> {
    const found = this.#namespaces.get(name);
    if (!found) return false;
    this.#namespaces.set(name, { ...found, namespace: { ...found.namespace, description } });
    return this.#done(audit);
  }

  async removeNamespace(name: string, audit?: AuditEntry): Promise<'removed' | 'in_use' | 'unknown'> {
    for (const job of this.#jobs.values()) if (job.namespace === name) return 'in_use';
    if (!this.#namespaces.delete(name)) return 'unknown';
    for (const row of this.#users.values()) {
      row.user = { ...row.user, grants: row.user.grants.filter((grant) => grant.namespace !== name) };
    }
    for (const { key } of this.#keys.values()) if (key.grant.namespace === name) this.#keys.delete(key.keyId);
    this.#done(audit);
    return 'removed';
  }

  async createUser({ passwordHash, idempotency, ...rest }: NewUser, audit?: AuditEntry): Promise<boolean> {
    if (this.#users.has(rest.userId)) return false;
    for (const known of this.#users.values()) {
      if (known.user.name === rest.name) return false;
      if (idempotency && known.idempotency?.key === idempotency.key) return false;
    }
    this.#requirePlaces(rest.grants);
    const user = { ...rest, grants: inOrder(rest.grants), hasPassword: passwordHash !== undefined };
    this.#users.set(user.userId, { user, passwordHash, idempotency });
    return this.#done(audit);
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

  async changeUser(
    userId: string,
    change: UserChange,
    nowMs: number,
    audit?: AuditEntry,
  ): Promise<User | undefined> {
    const row = this.#users.get(userId);
    if (!row) return undefined;
    const { passwordHash = row.passwordHash, grants = row.user.grants, endSessions, ...rest } = change;
    this.#requirePlaces(grants);
    const hasPassword = passwordHash !== undefined;
    row.user = { ...row.user, ...rest, grants: inOrder(grants), hasPassword, updatedAtMs: nowMs };
    row.passwordHash = passwordHash;
    if (row.user.disabled) this.#endSessions(userId);
    else if (endSessions) this.#endSessions(userId, endSessions.except);
    this.#done(audit);
    return row.user;
  }

  async removeUser(userId: string, audit?: AuditEntry): Promise<boolean> {
    if (!this.#users.delete(userId)) return false;
    for (const { key } of this.#keys.values()) if (key.ownerId === userId) this.#keys.delete(key.keyId);
    this.#endSessions(userId);
    for (const [key, row] of this.#addresses) if (row.userId === userId) this.#addresses.delete(key);
    return this.#done(audit);
  }

  async createKey(key: ApiKey, hash: SecretHash, audit?: AuditEntry): Promise<boolean> {
    for (const known of this.#keys.values()) if (known.key.prefix === key.prefix) return false;
    this.#requirePlaces([key.grant]);
    this.#keys.set(key.keyId, { key, hash });
    return this.#done(audit);
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

  async removeKey(keyId: string, audit?: AuditEntry): Promise<boolean> {
    return this.#keys.delete(keyId) && this.#done(audit);
  }

  async createSession(session: Session, hash: SecretHash, opening: SignInFacts = {}): Promise<boolean> {
    const { checkedPasswordHash: checked, address, audit } = opening;
    const { userId, createdAtMs: atMs } = session;
    const row = this.#users.get(userId);
    if (!row || row.user.disabled || (checked !== undefined && row.passwordHash !== checked)) return false;
    this.#sessions.set(session.sessionId, { session, hash });
    if (address !== undefined) this.#addresses.set(`${userId} ${address}`, { userId, address, atMs });
    return this.#done(audit);
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

  async removeSession(sessionId: string, audit?: AuditEntry): Promise<boolean> {
    return this.#sessions.delete(sessionId) && this.#done(audit);
  }

  async removeOldSessions(before: { expiresMs: number; lastSeenMs: number }): Promise<number> {
    return this.#removeSessions(
      ({ session }) => session.expiresAtMs < before.expiresMs || session.lastSeenAtMs < before.lastSeenMs,
    );
  }

  async hasSignedInFrom(name: string, address: string): Promise<boolean> {
    const row = await this.userToSignIn(name);
    return row !== undefined && this.#addresses.has(`${row.user.userId} ${address}`);
  }

  async forgetAddresses(beforeMs: number): Promise<void> {
    for (const [key, { atMs }] of this.#addresses) if (atMs < beforeMs) this.#addresses.delete(key);
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

  /** Before anything is changed, so that what is refused leaves nothing behind. */
  #requirePlaces(grants: readonly Grant[]): void {
    const isGone = ({ namespace }: Grant) => namespace !== EVERYWHERE && !this.#namespaces.has(namespace);
    if (grants.some(isGone)) throw new NamespaceGone();
  }

  #done(audit: AuditEntry | undefined): true {
    if (audit) addAudit(this.#audit, audit);
    return true;
  }

  #endSessions(userId: string, exceptHash?: SecretHash): void {
    this.#removeSessions(({ session, hash }) => session.userId === userId && hash !== exceptHash);
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
