/**
 * API keys. A secret is shown once and never again; a key grants no more than its creator has, and at every use no more than its
 * owner has then. People manage their own keys, whatever they came with; other keys are for administrators of a namespace.
 */
import {
  type Action,
  type ApiKey,
  type Caller,
  EVERYWHERE,
  type Grant,
  knowsNamespace,
  may,
  mayHandOut,
  Refusal,
  requireGrantable,
  requireGrants,
  requireHandlerName,
  requireMay,
  visibleTo,
  WORKER_SCOPES,
  workerGrants,
} from '@carillon/domain';
import { type KeyFilter, KeysFull } from '../storage/account-store.ts';
import type { AccountParts } from './accounts.ts';
import { instantDetail, keyDetails, keyEntries, revokedKeyEntries } from './audit-details.ts';
import { namespaceNotFound } from './known-namespaces.ts';
import { requireProofForKey } from './own-password.ts';
import { hashSecret, newKey } from './secrets.ts';
import { userNotFound } from './users.ts';

export interface KeyInput {
  readonly name: string;
  /** Left out: those of the worker key. */
  readonly grants?: readonly Grant[] | undefined;
  /** Undefined: every permission of the roles. */
  readonly scopes?: readonly Action[] | undefined;
  /** A worker key, instead of grants and scopes. It belongs to nobody: a worker outlives the account of whoever installed it. */
  readonly worker?: WorkerKeyInput | undefined;
  readonly expiresAtMs?: number | undefined;
  /** The owner. Left out: the user who calls; the installation when a key of nobody calls. */
  readonly ownerId?: string | undefined;
  /** Of the user who calls: for a key that outlives what they came with, or is not their own. */
  readonly currentPassword?: string | undefined;
}

export interface WorkerKeyInput {
  readonly handlers: readonly string[];
  /** Left out: all that the caller may connect workers in. */
  readonly namespaces?: readonly string[] | undefined;
}

export interface RotationInput {
  /** For so long the old secret still works. */
  readonly overlapMs: number;
  /** When the key expires from now on; null: never. Left out: as before. */
  readonly expiresAtMs?: number | null | undefined;
  readonly currentPassword?: string | undefined;
}

export interface CreatedKey {
  readonly key: ApiKey;
  /** The complete key, shown only here. */
  readonly secret: string;
}

export interface ListKeysQuery extends Omit<KeyFilter, 'expired'> {
  readonly expired?: boolean | undefined;
  readonly afterKeyId?: string | undefined;
  readonly limit: number;
}

/** Limits of keys of nobody count for each of them: without a bound on their number there would be none. */
const LIVING_OF_OWNER_MAX = 100;
const LIVING_IN_NAMESPACE_MAX = 1_000;

