/**
 * Sessions: sign in and out. An unknown name, a wrong password and a disabled user are refused with the same message after
 * the same time, so that nobody learns which accounts exist.
 */
import {
  type Caller,
  may,
  type Origin,
  Refusal,
  requireMay,
  type Session,
  stranger,
  type User,
} from '@carillon/domain';
import { auditEntry } from '../audit/audit-log.ts';
import type { AccountParts } from './accounts.ts';
import { addressGroup } from './address-group.ts';
import { userIdentity } from './identities.ts';
import { hashSecret, newToken } from './secrets.ts';
import { userSubject } from './users.ts';

export interface SignedIn {
  readonly user: User;
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

export function sessionOperations(parts: AccountParts) {
  const { store, audit, passwords, signIns, identities, sessionTimes, clock, random } = parts;

  const newSession = ({ userId, name }: User, { address, userAgent }: Origin): Session => {
    const nowMs = clock.now();
    const times = { createdAtMs: nowMs, lastSeenAtMs: nowMs, expiresAtMs: nowMs + sessionTimes.maxMs };
    return { sessionId: random.id(), userId, userName: name, ...times, address, userAgent };
  };

  return {
    /** The caller is not known yet; only their origin counts. */
    async signIn(caller: Caller, given: { name: string; password: string }): Promise<SignedIn> {
      const { origin } = caller;
      const name = given.name.trim().toLowerCase();
      const attempt = await signIns.begin({ name, address: origin.address });
      const found = await store.userToSignIn(name);
      const isCorrect = await passwords.verify(given.password, found?.passwordHash ?? undefined);
      const session = found && isCorrect && !found.user.disabled ? newSession(found.user, origin) : undefined;
      const token = newToken();
      // The storage compares the password hash again: it may have changed during the slow check.
      const opened =
        session &&
        (await store.createSession(session, hashSecret(token), {
          checkedPasswordHash: found!.passwordHash ?? undefined,
          address: origin.address === undefined ? undefined : addressGroup(origin.address),
          audit: auditEntry(
            { ...userIdentity(found!.user), origin },
            { action: 'session.sign_in', ...sessionSubject(session) },
            session.createdAtMs,
          ),
        }));
      if (!found || !session || !opened) {
        // An unknown name is not recorded: sometimes it is a password typed into the wrong field.
        const actor = found ? { ...userIdentity(found.user), origin } : stranger(origin);
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
      return found?.user.userId === caller.userId ? found?.session : undefined;
    },

    async signOut(caller: Caller, token: string): Promise<void> {
      const found = await store.sessionToCheck(hashSecret(token));
      if (found?.user.userId !== caller.userId) return;
      const change = { action: 'session.sign_out', ...sessionSubject(found!.session) };
      await store.removeSession(found!.session.sessionId, auditEntry(caller, change, clock.now()));
      identities.forget();
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

/** A key that is limited to some permissions does not stand for the whole person. */
function isOfCaller(caller: Caller, userId: string | undefined): boolean {
  return userId !== undefined && userId === caller.userId && caller.scopes === undefined;
}

function sessionSubject({ sessionId }: Pick<Session, 'sessionId'>) {
  return { namespace: undefined, subject: { kind: 'session', id: sessionId } };
}
