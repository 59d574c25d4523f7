/**
 * Users: created, changed and removed by administrators of all namespaces, who can grant no more than they have themselves.
 * Passwords are never read back.
 */
import {
  type ApiKey,
  type Caller,
  EVERYWHERE,
  type Grant,
  Refusal,
  readUserName,
  requireGrantable,
  requireGrants,
  requireMay,
  requirePassword,
  type User,
} from '@carillon/domain';
import { requestHash as hashOf } from '@carillon/foundation';
import { auditEntry, type Change } from '../audit/audit-log.ts';
import { LastAdministrator, type UserChange, type UserQuery } from '../storage/account-store.ts';
import type { AccountParts } from './accounts.ts';
import { grantDetails, revokedKeyEntries } from './audit-details.ts';
import { namespaceNotFound } from './known-namespaces.ts';
import { requireOwnPassword, requirePasswordToGive, requirePasswordToRemove } from './own-password.ts';
import { hashSecret } from './secrets.ts';

export interface UserInput {
  readonly name: string;
  readonly displayName?: string | undefined;
  /** Left out: the user cannot sign in, and uses keys that others create for them. */
  readonly password?: string | undefined;
  readonly grants?: readonly Grant[] | undefined;
  /** Of the user who calls. */
  readonly currentPassword?: string | undefined;
}

export interface UserChangeInput {
  readonly displayName?: string | undefined;
  readonly disabled?: boolean | undefined;
  /** Of the user who calls: to enable another one. */
  readonly currentPassword?: string | undefined;
}

export interface PasswordInput {
  readonly password: string;
  /** Of the user who calls. */
  readonly currentPassword?: string | undefined;
  /** The token of the session that stays; all others of the user end. */
  readonly keptSession?: string | undefined;
  /** The keys end that the user made, or was the last to rotate, whoever owns them. */
  readonly endKeys?: boolean | undefined;
}

export function userOperations(parts: AccountParts) {
  const { store, passwords, namespaces, identities, clock, random } = parts;

  return {
    async listUsers(caller: Caller, query: UserQuery): Promise<User[]> {
      requireMay(caller, 'users.read');
      return await store.users({ ...query, name: query.name?.trim().toLowerCase() });
    },

    async getUser(caller: Caller, userId: string): Promise<User> {
      requireMay(caller, 'users.read');
      return await requireUser(parts, userId);
    },

    /** A repeated request with the same key answers the user that the first one created. */
    async createUser(
      caller: Caller,
      input: UserInput,
      { idempotencyKey: key }: { idempotencyKey?: string | undefined } = {},
    ): Promise<User> {
      requireMay(caller, 'users.manage');
      const name = readUserName(input.name);
      const { grants = [], password, displayName = '' } = input;
      await requireGrantsOf(parts, caller, grants);
      if (password !== undefined) requirePassword(password, { field: 'password', userName: name });
      await requirePasswordToGive(parts, caller, input.currentPassword);
      const nowMs = clock.now();
      // The stored hash of the request does not contain the password.
      const requestHash = hashOf({ name, displayName, grants, hasPassword: password !== undefined });
      const idempotency =
        key === undefined ? undefined : { key: `${caller.userId ?? caller.id} ${key}`, requestHash };
      const user = {
        ...{ userId: random.id(), name, displayName, disabled: false, grants },
        createdAtMs: nowMs,
        updatedAtMs: nowMs,
      };
      const passwordHash = password === undefined ? undefined : await passwords.hash(password);
      const change = {
        ...{ action: 'users.create', ...userSubject(user) },
        after: {
          ...{ name, display_name: displayName, grants: grantDetails(grants) },
          has_password: password !== undefined,
        },
      };
      const audit = auditEntry(caller, change, nowMs);
      const create = () => store.createUser({ ...user, passwordHash, idempotency }, audit);
      if (!(await namespaces.whileGranting(grants, 'grants', create))) {
        const earlier = idempotency && (await store.userMadeBy(idempotency.key));
        if (earlier?.requestHash === requestHash) return earlier.user;
        if (!earlier) throw new Refusal('user_exists', `There is a user ${name} already.`, { field: 'name' });
        const message = `The Idempotency-Key was used before, for another request (user ${earlier.user.name}).`;
        throw new Refusal('idempotency_key_reused', message, { field: 'Idempotency-Key' });
      }
      return { ...user, hasPassword: password !== undefined };
    },

    async updateUser(
      caller: Caller,
      userId: string,
      { displayName, disabled, currentPassword }: UserChangeInput,
    ): Promise<User> {
      requireMay(caller, 'users.manage');
      const before = await requireUser(parts, userId);
      // Enabling a user grants again everything they had.
      if (disabled === false && before.disabled) {
        await requireGrantsOf(parts, caller, before.grants);
        await requirePasswordToGive(parts, caller, currentPassword);
      }
      const after = {
        ...(displayName !== undefined && displayName !== before.displayName && { displayName }),
        ...(disabled !== undefined && disabled !== before.disabled && { disabled }),
      };
      if (Object.keys(after).length === 0) return before;
      const change = {
        ...{ action: 'users.update', ...userSubject(before) },
        before: changeDetails(after, before),
        after: changeDetails(after, after),
      };
      return await changeUser(parts, { caller, user: before, to: after, change });
    },

    async setGrants(
      caller: Caller,
      userId: string,
      grants: readonly Grant[],
      { currentPassword }: { currentPassword?: string | undefined } = {},
    ): Promise<User> {
      requireMay(caller, 'users.manage');
      const before = await requireUser(parts, userId);
      await requireGrantsOf(parts, caller, grants);
      await requirePasswordToGive(parts, caller, currentPassword);
      const change = {
        ...{ action: 'users.grants', ...userSubject(before) },
        before: { grants: grantDetails(before.grants) },
        after: { grants: grantDetails(grants) },
      };
      return await changeUser(parts, { caller, user: before, to: { grants }, change });
    },

    /** One's own, or another user's as an administrator: either with the password of who asks. Sessions opened with the old one end. */
    async setPassword(caller: Caller, userId: string, input: PasswordInput): Promise<void> {
      const own = caller.userId === userId;
      // A key that a stolen session made, or that may little, must not set the password of its owner.
      const isSignedIn = own && caller.kind === 'user';
      if (!isSignedIn) requireMay(caller, 'users.manage');
      const user = await requireUser(parts, userId);
      if (user.identity) {
        const message = `${user.name} signs in with ${user.identity.issuer} and has no password here.`;
        throw new Refusal('forbidden', message);
      }
      // Whoever sets a password can sign in with it, and so needs every grant of the user.
      if (!isSignedIn) await requireGrantsOf(parts, caller, user.grants);
      requirePassword(input.password, { field: 'password', userName: user.name });
      const { currentPassword } = input;
      if (own && user.hasPassword)
        await requireOwnPassword(parts, caller, { user, password: currentPassword });
      else await requirePasswordToGive(parts, caller, currentPassword);
      const except = own && input.keptSession !== undefined ? hashSecret(input.keptSession) : undefined;
      const passwordHash = await passwords.hash(input.password);
      const after = input.endKeys ? { end_keys: true } : undefined;
      const endKeys = input.endKeys
        ? (key: ApiKey) => revokedKeyEntries(caller, key, clock.now())
        : undefined;
      const change = { action: 'users.password', ...userSubject(user), after };
      const to = { passwordHash, endSessions: { except }, endKeys };
      await changeUser(parts, { caller, user, to, change });
    },

    async deleteUser(
      caller: Caller,
      userId: string,
      { currentPassword }: { currentPassword?: string | undefined } = {},
    ): Promise<void> {
      requireMay(caller, 'users.manage');
      const user = await requireUser(parts, userId);
      await requirePasswordToRemove(parts, caller, currentPassword);
      const { name, displayName } = user;
      const before = { name, display_name: displayName, grants: grantDetails(user.grants) };
      const change = { action: 'users.delete', ...userSubject(user), before };
      const audit = auditEntry(caller, change, clock.now());
      if (!(await keepingAdministrators(user, () => store.removeUser(userId, audit))))
        throw userNotFound(userId);
      identities.forget();
    },
  };
}

