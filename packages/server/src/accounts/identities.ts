/**
 * Who owns a key or a session. What the storage answers is cached for a few seconds, so that a request costs one hash and no
 * round trip; a change made on this server counts here at once, on every other within that time.
 */
import { timingSafeEqual } from 'node:crypto';
import { Cache, type Caller, grantWithin, type Origin, Refusal, type User } from '@carillon/domain';
import type { Clock } from '@carillon/foundation';
import type { AccountStore, FoundKey, FoundSession, Use } from '../storage/account-store.ts';
import { hashSecret, isToken, prefixOf, secretDigest } from './secrets.ts';

type Identity = Omit<Caller, 'origin'>;

interface KnownKey {
  readonly hash: Buffer;
  readonly keyId: string;
  readonly expiresAtMs: number | undefined;
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
  readonly store: Pick<AccountStore, 'keyToCheck' | 'sessionToCheck' | 'noteUses'>;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly sessionIdleMs: number;
}

export const CACHED_MS = 5_000;
const CACHED_MAX = 10_000;
const UNKNOWN_MAX = 1_000;

export class Identities {
  readonly #options: IdentitiesOptions;
  readonly #keys: Cache<string, KnownKey>;
  readonly #sessions: Cache<string, KnownSession>;
  /** Separate, so that a flood of wrong credentials does not evict the valid ones. */
  #unknown: Cache<string, true>;
  #keyUses = new Map<string, number>();
  #sessionUses = new Map<string, number>();

  constructor(options: IdentitiesOptions) {
    this.#options = options;
    this.#keys = this.#cache(CACHED_MAX);
    this.#sessions = this.#cache(CACHED_MAX);
    this.#unknown = this.#cache(UNKNOWN_MAX);
  }

  /** digest: of the complete key, if it was computed already. */
  async ofKey(key: string, origin: Origin, digest = secretDigest(key)): Promise<Caller> {
    const prefix = prefixOf(key);
    if (prefix === undefined) throw invalidKey();
    const known = this.#keys.get(prefix) ?? (await this.#findKey(prefix));
    if (!known || !timingSafeEqual(digest, known.hash)) throw invalidKey();
    // From here on the caller has proven the complete key: the refusal may say what is wrong with it.
    const nowMs = this.#options.clock.now();
    if (known.expiresAtMs !== undefined && known.expiresAtMs <= nowMs) {
      throw new Refusal('unauthorized', 'The key has expired.');
    }
    if (!known.identity) throw new Refusal('unauthorized', 'The user that the key belongs to is disabled.');
    this.#keyUses.set(known.keyId, nowMs);
    return { ...known.identity, origin };
  }

  async ofSession(token: string, origin: Origin): Promise<Caller> {
    const hash = isToken(token) ? hashSecret(token) : undefined;
    const known =
      hash === undefined ? undefined : (this.#sessions.get(hash) ?? (await this.#findSession(hash)));
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
    // A new one: a read that began before the change adds to the old one.
    this.#unknown = this.#cache(UNKNOWN_MAX);
  }

  /** Records when keys and sessions were last used; what fails is recorded with the next call. */
  async recordUses(): Promise<void> {
    const [keys, sessions] = [this.#keyUses, this.#sessionUses];
    if (keys.size === 0 && sessions.size === 0) return;
    [this.#keyUses, this.#sessionUses] = [new Map(), new Map()];
    try {
      await this.#options.store.noteUses({ keys: usesOf(keys), sessions: usesOf(sessions) });
    } catch (error) {
      for (const [id, atMs] of keys) if (!this.#keyUses.has(id)) this.#keyUses.set(id, atMs);
      for (const [id, atMs] of sessions) if (!this.#sessionUses.has(id)) this.#sessionUses.set(id, atMs);
      throw error;
    }
  }

  #findKey(prefix: string): Promise<KnownKey | undefined> {
    return this.#find(prefix, this.#keys, async () => {
      const found = await this.#options.store.keyToCheck(prefix);
      return found && knownKey(found);
    });
  }

  #findSession(hash: string): Promise<KnownSession | undefined> {
    return this.#find(hash, this.#sessions, async () => {
      const found = await this.#options.store.sessionToCheck(hash);
      return found && knownSession(found, this.#sessionUses.get(found.session.sessionId));
    });
  }

  async #find<Known>(
    name: string,
    cache: Cache<string, Known>,
    read: () => Promise<Known | undefined>,
  ): Promise<Known | undefined> {
    const unknown = this.#unknown;
    if (unknown.get(name)) return undefined;
    const found = await cache.getOrLoad(name, read);
    if (!found) unknown.set(name, true);
    return found;
  }

  #cache<Value>(entriesMax: number): Cache<string, Value> {
    return new Cache({ entriesMax, expiry: { ttlMs: CACHED_MS, clock: this.#options.clock } });
  }
}

function knownKey({ key, hash, owner }: FoundKey): KnownKey {
  const usable = key.ownerId === undefined || (owner !== undefined && !owner.disabled);
  return {
    hash: Buffer.from(hash, 'hex'),
    keyId: key.keyId,
    expiresAtMs: key.expiresAtMs,
    identity: usable
      ? {
          kind: 'key',
          id: key.keyId,
          name: key.name,
          userId: owner?.userId,
          grants: owner ? grantWithin(key.grant, owner.grants) : [key.grant],
          scopes: key.scopes,
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
    identity: userIdentity(user),
  };
}

export function userIdentity(user: User): Identity {
  const { userId, name, grants } = user;
  return { kind: 'user', id: userId, name, userId, grants: user.disabled ? [] : grants, scopes: undefined };
}

/** The same for an unknown key and for a wrong secret. */
function invalidKey(): Refusal {
  return new Refusal('unauthorized', 'The key is not valid.');
}

function usesOf(uses: ReadonlyMap<string, number>): Use[] {
  return Array.from(uses, ([id, atMs]) => ({ id, atMs }));
}
