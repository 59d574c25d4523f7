/** Namespaces, people, keys and sessions in memory. */
import {
  type ApiKey,
  EVERYWHERE,
  type Grant,
  isAdministrator,
  type JobId,
  type Namespace,
  type Session,
  type User,
  type UserIdentity,
} from '@carillon/domain';
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
  NamespaceGone,
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
import { inOrder, isWanted, type KeyRow, usedKey } from './key-row.ts';
import { addAudit } from './memory-audit-store.ts';
import type { MemoryState } from './memory-state.ts';
import { SessionTable } from './session-table.ts';

interface UserRow {
  user: User;
  passwordHash: string | undefined;
  readonly idempotency: NewUser['idempotency'];
}

export class MemoryAccountStore implements AccountStore {
  readonly #jobs: MemoryState['jobs'];
  readonly #namespaces: MemoryState['namespaces'];
  readonly #removedNames: MemoryState['removedNames'];
  readonly #events: MemoryState['events'];
  readonly #audit: MemoryState['audit'];
  /** What goes with its namespace. */
  readonly #housed: readonly Map<string, { readonly namespace: string }>[];
  readonly #users = new Map<string, UserRow>();
  readonly #keys = new Map<string, KeyRow>();
  readonly #sessions = new SessionTable();
  readonly #addresses = new Map<string, { userId: string; address: string; atMs: number }>();

