/**
 * API keys. A key is shown once and never again; it carries no more than its maker has, and at every use no more than its
 * owner has then. People who are signed in look after keys of their own; the rest is for administrators of a namespace.
 */
import {
  type Action,
  type ApiKey,
  type Caller,
  type Grant,
  knowsNamespace,
  may,
  Refusal,
  requireGrantPlace,
  requireMay,
  requireMayHandOut,
  visibleTo,
  WHOLE,
} from '@carillon/domain';
import { auditEntry } from '../audit-log.ts';
import type { OperationPorts } from '../operation-ports.ts';
import { namespaceNotFound } from './known-namespaces.ts';
import { hashSecret, newKey } from './secrets.ts';
import { userNotFound } from './user-operations.ts';

export interface KeyInput {
  readonly name: string;
  readonly grant: Grant;
  /** Undefined: all that the role may. */
  readonly scopes?: readonly Action[] | undefined;
  readonly expiresAtMs?: number | undefined;
  /** Whose key it shall be. Left out: of the person who asks; of the installation when that is a key. */
  readonly ownerId?: string | undefined;
}

export interface CreatedKey {
  readonly key: ApiKey;
  /** The whole key, this once. */
  readonly secret: string;
}

export function keyOperations(ports: OperationPorts) {
  const { accounts, clock, random } = ports;
  const { store } = accounts;

  return {
    async listKeys(
      caller: Caller,
      query: { afterKeyId?: string | undefined; limit: number },
    ): Promise<ApiKey[]> {
      const ownerId = isPerson(caller) ? caller.userId : undefined;
      if (ownerId === undefined) requireMay(caller, 'keys.read');
      // Of their own jobs alone: no grant over what others have in the namespace.
      const namespaces = visibleTo(caller, 'keys.read')
        ?.filter(({ userId }) => userId === undefined)
        .map(({ namespace }) => namespace);
      const { afterKeyId, limit } = query;
      return await store.keys({
        ownerId,
        namespaces,
        limit,
        ...(afterKeyId !== undefined && { afterKeyId }),
      });
    },

    getKey: (caller: Caller, keyId: string) => visible(ports, caller, keyId),

    /** A key is shown once: a repeated request is told which key it made, and does not make another. */
    async createKey(
      caller: Caller,
      input: KeyInput,
      { idempotencyKey }: { idempotencyKey?: string | undefined } = {},
    ): Promise<CreatedKey> {
      const { grant, expiresAtMs } = input;
      const nowMs = clock.now();
      requireGrantPlace(grant.namespace, 'namespace');
      if (grant.namespace !== WHOLE && !knowsNamespace(caller, grant.namespace)) {
        if (!isPerson(caller)) requireMay(caller, 'keys.manage');
        throw namespaceNotFound(grant.namespace, 'namespace');
      }
      const ownerId = await requireOwner(ports, caller, input);
      const scopes = input.scopes === undefined ? undefined : new Set(input.scopes);
      requireMayHandOut(caller, { grant, scopes });
      if (grant.namespace !== WHOLE) await accounts.namespaces.require(grant.namespace);
      if (expiresAtMs !== undefined && expiresAtMs <= nowMs) {
        throw new Refusal('field_invalid', 'expires_at has passed already.', { field: 'expires_at' });
      }
      const { key: secret, prefix } = newKey(idempotencyKey && `keys.create ${caller.id} ${idempotencyKey}`);
      const key: ApiKey = {
        ...{ keyId: random.id(), name: input.name, prefix, ownerId, grant, scopes, expiresAtMs },
        createdAtMs: nowMs,
        lastUsedAtMs: undefined,
      };
      const change = { action: 'keys.create', ...subjectOf(key), after: shownOf(key) };
      const made = () => store.createKey(key, hashSecret(secret), auditEntry(caller, change, nowMs));
      if (!(await accounts.namespaces.holding([grant], 'namespace', made))) {
        const message = `The Idempotency-Key was used before, for the key ${prefix}, which is not shown again.`;
        throw new Refusal('idempotency_key_reused', message, { field: 'Idempotency-Key' });
      }
      return { key, secret };
    },

    async revokeKey(caller: Caller, keyId: string): Promise<void> {
      const key = await visible(ports, caller, keyId);
      if (!isOwn(caller, key)) requireMay(caller, 'keys.manage', placeOf(key));
      const change = { action: 'keys.revoke', ...subjectOf(key), before: shownOf(key) };
      if (!(await store.removeKey(keyId, auditEntry(caller, change, clock.now())))) throw keyNotFound(keyId);
      accounts.identities.forget();
    },
  };
}

async function visible({ accounts }: OperationPorts, caller: Caller, keyId: string): Promise<ApiKey> {
  const key = await accounts.store.key(keyId);
  if (!key || !(isOwn(caller, key) || may(caller, 'keys.read', placeOf(key)))) {
    if (!isPerson(caller)) requireMay(caller, 'keys.read');
    throw keyNotFound(keyId);
  }
  return key;
}

async function requireOwner(
  { accounts }: OperationPorts,
  caller: Caller,
  { ownerId, grant }: KeyInput,
): Promise<string | undefined> {
  // A key of a person makes keys of that person: none of them may outlive what the person has.
  const own = caller.userId;
  const owner = ownerId ?? own;
  if (!isPerson(caller)) requireMay(caller, 'keys.manage', { namespace: grant.namespace });
  if (owner === undefined) {
    if (!grant.ownOnly) return undefined;
    const message = 'own_only needs a key that belongs to somebody: give user_id as well.';
    throw new Refusal('field_invalid', message, { field: 'own_only' });
  }
  if (owner === own) return owner;
  requireMay(caller, 'users.manage');
  if (!(await accounts.store.user(owner))) throw userNotFound(owner);
  return owner;
}

/** Signed in, not with a key: whoever finds a key must not be able to make more of them. */
function isPerson(caller: Caller): boolean {
  return caller.kind === 'user' && caller.userId !== undefined;
}

/** A key may look at itself, and end itself: that is how a program signs out. */
function isOwn(caller: Caller, key: ApiKey): boolean {
  if (caller.kind === 'key') return caller.id === key.keyId;
  return isPerson(caller) && key.ownerId === caller.userId;
}

function placeOf({ grant }: ApiKey): { namespace: string } {
  return { namespace: grant.namespace };
}

function keyNotFound(keyId: string): Refusal {
  return new Refusal('key_not_found', `There is no key ${keyId}.`);
}

function subjectOf({ keyId, grant }: ApiKey) {
  const namespace = grant.namespace === WHOLE ? undefined : grant.namespace;
  return { namespace, subject: { kind: 'key', id: keyId } };
}

/** What the audit log tells of a key: everything but its secret. */
function shownOf({ name, prefix, ownerId, grant, scopes, expiresAtMs }: ApiKey): object {
  return { name, prefix, ownerId, ...grant, scopes: scopes && [...scopes], expiresAtMs };
}
