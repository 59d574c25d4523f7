/**
 * Accounts: users, API keys, sessions and namespaces, who owns a credential, and the guard against password guessing. Its
 * service records times of use and deletes what has expired.
 */
import { type Clock, type Log, Loop, type Random, type Service, sleep } from '@carillon/foundation';
import type { AuditLog } from '../audit/audit-log.ts';
import type { Counters } from '../counters/counters.ts';
import type { AccountStore } from '../storage/account-store.ts';
import { type AdminKey, useAdminKey } from './admin-key.ts';
import { Identities } from './identities.ts';
import { keyOperations } from './keys.ts';
import { KnownNamespaces } from './known-namespaces.ts';
import { namespaceOperations } from './namespaces.ts';
import { type HashCost, Passwords } from './passwords.ts';
import { sessionOperations } from './sessions.ts';
import { SignInGuard } from './sign-in-guard.ts';
import { userOperations } from './users.ts';

export interface SessionTimes {
  /** A session that is not used for this long ends. */
  readonly idleMs: number;
  /** It ends after this long, however much it is used. */
  readonly maxMs: number;
}

const DEFAULT_SESSION_TIMES: SessionTimes = { idleMs: 12 * 3_600_000, maxMs: 7 * 24 * 3_600_000 };

export interface AccountsOptions {
  readonly store: AccountStore;
  readonly audit: AuditLog;
  readonly counters: Counters;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly sessionTimes?: SessionTimes;
  /** Left out: it opens no session here. */
  readonly adminKey?: AdminKey | undefined;
  /** Cheaper in tests. */
  readonly hashCost?: HashCost;
}

/** What the operations on users, keys, sessions and namespaces share. */
export interface AccountParts {
  readonly store: AccountStore;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly random: Random;
  readonly identities: Identities;
  readonly namespaces: KnownNamespaces;
  readonly passwords: Passwords;
  readonly signIns: SignInGuard;
  readonly sessionTimes: SessionTimes;
  readonly adminKey: AdminKey | undefined;
}

const RECORD_USES_MS = 60_000;
const STOP_MS_MAX = 1_000;
/** Ten passes: expired rows are refused anyway, and only take up space. */
const DELETE_EXPIRED_EVERY = 10;
const COUNTS_KEPT_MS = 15 * 60_000;
/** An address that a user has not signed in from for so long is unknown again. */
const ADDRESSES_KEPT_MS = 90 * 24 * 3_600_000;
/** So long, lists still explain what an expired key in the audit log was. */
const EXPIRED_KEYS_KEPT_MS = 30 * 24 * 3_600_000;

export class Accounts implements Service {
  readonly identities: Identities;
  readonly namespaces: KnownNamespaces;
  readonly operations: ReturnType<typeof accountOperations>;
  readonly #store: AccountStore;
  readonly #sessionTimes: SessionTimes;
  readonly #adminKey: AdminKey | undefined;
  readonly #counters: Counters;
  readonly #clock: Clock;
  readonly #loop: Loop;
  #passes = 0;

  constructor(options: AccountsOptions) {
    const { store, audit, counters, clock, random, log, adminKey } = options;
    const { sessionTimes = DEFAULT_SESSION_TIMES } = options;
    this.identities = new Identities({ store, clock, sessionIdleMs: sessionTimes.idleMs });
    this.namespaces = new KnownNamespaces({ store, clock });
    this.operations = accountOperations({
      ...{ store, audit, clock, random, sessionTimes, adminKey },
      identities: this.identities,
      namespaces: this.namespaces,
      passwords: new Passwords(options.hashCost),
      signIns: new SignInGuard({ counters, clock, store }),
    });
    this.#store = store;
    this.#sessionTimes = sessionTimes;
    this.#adminKey = adminKey;
    this.#counters = counters;
    this.#clock = clock;
    this.#loop = new Loop({
      ...{ name: 'accounts', clock, random, log },
      idleMs: RECORD_USES_MS,
      runOnce: () => this.runOnce(),
    });
  }

  /** What users are called, for those who see what belongs to them. Ids that no user has are left out. */
  subjectNames(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return this.#store.subjectNames(ids);
  }

  userNames(userIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return this.#store.userNames(userIds);
  }

  /** Resolves when what was opened with an admin key that was replaced has ended. */
  async start(): Promise<void> {
    await this.#useAdminKey();
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    // The last minute of uses. An unreachable storage must not delay the stop; nothing depends on these times.
    const recorded = new AbortController();
    const record = this.identities.recordUses().then(
      () => recorded.abort(),
      () => recorded.abort(),
    );
    await Promise.race([record, sleep(this.#clock, STOP_MS_MAX, recorded.signal)]);
  }

  async runOnce(): Promise<undefined> {
    await this.identities.recordUses();
    await this.#useAdminKey();
    if (this.#passes++ % DELETE_EXPIRED_EVERY === 0) {
      const nowMs = this.#clock.now();
      // Other servers record uses as late as this one.
      const lastSeenMs = nowMs - this.#sessionTimes.idleMs - 2 * RECORD_USES_MS;
      await this.#store.removeOldSessions({ expiresMs: nowMs, lastSeenMs });
      await this.#store.removeExpiredKeys(nowMs - EXPIRED_KEYS_KEPT_MS);
      await this.#store.forgetAddresses(nowMs - ADDRESSES_KEPT_MS);
      await this.#counters.forget(nowMs - COUNTS_KEPT_MS);
    }
    return undefined;
  }

  async #useAdminKey(): Promise<void> {
    if (this.#adminKey) await useAdminKey(this.#adminKey, { store: this.#store, clock: this.#clock });
  }
}

function accountOperations(parts: AccountParts) {
  return {
    ...namespaceOperations(parts),
    ...userOperations(parts),
    ...keyOperations(parts),
    // biome-ignore lint/nursery/noMisusedPromises: they are an object, which the rule takes for a promise.
    ...sessionOperations(parts),
  };
}
