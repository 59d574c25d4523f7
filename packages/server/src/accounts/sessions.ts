/**
 * Sessions: sign in and out. An unknown name, a wrong password and a disabled user are refused with the same message after
 * the same time, so that nobody learns which accounts exist. The admin key, and a ticket that a server printed, open a session
 * that belongs to nobody, may everything, does not last long, and ends when no server uses that key any more.
 */
import {
  type Caller,
  may,
  type Origin,
  personBehind,
  Refusal,
  requireMay,
  type Session,
  type SignInMethod,
  stranger,
  type User,
} from '@carillon/domain';
import { auditEntry } from '../audit/audit-log.ts';
import type { SignInFacts } from '../storage/account-store.ts';
import type { AccountParts } from './accounts.ts';
import { addressGroup } from './address-group.ts';
import { type AdminKey, useAdminKey } from './admin-key.ts';
import { countAttempt } from './count-attempt.ts';
import { ADMIN, sessionCredential, userIdentity } from './identities.ts';
import { type OutsidePerson, outsideUser } from './outside-users.ts';
import { hashSecret, isToken, newToken } from './secrets.ts';
import { userSubject } from './users.ts';

export interface SignedIn {
  /** Undefined: the session is one of the admin key. */
  readonly user: User | undefined;
  readonly session: Session;
  /** For the cookie; only its hash is stored. */
  readonly token: string;
}

export interface ListSessionsQuery {
  readonly userId?: string | undefined;
  /** Of everybody. */
  readonly all?: boolean | undefined;
  readonly afterSessionId?: string | undefined;
  readonly limit: number;
}

const TICKET_MS = 10 * 60_000;
/** However long sessions of people last: everybody with the cookie may everything. */
const ADMIN_SESSION_MS_MAX = 12 * 3_600_000;
const TICKET_REFUSED = {
  message: 'The link was used before, or is more than 10 minutes old.',
  fix: 'Sign in with a password or the admin key, or restart the server for a new link.',
};
const ADMIN_KEY_REFUSED = {
  message: 'The key is not the admin key of this server.',
  fix: 'The admin key is in the file admin.key of the data folder. Other keys open no session: programs send them in Authorization.',
};

