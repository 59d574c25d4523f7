/**
 * Namespaces, people, keys and sessions. Secrets are here only as hashes; what a hash is of, and whether it fits, is not
 * the storage's business.
 */
import type { ApiKey, Grant, Namespace, Session, User, UserIdentity } from '@carillon/domain';
import type { AuditEntry } from './audit-store.ts';

export interface NewUser extends Omit<User, 'hasPassword'> {
  readonly passwordHash: string | undefined;
  readonly idempotency?: { readonly key: string; readonly requestHash: string } | undefined;
}

/** What is left out stays as it is. */
export interface UserChange {
  readonly displayName?: string;
  readonly disabled?: boolean;
  readonly passwordHash?: string;
  readonly grants?: readonly Grant[];
  /** Their sessions end, but for the one with this hash. */
  readonly endSessions?: { readonly except: SecretHash | undefined };
  /** The keys that they made, or were the last to rotate, end, whoever owns them; what this answers for each is recorded with it. */
  readonly endKeys?: ((key: ApiKey) => readonly AuditEntry[]) | undefined;
}

/** A secret as it is stored: SHA-256 in hexadecimal digits. */
export type SecretHash = string;

export interface FoundKey {
  readonly key: ApiKey;
  /** Of the secret with the prefix that was asked for. */
  readonly hash: SecretHash;
  /** That secret is the one before the last rotation. */
  readonly isPrevious: boolean;
  /** As they are now; undefined when the key belongs to the installation. */
  readonly owner: User | undefined;
}

export interface FoundSession {
  readonly session: Session;
  /** Undefined: it is one of the admin key. */
  readonly user: User | undefined;
}

export interface NewTicket {
  readonly hash: SecretHash;
  readonly expiresAtMs: number;
  /** The digest of the admin key that it stands for. */
  readonly adminKey: SecretHash;
}

/** What a session is opened with, besides itself. */
export interface SignInFacts {
  /** The hash of the password that was checked. */
  readonly checkedPasswordHash?: string | undefined;
  /** A ticket that opens it, and is used up with it. */
  readonly ticketHash?: SecretHash | undefined;
  /** Of a session of nobody that no ticket opens: the digest of the admin key that opens it. One that a ticket opens has that of its ticket. */
  readonly adminKey?: SecretHash | undefined;
  /** Where the user comes from, as limits count it: remembered as one that they have signed in from. */
  readonly address?: string | undefined;
  readonly audit?: AuditEntry;
}

/** A grant or a key names a namespace that is not there, or not any more. */
export class NamespaceGone extends Error {
  constructor() {
    super('there is no such namespace');
    this.name = 'NamespaceGone';
  }
}

/**
 * How long the name of a namespace that was removed cannot be used again: longer than any server goes on believing in a key, a stream or
 * a worker that had a grant there.
 */
export const NAME_RESTS_MS = 120_000;

/** The name was that of a namespace that was removed only now. */
export class NamespaceRecentlyRemoved extends Error {
  /** Until the name can be used. */
  readonly leftMs: number;

  constructor(leftMs: number) {
    super('a namespace of this name was removed only now');
    this.name = 'NamespaceRecentlyRemoved';
    this.leftMs = leftMs;
  }
}

/** Nobody would be left who may do everything. */
export class LastAdministrator extends Error {
  constructor() {
    super('the last administrator stays');
    this.name = 'LastAdministrator';
  }
}

/** As many keys live as may. */
export class KeysFull extends Error {
  constructor() {
    super('as many keys live as may');
    this.name = 'KeysFull';
  }
}

/** What a key is made with, besides itself. */
export interface KeyFacts {
  /**
   * No more than so many keys of its owner live when it is made; of a key of nobody, keys of nobody in the namespace of its first
   * grant. More fail with KeysFull, whatever others do at the same instant.
   */
  readonly livingMax?: number | undefined;
  readonly audit?: AuditEntries | undefined;
}

export interface UserQuery {
  readonly name?: string | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
}

export interface KeyFilter {
  readonly ownerId?: string | undefined;
  /** It has a grant there. */
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  /** Whether it has expired at this instant. */
  readonly expired?: { readonly is: boolean; readonly atMs: number } | undefined;
  /** Neither made nor used since. */
  readonly unusedSinceMs?: number | undefined;
}

export interface KeyQuery {
  /** Keys of this owner, and those with a grant in these namespaces; namespaces undefined: all there are. */
  readonly ownerId: string | undefined;
  readonly namespaces: readonly string[] | undefined;
  /** Of those, these. */
  readonly filter?: KeyFilter | undefined;
  /** Newest first; continue after this one. */
  readonly afterKeyId?: string | undefined;
  readonly limit: number;
}

/** A new secret for a key. */
export interface Rotation {
  /** The prefix that the key still has: nobody else has rotated it meanwhile. */
  readonly fromPrefix: string;
  readonly prefix: string;
  readonly hash: SecretHash;
  /** The secret with fromPrefix is refused from then on. */
  readonly previousExpiresAtMs: number;
  readonly expiresAtMs: number | undefined;
  /** Who holds it from now on. */
  readonly makerId: string | undefined;
}

/** Of one change: in the log of each namespace that it concerns. */
export type AuditEntries = AuditEntry | readonly AuditEntry[];

export interface SessionQuery {
  /** Undefined: of everybody. */
  readonly userId?: string | undefined;
  /** Only those that end after this instant, and were seen after this one. */
  readonly expiresAfterMs?: number | undefined;
  readonly seenAfterMs?: number | undefined;
  /** Newest first; continue after this one. */
  readonly afterSessionId?: string | undefined;
  readonly limit: number;
}

