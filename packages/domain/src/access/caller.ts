/**
 * Whoever asks, as the operations see them: their grants, and where the request came from. What a caller may not even see
 * looks as if it were not there; what they see and may not do is refused by name.
 */
import { Refusal } from '../errors/refusal.ts';
import { type Action, INSTALLATION_ACTIONS, type Role, roleAllows } from './permissions.ts';

export const DEFAULT_NAMESPACE = 'default';
/** In a grant: every namespace, and what belongs to none. */
export const EVERYWHERE = '*';

export interface Grant {
  readonly namespace: string;
  readonly role: Role;
  /** Only jobs whose user_id is the caller's. */
  readonly ownOnly: boolean;
}

export interface Origin {
  readonly address: string | undefined;
  readonly userAgent: string | undefined;
  readonly requestId: string | undefined;
}

/** What a caller came with: a session, or a key. */
export interface Credential {
  readonly kind: 'session' | 'key';
  readonly id: string;
  /** Of a key; of a session of nobody, whether the admin key or a ticket opened it. */
  readonly name: string | undefined;
  /** Undefined: it does not expire. */
  readonly expiresAtMs: number | undefined;
  /** Of a key: the user who made or rotated it, whoever it belongs to. */
  readonly makerId?: string | undefined;
  /** Of a key: it came with the secret before the last rotation. */
  readonly isPrevious?: boolean;
  /** Of a session that no password can be shown for: when the admin key, a ticket or a provider proved who it is. */
  readonly provenAtMs?: number;
}

/** Who did something: a person whatever they came with, the server, or a key that belongs to nobody. */
export interface Actor {
  readonly kind: 'server' | 'user' | 'key';
  readonly id: string;
  readonly name: string;
  /** What the person came with; of the admin key, a session that it or a ticket opened. */
  readonly via?: Pick<Credential, 'kind' | 'id' | 'name'> | undefined;
}

export interface Caller {
  readonly kind: 'server' | 'user' | 'key';
  readonly id: string;
  /** For people: the name of the user or of the key. */
  readonly name: string;
  /** The user_id that jobs made by this caller get when they name none. */
  readonly userId: string | undefined;
  /** The name of that user. */
  readonly userName?: string | undefined;
  /** What they came with. Undefined: the server itself, or its admin key. */
  readonly credential?: Credential | undefined;
  readonly grants: readonly Grant[];
  /** Of a key: no other actions, whatever the grants say. Undefined: all of them. */
  readonly scopes: ReadonlySet<Action> | undefined;
  /** Of a key of a person: it has less than all their grants, and does not stand for the whole person. */
  readonly isLesser?: boolean | undefined;
  /** Of a worker key: the handlers that its worker may offer. Undefined: any that its permissions allow. */
  readonly offers?: readonly string[] | undefined;
  readonly origin: Origin;
}

/** The user whom the caller stands for. A key that is limited to some permissions or grants stands for nobody. */
export function personBehind({ userId, scopes, isLesser = false }: Caller): string | undefined {
  return scopes === undefined && !isLesser ? userId : undefined;
}

/** Where something lies: its namespace, and whose it is. */
export interface Owner {
  readonly namespace: string;
  readonly userId?: string | undefined;
}

const NOWHERE: Origin = { address: undefined, userAgent: undefined, requestId: undefined };

/** The server itself, and whoever embeds it. */
export const SERVER: Caller = {
  kind: 'server',
  id: 'server',
  name: 'server',
  userId: undefined,
  grants: [{ namespace: EVERYWHERE, role: 'admin', ownOnly: false }],
  scopes: undefined,
  origin: NOWHERE,
};

/** Somebody who has not shown who they are: may nothing, and stands in the audit log as what they called themselves. */
export function stranger(origin: Origin): Caller {
  return {
    kind: 'user',
    id: 'stranger',
    name: 'stranger',
    userId: undefined,
    grants: [],
    scopes: undefined,
    origin,
  };
}

export function actorOf({ kind, id, name, userId, userName, credential }: Caller): Actor {
  const came = credential && { kind: credential.kind, id: credential.id, name: credential.name };
  if (userId !== undefined && came) return { kind: 'user', id: userId, name: userName ?? name, via: came };
  // A key of nobody is the actor itself; a session of nobody is one that the admin key opened.
  return came?.kind === 'session' ? { kind, id, name, via: came } : { kind, id, name };
}