export function sessionOperations(parts: AccountParts) {
  const { store, audit, passwords, identities, sessionTimes, clock, random } = parts;
  const { adminKey } = parts;

  const newSession = (user: User | undefined, method: SignInMethod, origin: Origin): Session => {
    const nowMs = clock.now();
    const { address, userAgent } = origin;
    const maxMs = user ? sessionTimes.maxMs : Math.min(sessionTimes.maxMs, ADMIN_SESSION_MS_MAX);
    const times = { createdAtMs: nowMs, lastSeenAtMs: nowMs, expiresAtMs: nowMs + maxMs };
    const whose = { userId: user?.userId, userName: user?.name, method };
    return { sessionId: random.id(), ...whose, ...times, address, userAgent };
  };

  const openingEntry = (session: Session, opener: Caller) =>
    auditEntry(
      opener,
      {
        ...{ action: 'session.sign_in', ...sessionSubject(session) },
        ...(session.method !== 'password' && { after: { method: session.method } }),
      },
      session.createdAtMs,
    );

  const openAdminSession = async (
    { origin }: Caller,
    method: SignInMethod,
    facts: Pick<SignInFacts, 'ticketHash' | 'adminKey'>,
  ): Promise<SignedIn | undefined> => {
    const session = newSession(undefined, method, origin);
    const token = newToken();
    const audit = openingEntry(session, { ...ADMIN, credential: sessionCredential(session), origin });
    const opened = await store.createSession(session, hashSecret(token), { ...facts, audit });
    return opened ? { user: undefined, session, token } : undefined;
  };

  /** Also where the storage has forgotten it, because it was away for long. */
  const keyInUse = async (key: AdminKey): Promise<string> => {
    await useAdminKey(key, { store, clock });
    return key.digest;
  };

  const refuseAdmin = async (
    caller: Caller,
    { message, fix }: { message: string; fix: string },
  ): Promise<never> => {
    const subject = { kind: 'user', id: 'unknown' };
    await audit.record(caller, { action: 'session.refused', namespace: undefined, subject });
    throw new Refusal('sign_in_refused', message, { fix });
  };

  const leave = async (session: Session, caller: Caller): Promise<void> => {
    const change = { action: 'session.sign_out', ...sessionSubject(session) };
    await store.removeSession(session.sessionId, auditEntry(caller, change, clock.now()));
    identities.forget();
  };

  return {
    /** For the greeting of a server: opens one session of the admin key, on any server of the storage. Only its hash is stored. */
    async issueTicket(caller: Caller): Promise<string> {
      requireMay(caller, 'users.manage');
      if (!adminKey) throw new Error('there is no admin key that a ticket could stand for');
      const ticket = newToken();
      const nowMs = clock.now();
      const expiresAtMs = nowMs + TICKET_MS;
      await store.addTicket(
        { hash: hashSecret(ticket), expiresAtMs, adminKey: await keyInUse(adminKey) },
        nowMs,
      );
      return ticket;
    },

    /** Guesses count for their address: nobody can be kept out from elsewhere, since what is guessed differs. */
    async signInWithTicket(caller: Caller, { ticket }: { ticket: string }): Promise<SignedIn> {
      const attempt = await countAttempt(parts, { name: `ticket ${ticket}`, actor: caller });
      const opened =
        isToken(ticket) && (await openAdminSession(caller, 'ticket', { ticketHash: hashSecret(ticket) }));
      if (!opened) return refuseAdmin(caller, TICKET_REFUSED);
      await attempt.succeeded();
      return opened;
    },

    /** isAdminKey: whether it is that of the server that was asked. */
    async signInWithAdminKey(
      caller: Caller,
      { key, isAdminKey }: { key: string; isAdminKey: (key: string) => boolean },
    ): Promise<SignedIn> {
      const attempt = await countAttempt(parts, { name: `key ${key}`, actor: caller });
      const opened =
        adminKey &&
        isAdminKey(key) &&
        (await openAdminSession(caller, 'admin_key', { adminKey: await keyInUse(adminKey) }));
      if (!opened) return refuseAdmin(caller, ADMIN_KEY_REFUSED);
      await attempt.succeeded();
      return opened;
    },

    /**
     * With a provider: identify answers whom it vouches for, and throws if it does not. state: what the attempt is counted by, besides
     * its address.
     */
    async signInFromOutside(
      { origin }: Caller,
      { state, identify }: { state: string; identify: () => Promise<OutsidePerson> },
    ): Promise<SignedIn> {
      const attempt = await countAttempt(parts, { name: `oidc ${state}`, actor: stranger(origin) });
      const user = await identify()
        .then((person) => outsideUser(parts, origin, person))
        .catch(async (error: unknown) => {
          const subject = { kind: 'user', id: 'unknown' };
          await audit.record(stranger(origin), {
            ...{ action: 'session.refused', namespace: undefined, subject },
            after: { method: 'oidc' },
          });
          throw error;
        });
      const session = newSession(user, 'oidc', origin);
      const token = newToken();
      const opened = await store.createSession(session, hashSecret(token), {
        address: origin.address === undefined ? undefined : addressGroup(origin.address),
        audit: openingEntry(session, { ...userIdentity(user), origin }),
      });
      if (!opened) throw new Refusal('sign_in_refused', 'The user was removed or disabled.');
      await attempt.succeeded();
      return { user, session, token };
    },

    /** The caller is not known yet; only their origin counts. */
    async signIn(caller: Caller, given: { name: string; password: string }): Promise<SignedIn> {
      const { origin } = caller;
      const name = given.name.trim().toLowerCase();
      const attempt = await countAttempt(parts, {
        ...{ name, actor: stranger(origin) },
        whose: async () => attemptedBy((await store.userToSignIn(name))?.user, origin),
      });
      const found = await store.userToSignIn(name);
      const isCorrect = await passwords.verify(given.password, found?.passwordHash ?? undefined);
      const session =
        found && isCorrect && !found.user.disabled ? newSession(found.user, 'password', origin) : undefined;
      const token = newToken();
      // The storage compares the password hash again: it may have changed during the slow check.
      const opened =
        session &&
        (await store.createSession(session, hashSecret(token), {
          checkedPasswordHash: found!.passwordHash ?? undefined,
          address: origin.address === undefined ? undefined : addressGroup(origin.address),
          audit: openingEntry(session, { ...userIdentity(found!.user), origin }),
        }));
      if (!found || !session || !opened) {
        // An unknown name is not recorded: sometimes it is a password typed into the wrong field.
        const { actor } = attemptedBy(found?.user, origin);
        const subject = userSubject(found?.user ?? { userId: 'unknown' });
        await audit.record(actor, { action: 'session.refused', ...subject });
        const message = 'The name or the password is wrong, or the user is disabled.';
        throw new Refusal('sign_in_refused', message);
      }
      await attempt.succeeded();
      return { user: found.user, session, token };
    },

    /** The session of a token, if it is the caller's. */
    async getSession(caller: Caller, token: string): Promise<Session | undefined> {
      const found = await store.sessionToCheck(hashSecret(token));
      return found?.session.sessionId === caller.credential?.id ? found?.session : undefined;
    },

    async signOut(caller: Caller, token: string): Promise<void> {
      const found = await store.sessionToCheck(hashSecret(token));
      if (!found || found.session.sessionId !== caller.credential?.id) return;
      await leave(found.session, caller);
    },

    /** Whoever signs in again from a browser leaves the session that it had: nobody sees that one any more, and it might do everything. */
    async leaveFormerSession({ origin }: Caller, tokenHash: string): Promise<void> {
      const found = await store.sessionToCheck(tokenHash);
      if (!found) return;
      const { session, user } = found;
      const whose = user ? userIdentity(user) : ADMIN;
      await leave(session, { ...whose, credential: sessionCredential(session), origin });
    },

    /** One's own; another user's, or with `all` those of everybody, as an administrator. A key of nobody asks for all. */
    async listSessions(caller: Caller, query: ListSessionsQuery): Promise<Session[]> {
      const own = query.all ? undefined : caller.userId;
      const userId = query.userId ?? own;
      if (!isOfCaller(caller, userId)) requireMay(caller, 'users.read');
      const nowMs = clock.now();
      return await store.sessions({
        ...{ userId, afterSessionId: query.afterSessionId, limit: query.limit },
        expiresAfterMs: nowMs,
        seenAfterMs: nowMs - sessionTimes.idleMs,
      });
    },

    async revokeSession(caller: Caller, sessionId: string): Promise<void> {
      const session = await store.session(sessionId);
      const own = isOfCaller(caller, session?.userId);
      // Another user's session is refused as if it did not exist, unless the caller manages users.
      if (!own && !isOfCaller(caller, caller.userId)) requireMay(caller, 'users.manage');
      const visible = own || (session !== undefined && may(caller, 'users.manage'));
      const change = { action: 'session.revoke', ...sessionSubject({ sessionId }) };
      const removed =
        visible && (await store.removeSession(sessionId, auditEntry(caller, change, clock.now())));
      if (!removed) throw new Refusal('session_not_found', `There is no session ${sessionId}.`);
      identities.forget();
    },
  };
}

function attemptedBy(user: User | undefined, origin: Origin): { actor: Caller; user: User | undefined } {
  return { actor: user ? { ...userIdentity(user), origin } : stranger(origin), user };
}

function isOfCaller(caller: Caller, userId: string | undefined): boolean {
  return userId !== undefined && userId === personBehind(caller);
}

function sessionSubject({ sessionId }: Pick<Session, 'sessionId'>) {
  return { namespace: undefined, subject: { kind: 'session', id: sessionId } };
}
