/**
 * Signing in and out. An unknown name, a wrong password and a disabled user are refused with the same words after the same
 * time, so nobody learns who has an account here.
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
import { auditEntry } from '../audit-log.ts';
import type { OperationPorts } from '../operation-ports.ts';
import { addressGroup } from './address-group.ts';
import { userIdentity } from './identities.ts';
import { hashSecret, newToken } from './secrets.ts';
import { subjectOf } from './user-operations.ts';

export interface SignedIn {
  readonly user: User;
  readonly session: Session;
  /** For the cookie; only its hash is stored. */
  readonly token: string;
}

export function sessionOperations(ports: OperationPorts) {
  const { accounts, audit, clock, random } = ports;
  const { store, passwords, sessionTimes } = accounts;

  const visibleUser = (caller: Caller, userId: string | undefined, action: 'users.read' | 'users.manage') => {
    const own = caller.kind === 'user' ? caller.userId : undefined;
    const asked = userId ?? own;
    if (asked === undefined || asked !== own) requireMay(caller, action);
    return asked;
  };

  const newSession = ({ userId }: User, { address, userAgent }: Origin): Session => {
    const nowMs = clock.now();
    const times = { createdAtMs: nowMs, lastSeenAtMs: nowMs, expiresAtMs: nowMs + sessionTimes.maxMs };
    return { sessionId: random.id(), userId, ...times, address, userAgent };
  };

  return {
    /** The caller is a stranger still; what counts is where they come from. */
    async signIn(caller: Caller, given: { name: string; password: string }): Promise<SignedIn> {
      const { origin } = caller;
      const name = given.name.trim().toLowerCase();
      const attempt = await accounts.signIns.begin({ name, address: origin.address });
      const found = await store.userToSignIn(name);
      const right = await passwords.verify(given.password, found?.passwordHash ?? undefined);
      const session = found && right && !found.user.disabled ? newSession(found.user, origin) : undefined;
      const token = newToken();
      // What was checked may have changed while it was: a password takes its time.
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
        // A name that nobody has is not written down: now and then it is a password.
        const who = found ? { ...userIdentity(found.user), origin } : stranger(origin);
        const subject = found ? subjectOf(found.user) : subjectOf({ userId: 'unknown' });
        await audit.record(who, { action: 'session.refused', ...subject });
        const message = 'The name or the password is wrong, or the user is disabled.';
        throw new Refusal('sign_in_refused', message);
      }
      await attempt.succeeded();
      return { user: found.user, session, token };
    },

    /** The session that a token stands for, as the one who came with it sees it. */
    async getSession(caller: Caller, token: string): Promise<Session | undefined> {
      const found = await store.sessionToCheck(hashSecret(token));
      return found?.user.userId === caller.userId ? found?.session : undefined;
    },

    async signOut(caller: Caller, token: string): Promise<void> {
      const found = await store.sessionToCheck(hashSecret(token));
      if (found?.user.userId !== caller.userId) return;
      const change = { action: 'session.sign_out', ...sessionSubject(found!.session) };
      await store.removeSession(found!.session.sessionId, auditEntry(caller, change, clock.now()));
      accounts.identities.forget();
    },

    /** One's own; those of others as an administrator. */
    async listSessions(caller: Caller, { userId }: { userId?: string | undefined } = {}): Promise<Session[]> {
      const asked = visibleUser(caller, userId, 'users.read');
      if (asked === undefined) return [];
      const nowMs = clock.now();
      const sessions = await store.sessionsOf(asked);
      return sessions.filter(
        ({ expiresAtMs, lastSeenAtMs }) => expiresAtMs > nowMs && lastSeenAtMs + sessionTimes.idleMs > nowMs,
      );
    },

    async revokeSession(caller: Caller, sessionId: string): Promise<void> {
      const session = await store.session(sessionId);
      const own = caller.kind === 'user' && session !== undefined && session.userId === caller.userId;
      // Somebody else's looks as if it were not there, unless the caller manages users.
      if (!own && caller.kind !== 'user') requireMay(caller, 'users.manage');
      const visible = own || (session !== undefined && may(caller, 'users.manage'));
      const change = { action: 'session.revoke', ...sessionSubject({ sessionId }) };
      const removed =
        visible && (await store.removeSession(sessionId, auditEntry(caller, change, clock.now())));
      if (!removed) throw new Refusal('session_not_found', `There is no session ${sessionId}.`);
      accounts.identities.forget();
    },
  };
}

function sessionSubject({ sessionId }: Pick<Session, 'sessionId'>) {
  return { namespace: undefined, subject: { kind: 'session', id: sessionId } };
}