/** The id of the admin key as an actor; other keys have UUIDs. */
export const ADMIN_KEY_ID = 'admin';

/** In texts of one line. A key of nobody may be called like a person, and no name of a person has a space. */
export function actorText({ kind, id, name }: { kind: string; id: string; name: string }): string {
  return kind === 'key' && id !== ADMIN_KEY_ID ? `key ${name}` : name;
}

/** Limits and idempotency keys are those of a person, whatever they came with; a key of nobody stands for itself. */
export function callerKey({ kind, id, userId }: Pick<Caller, 'kind' | 'id' | 'userId'>): string {
  return userId === undefined ? `${kind} ${id}` : `user ${userId}`;
}

export function may(caller: Caller, action: Action, owner?: Owner): boolean {
  if (caller.scopes !== undefined && !caller.scopes.has(action)) return false;
  if (INSTALLATION_ACTIONS.has(action)) {
    return caller.grants.some(
      (grant) => grant.namespace === EVERYWHERE && !grant.ownOnly && roleAllows(grant.role, action),
    );
  }
  return caller.grants.some(
    (grant) => (owner === undefined || covers(grant, owner, caller)) && roleAllows(grant.role, action),
  );
}

/** A grant of any role makes the jobs of a namespace visible. */
export function sees(caller: Caller, owner: Owner): boolean {
  return caller.grants.some((grant) => covers(grant, owner, caller));
}

/** what: the part of the request that needs it, where the rest does not. */
export function requireMay(caller: Caller, action: Action, owner?: Owner, what = 'it'): void {
  if (may(caller, action, owner)) return;
  const who = caller.userName ?? caller.name;
  const needs = `${what} needs the permission ${action}`;
  // Whether it is there is not told to those who know nothing of it, so a misspelled name gets the same answer.
  if (owner !== undefined && !knowsNamespace(caller, owner.namespace))
    throw new Refusal(
      'forbidden',
      `There is no namespace ${owner.namespace}, or ${who} has no rights in it: ${needs} there.`,
    );
  const where = owner === undefined ? '' : ` in the namespace ${owner.namespace}`;
  throw new Refusal('forbidden', `${who} may not do this${where}: ${needs}.`);
}

/** Whether a caller gets to know that a namespace exists: any grant in it will do. */
export function knowsNamespace(caller: Caller, namespace: string): boolean {
  return caller.grants.some((grant) => grant.namespace === EVERYWHERE || grant.namespace === namespace);
}

function covers(grant: Grant, owner: Owner, caller: Caller): boolean {
  if (grant.namespace !== EVERYWHERE && grant.namespace !== owner.namespace) return false;
  return !grant.ownOnly || (caller.userId !== undefined && caller.userId === owner.userId);
}

/** The namespaces a list may show, and whether only the caller's own jobs in each; undefined: all of them. */
export interface Visible {
  readonly namespace: string;
  readonly userId: string | undefined;
}

export function visibleTo(caller: Caller, action: Action): readonly Visible[] | undefined {
  if (caller.scopes !== undefined && !caller.scopes.has(action)) return [];
  const grants = caller.grants.filter((grant) => roleAllows(grant.role, action));
  if (grants.some((grant) => grant.namespace === EVERYWHERE && !grant.ownOnly)) return undefined;
  return grants
    .filter((grant) => !grant.ownOnly || caller.userId !== undefined)
    .map((grant) => ({
      namespace: grant.namespace,
      userId: grant.ownOnly ? caller.userId : undefined,
    }));
}

/** Where a job goes that names no namespace: the only one its maker may make jobs in, or has at all, else the default one. */
export function homeOf(caller: Caller): string {
  const making = caller.grants.filter((grant) => roleAllows(grant.role, 'jobs.create'));
  const [only, second] = making.length > 0 ? making : caller.grants;
  return only !== undefined && second === undefined && only.namespace !== EVERYWHERE
    ? only.namespace
    : DEFAULT_NAMESPACE;
}