export function keyOperations(parts: AccountParts) {
  const { store, namespaces, identities, clock, random } = parts;

  return {
    async listKeys(caller: Caller, query: ListKeysQuery): Promise<ApiKey[]> {
      if (caller.userId === undefined) requireMay(caller, 'keys.read');
      const { afterKeyId, limit, expired, ...filter } = query;
      if (filter.namespace !== EVERYWHERE) await namespaces.requireKnown(caller, filter.namespace);
      // A grant on one's own jobs does not cover the keys of others in the namespace.
      const readable = visibleTo(caller, 'keys.read')
        ?.filter(({ userId }) => userId === undefined)
        .map(({ namespace }) => namespace);
      const keys = await store.keys({
        ...{ ownerId: caller.userId, namespaces: readable, afterKeyId, limit },
        filter: {
          ...filter,
          expired: expired === undefined ? undefined : { is: expired, atMs: clock.now() },
        },
      });
      return keys.map((key) => shownTo(caller, key));
    },

    getKey: async (caller: Caller, keyId: string) => shownTo(caller, await visibleKey(parts, caller, keyId)),

    /** A key is shown once: a repeated request is refused with the prefix of the key that the first one created. */
    async createKey(
      caller: Caller,
      input: KeyInput,
      { idempotencyKey }: { idempotencyKey?: string | undefined } = {},
    ): Promise<CreatedKey> {
      const { expiresAtMs, currentPassword } = input;
      const nowMs = clock.now();
      const { scopes, offers, ...rights } = rightsOf(caller, input);
      const grants = requireGrants(rights.grants);
      if (grants.length === 0) throw new Refusal('field_invalid', 'grants is empty.', { field: 'grants' });
      const names = grants.map(({ namespace }) => namespace).filter((name) => name !== EVERYWHERE);
      const unknown = names.find((name) => !knowsNamespace(caller, name));
      if (unknown !== undefined) {
        if (caller.userId === undefined) requireMay(caller, 'keys.manage');
        throw namespaceNotFound(unknown, 'namespace');
      }
      const owner = await requireOwner(parts, caller, { ...input, grants });
      for (const grant of grants) requireGrantable(caller, { grant, scopes });
      for (const name of names) await namespaces.require(name);
      requireAhead(expiresAtMs, nowMs);
      const ofCaller = owner?.userId === caller.userId;
      await requireProofForKey(parts, caller, { isOwn: ofCaller, expiresAtMs, currentPassword });
      const maker = caller.userId ?? caller.id;
      const { key: secret, prefix } = newKey(idempotencyKey && `keys.create ${maker} ${idempotencyKey}`);
      const key: ApiKey = {
        ...{ keyId: random.id(), name: input.name, prefix, grants, scopes, offers, expiresAtMs },
        ...{ ownerId: owner?.userId, ownerName: owner?.name, makerId: caller.userId },
        ...{ createdAtMs: nowMs, lastUsedAtMs: undefined, lastUsedAddress: undefined, previous: undefined },
      };
      const change = (there: readonly Grant[]) => ({ action: 'keys.create', after: keyDetails(key, there) });
      const audit = keyEntries(caller, key, change, nowMs);
      const facts = { livingMax: livingMax(caller, key), audit };
      const create = () => store.createKey(key, hashSecret(secret), facts).catch(explainFull(key));
      if (!(await namespaces.whileGranting(grants, 'namespace', create))) {
        const message = `The Idempotency-Key was used before, for the key ${prefix}, which is not shown again.`;
        throw new Refusal('idempotency_key_reused', message, { field: 'Idempotency-Key' });
      }
      return { key, secret };
    },

    async renameKey(caller: Caller, keyId: string, name: string): Promise<ApiKey> {
      const key = await changeableKey(parts, caller, keyId);
      const change = { action: 'keys.update', before: { name: key.name }, after: { name } };
      const audit = keyEntries(caller, key, () => change, clock.now());
      if (name !== key.name && !(await store.renameKey(keyId, name, audit))) throw keyNotFound(keyId);
      // The name stands in the audit log beside what the key does.
      identities.forget();
      return shownTo(caller, { ...key, name });
    },

    /** The key keeps its id and what it may; its secret is a new one. Of the secrets before only the last one may go on for a while. */
    async rotateKey(caller: Caller, keyId: string, input: RotationInput): Promise<CreatedKey> {
      const key = await changeableKey(parts, caller, keyId);
      if (isItself(caller, key) && caller.credential?.isPrevious) {
        const message = `This secret of the key ${keyId} was replaced: rotate it with the one that came after.`;
        throw new Refusal('key_changed', message);
      }
      const nowMs = clock.now();
      const expiresAtMs =
        input.expiresAtMs === undefined ? key.expiresAtMs : (input.expiresAtMs ?? undefined);
      requireAhead(expiresAtMs, nowMs);
      if (!isItself(caller, key)) {
        // Whoever rotates a key holds it.
        if (key.ownerId !== undefined && key.ownerId !== caller.userId) requireMay(caller, 'users.manage');
        for (const grant of key.grants) requireGrantable(caller, { grant, scopes: key.scopes });
      }
      if (!isItself(caller, key) || expiresAtMs !== key.expiresAtMs) {
        const { currentPassword } = input;
        await requireProofForKey(parts, caller, { isOwn: isOwn(caller, key), expiresAtMs, currentPassword });
      }
      const { key: secret, prefix } = newKey();
      const previousExpiresAtMs = Math.min(
        nowMs + input.overlapMs,
        key.expiresAtMs ?? Number.POSITIVE_INFINITY,
      );
      const previous = {
        prefix: key.prefix,
        expiresAtMs: previousExpiresAtMs,
        lastUsedAtMs: key.lastUsedAtMs,
      };
      const after: ApiKey = { ...key, prefix, expiresAtMs, previous };
      const change = {
        action: 'keys.rotate',
        before: { prefix: key.prefix, expires_at: instantDetail(key.expiresAtMs) },
        after: {
          prefix,
          expires_at: instantDetail(expiresAtMs),
          previous_expires_at: instantDetail(previousExpiresAtMs),
        },
      };
      const audit = keyEntries(caller, key, () => change, nowMs);
      const rotation = {
        ...{ fromPrefix: key.prefix, prefix, hash: hashSecret(secret), previousExpiresAtMs, expiresAtMs },
        // The person who rotates it holds the key from now on, as if they had made it.
        makerId: isItself(caller, key) ? key.makerId : (caller.userId ?? key.makerId),
      };
      if (!(await store.rotateKey(keyId, rotation, audit))) {
        if (!(await store.key(keyId))) throw keyNotFound(keyId);
        throw new Refusal('key_changed', `The key ${keyId} was rotated by somebody else at the same time.`);
      }
      identities.forget();
      return { key: shownTo(caller, after), secret };
    },

    async revokeKey(caller: Caller, keyId: string): Promise<void> {
      const key = await changeableKey(parts, caller, keyId);
      const audit = revokedKeyEntries(caller, key, clock.now());
      if (!(await store.removeKey(keyId, audit))) throw keyNotFound(keyId);
      identities.forget();
    },
  };
}

const HANDLERS_MAX = 100;

