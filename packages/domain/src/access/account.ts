/** People, their keys and their sessions, and the namespaces they work in: what each is, and what may be written in it. */
import { Refusal } from '../errors/refusal.ts';
import { requireNamespaceName } from '../job/define-job-values.ts';
import { EVERYWHERE, type Grant } from './caller.ts';
import type { Action } from './permissions.ts';

export interface Namespace {
  readonly name: string;
  readonly description: string;
  readonly createdAtMs: number;
}

export interface User {
  /** Also the user_id of the jobs they make. A name can be given to another person later; an id cannot. */
  readonly userId: string;
  /** What they sign in with. */
  readonly name: string;
  readonly displayName: string;
  /** Can neither sign in nor use a key. */
  readonly disabled: boolean;
  readonly hasPassword: boolean;
  /** Of whoever signs in with an OpenID Connect provider. */
  readonly identity?: UserIdentity | undefined;
  readonly grants: readonly Grant[];
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** Who somebody is to their provider; unlike a name, nobody else ever gets it. */
export interface UserIdentity {
  readonly issuer: string;
  readonly subject: string;
}

export interface ApiKey {
  readonly keyId: string;
  readonly name: string;
  /** The part of the key that may be shown. */
  readonly prefix: string;
  /** Undefined: it belongs to the installation. */
  readonly ownerId: string | undefined;
  readonly ownerName: string | undefined;
  /** The user who made it, or rotated it since with something else than itself. */
  readonly makerId: string | undefined;
  readonly grants: readonly Grant[];
  readonly scopes: ReadonlySet<Action> | undefined;
  /** Of a worker key: the handlers that its worker may offer. */
  readonly offers?: readonly string[] | undefined;
  readonly createdAtMs: number;
  readonly expiresAtMs: number | undefined;
  /** To the minute. */
  readonly lastUsedAtMs: number | undefined;
  readonly lastUsedAddress: string | undefined;
  /** After a rotation: the secret before it. */
  readonly previous: PreviousSecret | undefined;
}

export interface PreviousSecret {
  readonly prefix: string;
  /** It is refused from then on. */
  readonly expiresAtMs: number;
  readonly lastUsedAtMs: number | undefined;
}

/** How a session was opened. */
export const SIGN_IN_METHODS = ['password', 'oidc', 'ticket', 'admin_key'] as const;
export type SignInMethod = (typeof SIGN_IN_METHODS)[number];

export interface Session {
  readonly sessionId: string;
  /** Undefined: it is one of the admin key, and belongs to nobody. */
  readonly userId: string | undefined;
  readonly userName: string | undefined;
  readonly method: SignInMethod;
  readonly createdAtMs: number;
  /** To the minute. */
  readonly lastSeenAtMs: number;
  /** It ends then, however much it is used. */
  readonly expiresAtMs: number;
  readonly address: string | undefined;
  readonly userAgent: string | undefined;
}

export const GRANTS_MAX = 200;
export const PASSWORD_LENGTH_MIN = 12;
/** Hashing takes time with length: nobody gets to send a megabyte. */
export const PASSWORD_LENGTH_MAX = 256;
const USER_NAME = /^[a-z0-9]([a-z0-9._@+-]{0,98}[a-z0-9])?$/;

/** Names differ in more than the size of their letters. */
export function readUserName(given: string): string {
  const name = given.trim().toLowerCase();
  if (USER_NAME.test(name)) return name;
  const message = 'name is made of letters, digits and . _ @ + - between them, up to 100 characters.';
  throw new Refusal('field_invalid', message, { field: 'name' });
}

/** Length is what makes a password hard to guess; rules about its characters only make it hard to remember. */
export function requirePassword(password: string, options: { field: string; userName: string }): string {
  const { field, userName } = options;
  const refuse = (demand: string) => new Refusal('field_invalid', `${field} ${demand}.`, { field });
  if (!password.isWellFormed()) throw refuse('holds half a character');
  const { length } = [...password];
  if (length < PASSWORD_LENGTH_MIN) throw refuse(`must have at least ${PASSWORD_LENGTH_MIN} characters`);
  if (length > PASSWORD_LENGTH_MAX) throw refuse(`must have at most ${PASSWORD_LENGTH_MAX} characters`);
  if (new Set(password).size < 4) throw refuse('repeats the same few characters');
  if (password.toLowerCase().includes(userName) && userName.length >= PASSWORD_LENGTH_MIN / 2) {
    throw refuse('must not contain the name');
  }
  return password;
}

/** At most one grant of each kind per namespace: two would contradict each other. */
export function requireGrants(grants: readonly Grant[]): readonly Grant[] {
  const refuse = (message: string) => new Refusal('field_invalid', message, { field: 'grants' });
  if (grants.length > GRANTS_MAX) throw refuse(`grants has more than ${GRANTS_MAX} entries.`);
  const seen = new Set<string>();
  for (const { namespace, ownOnly } of grants) {
    requireGrantNamespace(namespace, 'grants.namespace');
    const kind = `${namespace} ${ownOnly}`;
    if (seen.has(kind)) throw refuse(`grants names ${namespace} twice with the same own_only.`);
    seen.add(kind);
  }
  return grants;
}

/** May do everything everywhere; an installation that has such users keeps one. */
export function isAdministrator({ disabled, grants }: Pick<User, 'disabled' | 'grants'>): boolean {
  return (
    !disabled &&
    grants.some(({ namespace, role, ownOnly }) => namespace === EVERYWHERE && role === 'admin' && !ownOnly)
  );
}

/** A namespace, or * for everything. */
export function requireGrantNamespace(namespace: string, field: string): string {
  return namespace === EVERYWHERE ? namespace : requireNamespaceName(namespace, field);
}
