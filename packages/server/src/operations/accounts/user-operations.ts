/**
 * People: made, changed and removed by administrators of the whole, who can hand out no more than they have themselves.
 * Passwords go in and never come out.
 */
import {
  type Caller,
  type Grant,
  Refusal,
  readUserName,
  requireGrants,
  requireMay,
  requireMayHandOut,
  requirePassword,
  type User,
  WHOLE,
} from '@carillon/domain';
import type { UserChange } from '../../storage/account-store.ts';
import { auditEntry, type Change } from '../audit-log.ts';
import type { OperationPorts } from '../operation-ports.ts';
import { requestHash as hashOf } from '../request-hash.ts';
import { namespaceNotFound } from './known-namespaces.ts';
import { hashSecret } from './secrets.ts';

export interface UserInput {
  readonly name: string;
  readonly displayName?: string | undefined;
  /** Left out: they cannot sign in, and use keys that others make for them. */
  readonly password?: string | undefined;
  readonly grants?: readonly Grant[] | undefined;
}

export interface PasswordInput {
  readonly password: string;
  /** Of whoever changes their own. */
  readonly currentPassword?: string | undefined;
  /** The session that stays; all others of the user end. */
  readonly keptSession?: string | undefined;
}

export function userOperations(ports: OperationPorts) {
  const { accounts, clock, random } = ports;
  const { store, passwords } = accounts;

  return {
    async listUsers(caller: Caller, query: { after?: string | undefined; limit: number }): Promise<User[]> {
      requireMay(caller, 'users.read');
      return await store.users(query);
    },

    async getUser(caller: Caller, userId: string): Promise<User> {
      requireMay(caller, 'users.read');
      return await found(ports, userId);
    },

    /** A repeated request with the same key answers the user that the first one made. */
    async createUser(
      caller: Caller,
      input: UserInput,
      { idempotencyKey: key }: { idempotencyKey?: string | undefined } = {},
    ): Promise<User> {
      requireMay(caller, 'users.manage');
      const name = readUserName(input.name);
      const { grants = [], password, displayName = '' } = input;
      await requireHandingOut(ports, caller, grants);
      if (password !== undefined) requirePassword(password, { field: 'password', userName: name });
      const nowMs = clock.now();
      // The password itself is part of no hash that is kept.
      const requestHash = hashOf({ name, displayName, grants, hasPassword: password !== undefined });
      const idempotency = key === undefined ? undefined : { key: `${caller.id} ${key}`, requestHash };
      const user = {
        ...{ userId: random.id(), name, displayName, disabled: false, grants },
        createdAtMs: nowMs,
        updatedAtMs: nowMs,
      };
      const passwordHash = password === undefined ? undefined : await passwords.hash(password);
      const change = {
        ...{ action: 'users.create', ...subjectOf(user) },
        after: { name, displayName, grants, hasPassword: password !== undefined },
      };
      const audit = auditEntry(caller, change, nowMs);
      const make = () => store.createUser({ ...user, passwordHash, idempotency }, audit);
      if (!(await accounts.namespaces.holding(grants, 'grants', make))) {
        const made = idempotency && (await store.userMadeBy(idempotency.key));
        if (made?.requestHash === requestHash) return made.user;
        if (!made) throw new Refusal('user_exists', `There is a user ${name} already.`, { field: 'name' });
        const message = `The Idempotency-Key was used before, for another request (user ${made.user.name}).`;
        throw new Refusal('idempotency_key_reused', message, { field: 'Idempotency-Key' });
      }
      return { ...user, hasPassword: password !== undefined };
    },

    async updateUser(
      caller: Caller,
      userId: string,
      { displayName, disabled }: { displayName?: string | undefined; disabled?: boolean | undefined },
    ): Promise<User> {
      requireMay(caller, 'users.manage');
      const before = await found(ports, userId);
      // To enable somebody is to give them back all they had.
      if (disabled === false && before.disabled) await requireHandingOut(ports, caller, before.grants);
      const to = {
        ...(displayName !== undefined && displayName !== before.displayName && { displayName }),
        ...(disabled !== undefined && disabled !== before.disabled && { disabled }),
      };
      if (Object.keys(to).length === 0) return before;
      const was = Object.fromEntries(Object.keys(to).map((name) => [name, before[name as keyof typeof to]]));
      const told = { action: 'users.update', ...subjectOf(before), before: was, after: to };
      return await change(ports, { caller, before, to, told });
    },

    async setGrants(caller: Caller, userId: string, grants: readonly Grant[]): Promise<User> {
      requireMay(caller, 'users.manage');
      const before = await found(ports, userId);
      await requireHandingOut(ports, caller, grants);
      const told = {
        ...{ action: 'users.grants', ...subjectOf(before) },
        before: { grants: before.grants },
        after: { grants },
      };
      return await change(ports, { caller, before, to: { grants }, told });
    },

    /** One's own with the current one; that of others as an administrator. Sessions opened with the old one end. */
    async setPassword(caller: Caller, userId: string, input: PasswordInput): Promise<void> {
      const own = caller.kind === 'user' && caller.userId === userId;
      if (!own) requireMay(caller, 'users.manage');
      const user = await found(ports, userId);
      // Whoever sets a password can sign in with it.
      if (!own) await requireHandingOut(ports, caller, user.grants);
      requirePassword(input.password, { field: 'password', userName: user.name });
      if (own && user.hasPassword) {
        const attempt = await accounts.signIns.begin({ name: user.name, address: caller.origin.address });
        const stored = await store.passwordHashOf(userId);
        if (!(await passwords.verify(input.currentPassword ?? '', stored))) {
          const message = 'current_password is not your password.';
          throw new Refusal('field_invalid', message, { field: 'current_password' });
        }
        await attempt.succeeded();
      }
      const except = own && input.keptSession !== undefined ? hashSecret(input.keptSession) : undefined;
      const passwordHash = await passwords.hash(input.password);
      const told = { action: 'users.password', ...subjectOf(user) };
      await change(ports, { caller, before: user, to: { passwordHash, endSessions: { except } }, told });
    },

    async deleteUser(caller: Caller, userId: string): Promise<void> {
      requireMay(caller, 'users.manage');
      const user = await found(ports, userId);
      const { name, displayName, grants } = user;
      const told = { action: 'users.delete', ...subjectOf(user), before: { name, displayName, grants } };
      if (!(await store.removeUser(userId, auditEntry(caller, told, clock.now()))))
        throw userNotFound(userId);
      accounts.identities.forget();
    },
  };
}

