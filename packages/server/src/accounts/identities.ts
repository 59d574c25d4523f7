/**
 * Who owns a key or a session. What the storage answers is cached for a few seconds, so that a request costs one hash and no
 * round trip; a change made on this server counts here at once, on every other within that time.
 */
import { timingSafeEqual } from 'node:crypto';
import {
  ADMIN_KEY_ID,
  Cache,
  type Caller,
  type Credential,
  EVERYWHERE,
  grantsWithin,
  holdsAll,
  type Origin,
  Refusal,
  type Session,
  type User,
} from '@carillon/domain';
import type { Clock } from '@carillon/foundation';
import type { AccountStore, FoundKey, FoundSession, KeyUse } from '../storage/account-store.ts';
import { FailureBudget } from './failure-budget.ts';
import { hashSecret, isMistyped, isToken, prefixOf, secretDigest } from './secrets.ts';

type Identity = Omit<Caller, 'origin'>;

interface KnownKey {
  readonly hash: Buffer;
  readonly keyId: string;
  /** Of the secret that was shown. */
  readonly expiresAtMs: number | undefined;
  /** That secret is the one before the last rotation. */
  readonly isPrevious: boolean;
  /** Undefined: its owner is disabled. */
  readonly identity: Identity | undefined;
}

interface KnownSession {
  readonly sessionId: string;
  readonly expiresAtMs: number;
  lastSeenAtMs: number;
  readonly identity: Identity;
}

export interface IdentitiesOptions {
  readonly store: Pick<AccountStore, 'keyToCheck' | 'sessionToCheck' | 'noteUses' | 'credentialNames'>;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly sessionIdleMs: number;
}

export const CACHED_MS = 5_000;
const CACHED_MAX = 10_000;
const UNKNOWN_MAX = 1_000;
/** While somebody guesses, all that are valid are read once in this time, however many guesses come. */
const NAMES_MS = 10_000;

export class Identities {
  readonly #options: IdentitiesOptions;
  readonly #keys: Cache<string, KnownKey>;
  readonly #sessions: Cache<string, KnownSession>;
  /** Separate, so that a flood of wrong credentials does not evict the valid ones. */
  #unknown: Cache<string, true>;
  readonly #failures: FailureBudget;
  /** Under one key: prefixes of keys and hashes of sessions, all that there are. */
  readonly #names: Cache<'all', ReadonlySet<string>>;
  #keyUses = new Map<string, Omit<KeyUse, 'id'>>();
  #sessionUses = new Map<string, number>();

  constructor(options: IdentitiesOptions) {
    this.#options = options;
    this.#keys = this.#cache(CACHED_MAX);
    this.#sessions = this.#cache(CACHED_MAX);
    this.#unknown = this.#cache(UNKNOWN_MAX);
    const { clock } = options;
    this.#names = new Cache({ entriesMax: 1, expiry: { ttlMs: NAMES_MS, clock } });
    this.#failures = new FailureBudget({ clock, isValid: (name) => this.#isValid(name) });
  }

  /** digest: of the complete key, if it was computed already. */
  async ofKey(key: string, origin: Origin, digest = secretDigest(key)): Promise<Caller> {
    const prefix = prefixOf(key);
    if (prefix === undefined) throw invalidKey(key);
    const known =
      this.#keys.get(prefix) ?? (isMistyped(key) ? undefined : await this.#findKey(prefix, origin.address));
    if (!known || !timingSafeEqual(digest, known.hash)) throw invalidKey(key);
    // From here on the caller has proven the complete key: the refusal may say what is wrong with it.
    const nowMs = this.#options.clock.now();
    if (known.expiresAtMs !== undefined && known.expiresAtMs <= nowMs) {
      const reason = known.isPrevious ? 'was rotated: the new one takes its place' : 'has expired';
      throw new Refusal('unauthorized', `The key ${reason}.`);
    }
    if (!known.identity) throw new Refusal('unauthorized', 'The user that the key belongs to is disabled.');
    this.#noteKeyUse(known, nowMs, origin.address);
    return { ...known.identity, origin };
  }

