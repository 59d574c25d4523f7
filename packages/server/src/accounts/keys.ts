/**
 * API keys. A key is shown once and never again; it grants no more than its creator has, and at every use no more than its
 * owner has then. Signed-in users manage their own keys; other keys are for administrators of a namespace.
 */
import {
  type Action,
  type ApiKey,
  type Caller,
  EVERYWHERE,
  type Grant,
  knowsNamespace,
  may,
  Refusal,
  requireGrantable,
  requireGrantNamespace,
  requireMay,
  visibleTo,
} from '@carillon/domain';
import { auditEntry } from '../audit/audit-log.ts';
import type { AccountParts } from './accounts.ts';
import { namespaceNotFound } from './known-namespaces.ts';
import { hashSecret, newKey } from './secrets.ts';
import { userNotFound } from './users.ts';

export interface KeyInput {
  readonly name: string;
  readonly grant: Grant;
  /** Undefined: every permission of the role. */
  readonly scopes?: readonly Action[] | undefined;
  readonly expiresAtMs?: number | undefined;
  /** The owner. Left out: the user who calls; the installation when a key calls. */
  readonly ownerId?: string | undefined;
}

export interface CreatedKey {
  readonly key: ApiKey;
  /** The complete key, shown only here. */
  readonly secret: string;
}

export function keyOperations(parts: AccountParts) {
  const { store, namespaces, identities, clock, random } = parts;

  return {
    async listKeys(
      caller: Caller,
      query: { afterKeyId?: string | undefined; limit: number },
    ): Promise<ApiKey[]> {
      const ownerId = isSignedIn(caller) ? caller.userId : undefined;
      if (ownerId === undefined) requireMay(caller, 'keys.read');
      // A grant on one's own jobs does not cover the keys of others in the namespace.
      const readable = visibleTo(caller, 'keys.read')
        ?.filter(({ userId }) => userId === undefined)
        .map(({ namespace }) => namespace);
      return await store.keys({ ...query, ownerId, namespaces: readable });
    },

    getKey: (caller: Caller, keyId: string) => visibleKey(parts, caller, keyId),

    /** A key is shown once: a repeated request is refused with the prefix of the key that the first one created. */
    async createKey(
      caller: Caller,
      input: KeyInput,
      { idempotencyKey }: { idempotencyKey?: string | undefined } = {},
    ): Promise<CreatedKey> {
      const { grant, expiresAtMs } = input;
      const nowMs = clock.now();
      requireGrantNamespace(grant.namespace, 'namespace');
      if (grant.namespace !== EVERYWHERE && !knowsNamespace(caller, grant.namespace)) {
        if (!isSignedIn(caller)) requireMay(caller, 'keys.manage');
        throw namespaceNotFound(grant.namespace, 'namespace');
      }
      const ownerId = await requireOwner(parts, caller, input);
      const scopes = input.scopes === undefined ? undefined : new Set(input.scopes);
      requireGrantable(caller, { grant, scopes });
      if (grant.namespace !== EVERYWHERE) await namespaces.require(grant.namespace);
      if (expiresAtMs !== undefined && expiresAtMs <= nowMs) {
        throw new Refusal('field_invalid', 'expires_at has passed already.', { field: 'expires_at' });
      }
      const { key: secret, prefix } = newKey(idempotencyKey && `keys.create ${caller.id} ${idempotencyKey}`);
      const key: ApiKey = {
        ...{ keyId: random.id(), name: input.name, prefix, ownerId, grant, scopes, expiresAtMs },
        createdAtMs: nowMs,
        lastUsedAtMs: undefined,
      };
      const change = { action: 'keys.create', ...keySubject(key), after: auditDetails(key) };
      const create = () => store.createKey(key, hashSecret(secret), auditEntry(caller, change, nowMs));
      if (!(await namespaces.whileGranting([grant], 'namespace', create))) {
        const message = `The Idempotency-Key was used before, for the key ${prefix}, which is not shown again.`;
        throw new Refusal('idempotency_key_reused', message, { field: 'Idempotency-Key' });
      }
      return { key, secret };
    },

    async revokeKey(caller: Caller, keyId: string): Promise<void> {
      const key = await visibleKey(parts, caller, keyId);
      if (!isOwn(caller, key)) requireMay(caller, 'keys.manage', { namespace: key.grant.namespace });
      const change = { action: 'keys.revoke', ...keySubject(key), before: auditDetails(key) };
      if (!(await store.removeKey(keyId, auditEntry(caller, change, clock.now())))) throw keyNotFound(keyId);
      identities.forget();
    },
  };
}

async function visibleKey({ store }: AccountParts, caller: Caller, keyId: string): Promise<ApiKey> {
  const key = await store.key(keyId);
  if (!key || !(isOwn(caller, key) || may(caller, 'keys.read', { namespace: key.grant.namespace }))) {
    if (!isSignedIn(caller)) requireMay(caller, 'keys.read');
    throw keyNotFound(keyId);
  }
  return key;
}

async function requireOwner(
  { store }: AccountParts,
  caller: Caller,
  { ownerId, grant }: KeyInput,
): Promise<string | undefined> {
  // A key of a user creates keys of that user: none of them may have more than the user has.
  const own = caller.userId;
  const owner = ownerId ?? own;
  if (!isSignedIn(caller)) requireMay(caller, 'keys.manage', { namespace: grant.namespace });
  if (owner === undefined) {
    if (!grant.ownOnly) return undefined;
    const message = 'own_only needs a key that belongs to somebody: give user_id as well.';
    throw new Refusal('field_invalid', message, { field: 'own_only' });
  }
  if (owner === own) return owner;
  requireMay(caller, 'users.manage');
  if (!(await store.user(owner))) throw userNotFound(owner);
  return owner;
}

/** Signed in, not with a key: whoever finds a key must not be able to create more of them. */
function isSignedIn(caller: Caller): boolean {
  return caller.kind === 'user' && caller.userId !== undefined;
}

/** A key may read and revoke itself: that is how a program signs out. */
function isOwn(caller: Caller, key: ApiKey): boolean {
  if (caller.kind === 'key') return caller.id === key.keyId;
  return isSignedIn(caller) && key.ownerId === caller.userId;
}

function keyNotFound(keyId: string): Refusal {
  return new Refusal('key_not_found', `There is no key ${keyId}.`);
}

function keySubject({ keyId, grant }: ApiKey) {
  const namespace = grant.namespace === EVERYWHERE ? undefined : grant.namespace;
  return { namespace, subject: { kind: 'key', id: keyId } };
}

/** What the audit log records of a key: everything but its secret. */
function auditDetails({ name, prefix, ownerId, grant, scopes, expiresAtMs }: ApiKey): object {
  return { name, prefix, ownerId, ...grant, scopes: scopes && [...scopes], expiresAtMs };
}