async function found({ accounts }: OperationPorts, userId: string): Promise<User> {
  const user = await accounts.store.user(userId);
  if (!user) throw userNotFound(userId);
  return user;
}

/** Scopes of a key count as well: a key that may only manage users must not make itself an administrator. */
async function requireHandingOut(
  { accounts }: OperationPorts,
  caller: Caller,
  grants: readonly Grant[],
): Promise<void> {
  for (const grant of requireGrants(grants)) requireMayHandOut(caller, { grant, scopes: undefined });
  const places = grants.map(({ namespace }) => namespace).filter((namespace) => namespace !== WHOLE);
  const [missing] = await accounts.namespaces.missing(places);
  if (missing !== undefined) throw namespaceNotFound(missing, 'grants');
}

async function change(
  { accounts, clock }: OperationPorts,
  { caller, before, to, told }: { caller: Caller; before: User; to: UserChange; told: Change },
): Promise<User> {
  const nowMs = clock.now();
  const audit = auditEntry(caller, told, nowMs);
  const user = await accounts.namespaces.holding(to.grants ?? [], 'grants', () =>
    accounts.store.changeUser(before.userId, to, nowMs, audit),
  );
  if (!user) throw userNotFound(before.userId);
  accounts.identities.forget();
  return user;
}

export function userNotFound(userId: string): Refusal {
  return new Refusal('user_not_found', `There is no user ${userId}.`);
}

export function subjectOf({ userId }: Pick<User, 'userId'>) {
  return { namespace: undefined, subject: { kind: 'user', id: userId } };
}