/** When something was last used. */
export interface Use {
  readonly id: string;
  readonly atMs: number;
}

export interface KeyUse extends Use {
  readonly address: string | undefined;
  /** When the secret before the last rotation was used. */
  readonly previousAtMs: number | undefined;
}

/**
 * Entries of the audit log that are given with a change are written with it, or not at all. Nothing points to a namespace
 * that is gone: what would, fails with NamespaceGone. An enabled user with the role admin in * is an administrator; a change
 * that would leave none, where there was one, fails with LastAdministrator, whatever others do at the same instant.
 */
export interface AccountStore {
  /** By name; continue after this one. names: only these. */
  namespaces(query: {
    names?: readonly string[] | undefined;
    after?: string | undefined;
    limit: number;
  }): Promise<Namespace[]>;
  /** Those of the names that exist. */
  existingNamespaces(names: readonly string[]): Promise<string[]>;
  /** False: the name is taken. Fails with NamespaceRecentlyRemoved for NAME_RESTS_MS after a removal, by the clock of the storage. */
  createNamespace(namespace: Namespace, audit?: AuditEntry): Promise<boolean>;
  /** False: there is none. */
  describeNamespace(name: string, description: string, audit?: AuditEntry): Promise<boolean>;
  /** With it go the grants and keys in it: whoever gets the name next must not inherit them, also where they are remembered. */
  removeNamespace(name: string, audit?: AuditEntry): Promise<'removed' | 'in_use' | 'unknown'>;

  /** False: the name, the id, the identity or the idempotency key is taken. */
  createUser(user: NewUser, audit?: AuditEntry): Promise<boolean>;
  /** Whom a request under this idempotency key made. */
  userMadeBy(idempotencyKey: string): Promise<{ user: User; requestHash: string } | undefined>;
  user(userId: string): Promise<User | undefined>;
  /** By name; continue after this one. */
  users(query: UserQuery): Promise<User[]>;
  /** By id; ids that no user has are left out, whatever they look like. */
  userNames(userIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Of what the audit log is mostly about, by their ids: jobs, users and keys that are there. */
  subjectNames(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
  userToSignIn(name: string): Promise<{ user: User; passwordHash: string | undefined } | undefined>;
  userWithIdentity(identity: UserIdentity): Promise<User | undefined>;
  passwordHashOf(userId: string): Promise<string | undefined>;
  /** The user as it is then. A user that becomes disabled loses every session. */
  changeUser(
    userId: string,
    change: UserChange,
    nowMs: number,
    audit?: AuditEntry,
  ): Promise<User | undefined>;
  /** With their keys and sessions. */
  removeUser(userId: string, audit?: AuditEntry): Promise<boolean>;

  /** False: the prefix is taken, or was that of another key when it was made. */
  createKey(key: ApiKey, hash: SecretHash, facts?: KeyFacts): Promise<boolean>;
  key(keyId: string): Promise<ApiKey | undefined>;
  keys(query: KeyQuery): Promise<ApiKey[]>;
  keyToCheck(prefix: string): Promise<FoundKey | undefined>;
  /** False: there is none. */
  renameKey(keyId: string, name: string, audit?: AuditEntries): Promise<boolean>;
  /** False: there is none with that prefix any more. */
  rotateKey(keyId: string, rotation: Rotation, audit?: AuditEntries): Promise<boolean>;
  removeKey(keyId: string, audit?: AuditEntries): Promise<boolean>;
  /** Those that expired before this instant; answers how many. */
  removeExpiredKeys(beforeMs: number): Promise<number>;

  /**
   * The holder uses the admin key with this digest, and no other from now on. Holders that have not been here since unusedSinceMs use
   * none. Sessions and tickets of keys that nobody uses are removed.
   */
  useAdminKey(
    key: { readonly holder: string; readonly digest: SecretHash },
    at: { readonly nowMs: number; readonly unusedSinceMs: number },
  ): Promise<void>;
  /** A ticket that opens one session, on any server. Those that have expired by this instant are removed. */
  addTicket(ticket: NewTicket, nowMs: number): Promise<void>;
  /**
   * False: the user is gone, disabled, or has another password by now than the one that was checked; or the ticket is not there, has
   * expired, or was used, also by somebody else at the same instant; or nobody uses the admin key.
   */
  createSession(session: Session, hash: SecretHash, opening?: SignInFacts): Promise<boolean>;
  /** Undefined also for one of an admin key that nobody uses any more. */
  sessionToCheck(hash: SecretHash): Promise<FoundSession | undefined>;
  sessions(query: SessionQuery): Promise<Session[]>;
  session(sessionId: string): Promise<Session | undefined>;
  removeSession(sessionId: string, audit?: AuditEntry): Promise<boolean>;
  /** Those that ended, or were not used, before these instants. */
  removeOldSessions(before: { expiresMs: number; lastSeenMs: number }): Promise<number>;
  /** Whether whoever has this name has signed in from there. */
  hasSignedInFrom(name: string, address: string): Promise<boolean>;
  /** Addresses that nobody has signed in from since. */
  forgetAddresses(beforeMs: number): Promise<void>;

  /** Prefixes of keys and hashes of sessions that have not expired: what may be shown and found. */
  credentialNames(nowMs: number): Promise<string[]>;
  /** Moves times of use forward, never back. */
  noteUses(uses: { readonly keys: readonly KeyUse[]; readonly sessions: readonly Use[] }): Promise<void>;
}