  async ofSession(token: string, origin: Origin): Promise<Caller> {
    const hash = isToken(token) ? hashSecret(token) : undefined;
    const known =
      hash === undefined
        ? undefined
        : (this.#sessions.get(hash) ?? (await this.#findSession(hash, origin.address)));
    const nowMs = this.#options.clock.now();
    if (!known || known.expiresAtMs <= nowMs || known.lastSeenAtMs + this.#options.sessionIdleMs <= nowMs) {
      throw new Refusal('unauthorized', 'The session has ended; sign in again.');
    }
    known.lastSeenAtMs = nowMs;
    this.#sessionUses.set(known.sessionId, nowMs);
    return { ...known.identity, origin };
  }

  /** Users, keys or sessions were changed on this server. */
  forget(): void {
    this.#keys.clear();
    this.#sessions.clear();
    this.#names.clear();
    // A new one: a read that began before the change adds to the old one.
    this.#unknown = this.#cache(UNKNOWN_MAX);
  }

  /** Records when keys and sessions were last used; what fails is recorded with the next call. */
  async recordUses(): Promise<void> {
    const [keys, sessions] = [this.#keyUses, this.#sessionUses];
    if (keys.size === 0 && sessions.size === 0) return;
    [this.#keyUses, this.#sessionUses] = [new Map(), new Map()];
    try {
      await this.#options.store.noteUses({
        keys: Array.from(keys, ([id, use]) => ({ id, ...use })),
        sessions: Array.from(sessions, ([id, atMs]) => ({ id, atMs })),
      });
    } catch (error) {
      for (const [id, use] of keys) if (!this.#keyUses.has(id)) this.#keyUses.set(id, use);
      for (const [id, atMs] of sessions) if (!this.#sessionUses.has(id)) this.#sessionUses.set(id, atMs);
      throw error;
    }
  }

  /** Nearly always the entry is there: a key that sends many requests makes no new object for each. */
  #noteKeyUse({ keyId, isPrevious }: KnownKey, atMs: number, address: string | undefined): void {
    const before = this.#keyUses.get(keyId);
    if (before?.atMs === atMs && before.address === address && !isPrevious) return;
    this.#keyUses.set(keyId, { atMs, address, previousAtMs: isPrevious ? atMs : before?.previousAtMs });
  }

  #findKey(prefix: string, address: string | undefined): Promise<KnownKey | undefined> {
    return this.#find({ name: prefix, address }, this.#keys, async () => {
      const found = await this.#options.store.keyToCheck(prefix);
      return found && knownKey(found);
    });
  }

  #findSession(hash: string, address: string | undefined): Promise<KnownSession | undefined> {
    return this.#find({ name: hash, address }, this.#sessions, async () => {
      const found = await this.#options.store.sessionToCheck(hash);
      return found && knownSession(found, this.#sessionUses.get(found.session.sessionId));
    });
  }

  async #find<Known>(
    wanted: { name: string; address: string | undefined },
    cache: Cache<string, Known>,
    read: () => Promise<Known | undefined>,
  ): Promise<Known | undefined> {
    const unknown = this.#unknown;
    if (unknown.get(wanted.name)) return undefined;
    const found = await cache.getOrLoad(wanted.name, () => this.#failures.spend(wanted, read));
    if (!found) unknown.set(wanted.name, true);
    return found;
  }

  async #isValid(name: string): Promise<boolean> {
    const { store, clock } = this.#options;
    const names = await this.#names.getOrLoad(
      'all',
      async () => new Set(await store.credentialNames(clock.now())),
    );
    return names.has(name);
  }

  #cache<Value>(entriesMax: number): Cache<string, Value> {
    return new Cache({ entriesMax, expiry: { ttlMs: CACHED_MS, clock: this.#options.clock } });
  }
}

function knownKey({ key, hash, isPrevious, owner }: FoundKey): KnownKey {
  const { keyId, name, ownerId, makerId, grants, scopes, offers, previous } = key;
  const usable = ownerId === undefined || (owner !== undefined && !owner.disabled);
  const ends = [key.expiresAtMs, isPrevious ? previous?.expiresAtMs : undefined];
  const expiresAtMs = ends.reduce((a, b) => (a === undefined || b === undefined ? (a ?? b) : Math.min(a, b)));
  return {
    hash: Buffer.from(hash, 'hex'),
    keyId,
    expiresAtMs,
    isPrevious,
    identity: usable
      ? {
          kind: 'key',
          id: keyId,
          name,
          userId: owner?.userId,
          userName: owner?.name,
          credential: { kind: 'key', id: keyId, name, makerId, expiresAtMs, isPrevious },
          grants: owner ? grantsWithin(grants, owner.grants) : grants,
          isLesser: owner && !holdsAll(grants, owner.grants),
          scopes,
          offers,
        }
      : undefined,
  };
}

function knownSession({ session, user }: FoundSession, usedAtMs = 0): KnownSession {
  const { sessionId, expiresAtMs, lastSeenAtMs } = session;
  return {
    sessionId,
    expiresAtMs,
    lastSeenAtMs: Math.max(lastSeenAtMs, usedAtMs),
    identity: { ...(user ? userIdentity(user) : ADMIN), credential: sessionCredential(session) },
  };
}

/** One of nobody is named after what opened it: the audit log tells the admin key and a ticket apart. */
export function sessionCredential(session: Session): Credential {
  const { sessionId, userId, method, createdAtMs, expiresAtMs } = session;
  return {
    ...{ kind: 'session', id: sessionId, name: userId === undefined ? method : undefined, expiresAtMs },
    ...(method !== 'password' && { provenAtMs: createdAtMs }),
  };
}

/** Whoever has the admin key, or a session that was opened with it. */
export const ADMIN: Identity = {
  kind: 'key',
  id: ADMIN_KEY_ID,
  name: 'admin key',
  userId: undefined,
  grants: [{ namespace: EVERYWHERE, role: 'admin', ownOnly: false }],
  scopes: undefined,
};

export function userIdentity(user: User): Identity {
  const { userId, name } = user;
  const grants = user.disabled ? [] : user.grants;
  return { kind: 'user', id: userId, name, userId, userName: name, grants, scopes: undefined };
}

/** The same for an unknown key and for a wrong secret. */
function invalidKey(key: string): Refusal {
  const message = isMistyped(key)
    ? 'The key is mistyped or incomplete: its last characters do not fit the others.'
    : 'The key is not valid.';
  return new Refusal('unauthorized', message);
}