function rightsOf(
  caller: Caller,
  { grants = [], scopes, worker }: KeyInput,
): Pick<ApiKey, 'grants' | 'scopes' | 'offers'> {
  if (!worker) return { grants, scopes: scopes && new Set(scopes), offers: undefined };
  const { handlers, namespaces } = worker;
  if (handlers.length === 0 || handlers.length > HANDLERS_MAX) {
    const message = `worker.handlers names 1 to ${HANDLERS_MAX} handlers.`;
    throw new Refusal('field_invalid', message, { field: 'worker.handlers' });
  }
  const offers = [...new Set(handlers.map((name) => requireHandlerName(name, 'worker.handlers')))];
  return { grants: workerGrants(caller, namespaces), scopes: WORKER_SCOPES, offers };
}

async function visibleKey({ store }: AccountParts, caller: Caller, keyId: string): Promise<ApiKey> {
  // A worker key may not even change itself: whoever gets hold of one must not keep it, or take it from its workers.
  if (caller.offers !== undefined) requireMay(caller, 'keys.read');
  const key = await store.key(keyId);
  if (
    !key ||
    !(isOwn(caller, key) || key.grants.some(({ namespace }) => may(caller, 'keys.read', { namespace })))
  ) {
    if (caller.userId === undefined) requireMay(caller, 'keys.read');
    throw keyNotFound(keyId);
  }
  return key;
}

/** Of the key of somebody else, administrators of a namespace see what it may there, and not where else it works. */
function shownTo(caller: Caller, key: ApiKey): ApiKey {
  if (isOwn(caller, key)) return key;
  return { ...key, grants: key.grants.filter(({ namespace }) => may(caller, 'keys.read', { namespace })) };
}

/** A key changes itself, and those of its owner that may no more than it does; whoever is signed in changes all their own. */
async function changeableKey(parts: AccountParts, caller: Caller, keyId: string): Promise<ApiKey> {
  const key = await visibleKey(parts, caller, keyId);
  if (isItself(caller, key)) return key;
  const isWithin = () => key.grants.every((grant) => mayHandOut(caller, { grant, scopes: key.scopes }));
  if (isOwn(caller, key) && (caller.kind === 'user' || isWithin())) return key;
  for (const { namespace } of key.grants) {
    if (knowsNamespace(caller, namespace)) requireMay(caller, 'keys.manage', { namespace });
    else throw new Refusal('forbidden', `${caller.name} may not change the key: it works elsewhere as well.`);
  }
  return key;
}

interface KeyOwner {
  readonly userId: string;
  readonly name: string | undefined;
}

async function requireOwner(
  { store }: AccountParts,
  caller: Caller,
  { ownerId, grants, worker }: KeyInput & { readonly grants: readonly Grant[] },
): Promise<KeyOwner | undefined> {
  const own = worker ? undefined : caller.userId;
  const userId = ownerId ?? own;
  if (userId !== undefined && userId === own) return { userId, name: caller.userName };
  for (const { namespace } of grants) requireMay(caller, 'keys.manage', { namespace });
  if (userId === undefined) {
    if (!grants.some(({ ownOnly }) => ownOnly)) return undefined;
    const message = 'own_only needs a key that belongs to somebody: give user_id as well.';
    throw new Refusal('field_invalid', message, { field: 'own_only' });
  }
  requireMay(caller, 'users.manage');
  const user = await store.user(userId);
  if (!user) throw userNotFound(userId);
  return user;
}

/** The admin key is for emergencies, and has no limit. */
function livingMax(caller: Caller, { ownerId }: ApiKey): number | undefined {
  if (caller.credential === undefined) return undefined;
  return ownerId === undefined ? LIVING_IN_NAMESPACE_MAX : LIVING_OF_OWNER_MAX;
}

function explainFull({ ownerId, ownerName, grants }: ApiKey): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof KeysFull)) throw error;
    const whose =
      ownerId === undefined
        ? `There are ${LIVING_IN_NAMESPACE_MAX} keys of nobody in the namespace ${grants[0]!.namespace}`
        : `${ownerName ?? ownerId} has ${LIVING_OF_OWNER_MAX} keys`;
    throw new Refusal('keys_full', `${whose} that have not expired, which is the most there may be.`);
  };
}

function requireAhead(expiresAtMs: number | undefined, nowMs: number): void {
  if (expiresAtMs === undefined || expiresAtMs > nowMs) return;
  throw new Refusal('field_invalid', 'expires_at has passed already.', { field: 'expires_at' });
}

function isOwn(caller: Caller, key: ApiKey): boolean {
  return isItself(caller, key) || (caller.userId !== undefined && key.ownerId === caller.userId);
}

/** That is how a program signs out, and changes its secret. */
function isItself(caller: Caller, key: ApiKey): boolean {
  return caller.kind === 'key' && caller.id === key.keyId;
}

function keyNotFound(keyId: string): Refusal {
  return new Refusal('key_not_found', `There is no key ${keyId}.`);
}