  constructor(state: MemoryState) {
    const { jobs, namespaces, audit, events, counts, failures } = state;
    const { signingKeys, secrets, boundHandlers } = state;
    this.#housed = [counts.minute, counts.hour, failures, signingKeys, secrets, boundHandlers];
    this.#removedNames = state.removedNames;
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
    this.#removedNames.requireRested(namespace.name);
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
    this.#removedNames.add(name);
    for (const row of this.#users.values()) {
      row.user = { ...row.user, grants: row.user.grants.filter((grant) => grant.namespace !== name) };
    }
    for (const row of this.#keys.values()) {
      const left = row.key.grants.filter((grant) => grant.namespace !== name);
      if (left.length === 0) this.#keys.delete(row.key.keyId);
      else row.key = { ...row.key, grants: left };
    }
    for (const rows of this.#housed)
      for (const [id, row] of rows) if (row.namespace === name) rows.delete(id);
    return this.#done(audit) && 'removed';
  }

  async createUser({ passwordHash, idempotency, ...rest }: NewUser, audit?: AuditEntry): Promise<boolean> {
    if (this.#users.has(rest.userId)) return false;
    for (const known of this.#users.values()) {
      if (known.user.name === rest.name || isSame(known.user.identity, rest.identity)) return false;
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

  async userNames(userIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const known = userIds.filter((id) => this.#users.has(id));
    return new Map(known.map((id) => [id, this.#users.get(id)!.user.name]));
  }

  async subjectNames(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const found = (id: string) =>
      this.#jobs.get(id as JobId) ?? this.#users.get(id)?.user ?? this.#keys.get(id)?.key;
    return new Map(ids.filter(found).map((id) => [id, found(id)!.name]));
  }

  async users({ name: wanted, after = '', limit }: UserQuery): Promise<User[]> {
    return [...this.#users.values()]
      .map(({ user }) => user)
      .filter(({ name }) => name > after && (wanted === undefined || name === wanted))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .slice(0, limit);
  }

  async userToSignIn(name: string): Promise<UserRow | undefined> {
    for (const row of this.#users.values()) if (row.user.name === name) return { ...row };
    return undefined;
  }

  async userWithIdentity(identity: UserIdentity): Promise<User | undefined> {
    for (const { user } of this.#users.values()) if (isSame(user.identity, identity)) return user;
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
    const {
      passwordHash = row.passwordHash,
      grants = row.user.grants,
      endSessions,
      endKeys,
      ...rest
    } = change;
    this.#requirePlaces(grants);
    const hasPassword = passwordHash !== undefined;
    const changed = { ...row.user, ...rest, grants: inOrder(grants), hasPassword, updatedAtMs: nowMs };
    this.#requireAdministrator(row.user, changed);
    row.user = changed;
    row.passwordHash = passwordHash;
    if (row.user.disabled) this.#sessions.endOf(userId);
    else if (endSessions) this.#sessions.endOf(userId, endSessions.except);
    const ended = endKeys ? this.#removeKeys(({ makerId }) => makerId === userId).flatMap(endKeys) : [];
    this.#done(audit);
    this.#done(ended);
    return row.user;
  }

  async removeUser(userId: string, audit?: AuditEntry): Promise<boolean> {
    const row = this.#users.get(userId);
    if (!row) return false;
    this.#requireAdministrator(row.user, undefined);
    this.#users.delete(userId);
    this.#removeKeys(({ ownerId }) => ownerId === userId);
    this.#sessions.endOf(userId);
    for (const [key, row] of this.#addresses) if (row.userId === userId) this.#addresses.delete(key);
    return this.#done(audit);
  }

  async createKey(key: ApiKey, hash: SecretHash, facts: KeyFacts = {}): Promise<boolean> {
    const { livingMax = Number.POSITIVE_INFINITY, audit } = facts;
    for (const { key: known, firstPrefix } of this.#keys.values()) {
      if (known.prefix === key.prefix || firstPrefix === key.prefix) return false;
    }
    this.#requirePlaces(key.grants);
    if (this.#livingBeside(key) >= livingMax) throw new KeysFull();
    const stored = { ...key, grants: inOrder(key.grants) };
    this.#keys.set(key.keyId, { key: stored, hash, previousHash: undefined, firstPrefix: key.prefix });
    return this.#done(audit);
  }

  async key(keyId: string): Promise<ApiKey | undefined> {
    const row = this.#keys.get(keyId);
    return row && this.#named(row.key);
  }

  async keys({ ownerId, namespaces, filter = {}, afterKeyId, limit }: KeyQuery): Promise<ApiKey[]> {
    return [...this.#keys.values()]
      .map(({ key }) => this.#named(key))
      .filter(
        (key) =>
          namespaces === undefined ||
          key.grants.some(({ namespace }) => namespaces.includes(namespace)) ||
          (ownerId !== undefined && key.ownerId === ownerId),
      )
      .filter((key) => isWanted(key, filter) && (afterKeyId === undefined || key.keyId < afterKeyId))
      .sort((a, b) => (a.keyId < b.keyId ? 1 : -1))
      .slice(0, limit);
  }

  async keyToCheck(prefix: string): Promise<FoundKey | undefined> {
    for (const { key, hash, previousHash } of this.#keys.values()) {
      const isPrevious = key.previous?.prefix === prefix;
      if (key.prefix !== prefix && !isPrevious) continue;
      const owner = key.ownerId === undefined ? undefined : this.#users.get(key.ownerId)?.user;
      return { key: this.#named(key), hash: isPrevious ? previousHash! : hash, isPrevious, owner };
    }
    return undefined;
  }

  async renameKey(keyId: string, name: string, audit?: AuditEntries): Promise<boolean> {
    const row = this.#keys.get(keyId);
    if (!row) return false;
    row.key = { ...row.key, name };
    return this.#done(audit);
  }

  async rotateKey(keyId: string, rotation: Rotation, audit?: AuditEntries): Promise<boolean> {
    const { fromPrefix, prefix, hash, previousExpiresAtMs, expiresAtMs, makerId } = rotation;
    const row = this.#keys.get(keyId);
    if (row?.key.prefix !== fromPrefix) return false;
    const previous = {
      ...{ prefix: fromPrefix, expiresAtMs: previousExpiresAtMs },
      lastUsedAtMs: row.key.lastUsedAtMs,
    };
    row.key = { ...row.key, prefix, expiresAtMs, makerId, previous };
    row.previousHash = row.hash;
    row.hash = hash;
    return this.#done(audit);
  }

  async removeKey(keyId: string, audit?: AuditEntries): Promise<boolean> {
    return this.#keys.delete(keyId) && this.#done(audit);
  }

  async removeExpiredKeys(beforeMs: number): Promise<number> {
    return this.#removeKeys(({ expiresAtMs }) => expiresAtMs !== undefined && expiresAtMs < beforeMs).length;
  }

  async useAdminKey(...given: Parameters<AccountStore['useAdminKey']>): Promise<void> {
    this.#sessions.useAdminKey(...given);
  }

  async addTicket(ticket: NewTicket, nowMs: number): Promise<void> {
    this.#sessions.addTicket(ticket, nowMs);
  }

  async createSession(session: Session, hash: SecretHash, opening: SignInFacts = {}): Promise<boolean> {
    const { checkedPasswordHash: checked, ticketHash: ticket, address, audit } = opening;
    const { userId, createdAtMs: atMs } = session;
    const row = userId === undefined ? undefined : this.#users.get(userId);
    const isRefused = !row || row.user.disabled || (checked !== undefined && row.passwordHash !== checked);
    if (userId !== undefined && isRefused) return false;
    const adminKey = ticket === undefined ? opening.adminKey : this.#sessions.useTicket(ticket, atMs);
    if (userId === undefined && !this.#sessions.isInUse(adminKey)) return false;
    this.#sessions.add(session, hash, adminKey);
    if (address !== undefined && userId !== undefined)
      this.#addresses.set(`${userId} ${address}`, { userId, address, atMs });
    return this.#done(audit);
  }

  async sessionToCheck(hash: SecretHash): Promise<FoundSession | undefined> {
    const session = this.#sessions.withHash(hash);
    return session && { session, user: this.#users.get(session.userId ?? '')?.user };
  }

  async sessions(query: SessionQuery): Promise<Session[]> {
    return this.#sessions.list(query);
  }

  async session(sessionId: string): Promise<Session | undefined> {
    return this.#sessions.get(sessionId);
  }

  async removeSession(sessionId: string, audit?: AuditEntry): Promise<boolean> {
    return this.#sessions.delete(sessionId) && this.#done(audit);
  }

  async removeOldSessions(before: { expiresMs: number; lastSeenMs: number }): Promise<number> {
    return this.#sessions.remove(
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

  async credentialNames(nowMs: number): Promise<string[]> {
    const keys = [...this.#keys.values()].filter(({ key }) => (key.expiresAtMs ?? nowMs + 1) > nowMs);
    const prefixes = keys.flatMap(({ key }) => [key.prefix, ...(key.previous ? [key.previous.prefix] : [])]);
    return [...prefixes, ...this.#sessions.hashes(nowMs)];
  }

  async noteUses({ keys, sessions }: { keys: readonly KeyUse[]; sessions: readonly Use[] }): Promise<void> {
    for (const use of keys) {
      const row = this.#keys.get(use.id);
      if (row) row.key = usedKey(row.key, use);
    }
    for (const use of sessions) this.#sessions.note(use);
  }

  /** Before anything is changed, so that what is refused leaves nothing behind. */
  #requirePlaces(grants: readonly Grant[]): void {
    const isGone = ({ namespace }: Grant) => namespace !== EVERYWHERE && !this.#namespaces.has(namespace);
    if (grants.some(isGone)) throw new NamespaceGone();
  }

  #requireAdministrator(before: User, after: User | undefined): void {
    if (!isAdministrator(before) || (after && isAdministrator(after))) return;
    const isOther = ({ user }: UserRow) => user.userId !== before.userId && isAdministrator(user);
    if (![...this.#users.values()].some(isOther)) throw new LastAdministrator();
  }

  /** With the name of its owner as it is now. */
  #named(key: ApiKey): ApiKey {
    const owner = key.ownerId === undefined ? undefined : this.#users.get(key.ownerId)?.user;
    return { ...key, ownerName: owner?.name };
  }

  #removeKeys(isGone: (key: ApiKey) => boolean): ApiKey[] {
    const found = [...this.#keys.values()].map(({ key }) => this.#named(key)).filter(isGone);
    for (const { keyId } of found) this.#keys.delete(keyId);
    return found;
  }

  /** Keys of the same owner; of nobody, in the same namespace. */
  #livingBeside({ ownerId, grants: [first], createdAtMs: atMs }: ApiKey): number {
    const namespace = ownerId === undefined ? first?.namespace : undefined;
    const isBeside = ({ key }: KeyRow) =>
      key.ownerId === ownerId && isWanted(key, { namespace, expired: { is: false, atMs } });
    return [...this.#keys.values()].filter(isBeside).length;
  }

  #done(audit: AuditEntries = []): true {
    for (const entry of [audit].flat()) addAudit(this.#audit, entry);
    return true;
  }
}

const isSame = (a: UserIdentity | undefined, b: UserIdentity | undefined): boolean =>
  a !== undefined && a.issuer === b?.issuer && a.subject === b.subject;