async function requireUser({ store }: AccountParts, userId: string): Promise<User> {
  const user = await store.user(userId);
  if (!user) throw userNotFound(userId);
  return user;
}

/** Scopes of a key count as well: a key that may only manage users must not make itself an administrator. */
async function requireGrantsOf(
  { namespaces }: AccountParts,
  caller: Caller,
  grants: readonly Grant[],
): Promise<void> {
  for (const grant of requireGrants(grants)) requireGrantable(caller, { grant, scopes: undefined });
  const names = grants.map(({ namespace }) => namespace).filter((name) => name !== EVERYWHERE);
  const [missing] = await namespaces.missing(names);
  if (missing !== undefined) throw namespaceNotFound(missing, 'grants');
}

async function changeUser(
  { store, namespaces, identities, clock }: AccountParts,
  { caller, user, to, change }: { caller: Caller; user: User; to: UserChange; change: Change },
): Promise<User> {
  const nowMs = clock.now();
  const audit = auditEntry(caller, change, nowMs);
  const changed = await keepingAdministrators(user, () =>
    namespaces.whileGranting(to.grants ?? [], 'grants', () =>
      store.changeUser(user.userId, to, nowMs, audit),
    ),
  );
  if (!changed) throw userNotFound(user.userId);
  identities.forget();
  return changed;
}

async function keepingAdministrators<T>({ name }: User, change: () => Promise<T>): Promise<T> {
  try {
    return await change();
  } catch (error) {
    if (!(error instanceof LastAdministrator)) throw error;
    const message = `${name} is the last administrator of the installation and stays one.`;
    throw new Refusal('last_administrator', message, { cause: error });
  }
}

/** Of the fields that change, the values in `of`. */
function changeDetails(change: UserChange, of: Pick<UserChange, 'displayName' | 'disabled'>): object {
  return {
    ...('displayName' in change && { display_name: of.displayName }),
    ...('disabled' in change && { disabled: of.disabled }),
  };
}

export function userNotFound(userId: string): Refusal {
  return new Refusal('user_not_found', `There is no user ${userId}.`);
}

export function userSubject({ userId }: Pick<User, 'userId'>) {
  return { namespace: undefined, subject: { kind: 'user', id: userId } };
}
