/**
 * What operations and doors share about people: who stands behind a credential, which namespaces exist, how passwords are
 * checked and guesses slowed. Its service writes down times of use and clears away what has ended.
 */
import { type Clock, type Log, Loop, type Random, type Service, sleep } from '@carillon/foundation';
import type { Counters } from '../../counters/counters.ts';
import type { AccountStore } from '../../storage/account-store.ts';
import { Identities } from './identities.ts';
import { KnownNamespaces } from './known-namespaces.ts';
import { type HashCost, Passwords } from './passwords.ts';
import { SignInGuard } from './sign-in-guard.ts';

export interface SessionTimes {
  /** A session that is not used for this long ends. */
  readonly idleMs: number;
  /** It ends after this long, however much it is used. */
  readonly maxMs: number;
}

export const DEFAULT_SESSION_TIMES: SessionTimes = { idleMs: 12 * 3_600_000, maxMs: 7 * 24 * 3_600_000 };

export interface AccountsOptions {
  readonly store: AccountStore;
  readonly counters: Counters;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly sessionTimes?: SessionTimes;
  /** Cheaper in tests. */
  readonly hashCost?: HashCost;
}

const NOTE_USES_MS = 60_000;
const STOP_MS_MAX = 1_000;
/** Ten passes: what has ended is refused anyway, and only takes up room. */
const CLEAR_AWAY_EVERY = 10;
const COUNTS_KEPT_MS = 15 * 60_000;
/** Who has not signed in from somewhere for so long is a stranger there again. */
const ADDRESSES_KEPT_MS = 90 * 24 * 3_600_000;

export class Accounts implements Service {
  readonly store: AccountStore;
  readonly identities: Identities;
  readonly namespaces: KnownNamespaces;
  readonly passwords: Passwords;
  readonly signIns: SignInGuard;
  readonly sessionTimes: SessionTimes;
  readonly #counters: Counters;
  readonly #clock: Clock;
  readonly #loop: Loop;
  #passes = 0;

  constructor(options: AccountsOptions) {
    const { store, counters, clock, random, log } = options;
    this.store = store;
    this.sessionTimes = options.sessionTimes ?? DEFAULT_SESSION_TIMES;
    this.identities = new Identities({ store, clock, sessionIdleMs: this.sessionTimes.idleMs });
    this.namespaces = new KnownNamespaces({ store, clock });
    this.passwords = new Passwords(options.hashCost);
    this.signIns = new SignInGuard({ counters, clock, store });
    this.#counters = counters;
    this.#clock = clock;
    this.#loop = new Loop({
      ...{ name: 'accounts', clock, random, log },
      idleMs: NOTE_USES_MS,
      runOnce: () => this.runOnce(),
    });
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    // The last minute of uses. A storage that is away must not hold up the stop; nothing depends on them.
    const noted = new AbortController();
    const note = this.identities.noteUses().then(
      () => noted.abort(),
      () => noted.abort(),
    );
    await Promise.race([note, sleep(this.#clock, STOP_MS_MAX, noted.signal)]);
  }

  async runOnce(): Promise<undefined> {
    await this.identities.noteUses();
    if (this.#passes++ % CLEAR_AWAY_EVERY === 0) {
      const nowMs = this.#clock.now();
      // Other servers note uses as late as we do.
      const lastSeenMs = nowMs - this.sessionTimes.idleMs - 2 * NOTE_USES_MS;
      await this.store.removeOldSessions({ expiresMs: nowMs, lastSeenMs });
      await this.store.forgetAddresses(nowMs - ADDRESSES_KEPT_MS);
      await this.#counters.forget(nowMs - COUNTS_KEPT_MS);
    }
    return undefined;
  }
}
