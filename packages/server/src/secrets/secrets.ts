/**
 * The secrets of a namespace that payloads name. Nobody reads a value back: it goes to the worker of a run that names it, and nowhere
 * else. Who may name one may use it, since a job can send what it is given wherever it calls.
 */
import {
  actorOf,
  actorText,
  type Caller,
  homeOf,
  MASKED_LENGTH_MIN,
  namesSecrets,
  type Owner,
  PAYLOAD_SECRETS_BYTES_MAX,
  Refusal,
  readSecretNames,
  refuseSpacedReferences,
  refuseValue,
  requireMay,
  requireSecretName,
  requireSecretValue,
  SECRETS_MAX,
  type Secret,
  unknownSecrets,
} from '@carillon/domain';
import type { Clock } from '@carillon/foundation';
import { type KnownNamespaces, namespaceNotFound } from '../accounts/known-namespaces.ts';
import { auditEntry } from '../audit/audit-log.ts';
import { type SecretSeal, sealedBytes } from '../outgoing/secret-seal.ts';
import { NamespaceGone } from '../storage/account-store.ts';
import type { SecretStore, StoredSecret } from '../storage/secret-store.ts';
import { sealSecret } from './sealed-secret.ts';
import type { SecretValues } from './secret-values.ts';

/** Of callers who set one secret at the same moment each wins once. */
const TRIES_MAX = 5;

export interface SecretParts {
  readonly store: SecretStore;
  readonly namespaces: Pick<KnownNamespaces, 'requireIn'>;
  readonly values: Pick<SecretValues, 'forget'>;
  readonly seal: SecretSeal;
  readonly clock: Pick<Clock, 'now'>;
}

export interface NamedSecret {
  /** Undefined: where jobs of the caller are made. */
  readonly namespace?: string | undefined;
  readonly name: string;
}

export function secretOperations(parts: SecretParts) {
  const { store, values, clock, namespaces } = parts;

  return {
    async listSecrets(caller: Caller, { namespace = homeOf(caller) }: Pick<NamedSecret, 'namespace'>) {
      await namespaces.requireIn(caller, { namespace, action: 'secrets.read' });
      return await store.secrets(namespace);
    },

    async getSecret(caller: Caller, { namespace = homeOf(caller), name }: NamedSecret): Promise<Secret> {
      await namespaces.requireIn(caller, { namespace, action: 'secrets.read' });
      const [stored] = await store.findSecrets(namespace, [name]);
      if (!stored) throw secretNotFound(namespace, name);
      return withoutValue(stored);
    },

    /** Makes it, or gives it a new value. */
    async setSecret(
      caller: Caller,
      { namespace = homeOf(caller), name }: NamedSecret,
      value: string,
    ): Promise<Secret> {
      await namespaces.requireIn(caller, { namespace, action: 'secrets.manage' });
      requireSecretName(name, 'name');
      requireSecretValue(value, 'value');
      if (parts.seal.beginning === undefined)
        throw new Refusal(
          'secrets_unsealed',
          'This server has no key to encrypt secrets with (secrets.key_file), and does not store them without.',
        );
      const secret = await setNext(parts, caller, { namespace, name, value });
      values.forget(namespace, name);
      return secret;
    },

    async deleteSecret(caller: Caller, { namespace = homeOf(caller), name }: NamedSecret): Promise<void> {
      await namespaces.requireIn(caller, { namespace, action: 'secrets.manage' });
      const change = { action: 'secrets.delete', ...subjectOf({ namespace, name }) };
      if (!(await store.removeSecret({ namespace, name }, auditEntry(caller, change, clock.now()))))
        throw secretNotFound(namespace, name);
      values.forget(namespace, name);
    },
  };
}

/** Before a payload is stored: the caller may name the secrets that it names, all of them are there, and not too large together. */
export async function requireSecrets(
  { secrets }: { readonly secrets: Pick<SecretStore, 'findSecrets'> },
  caller: Caller,
  { namespace, payload }: Pick<Owner, 'namespace'> & { readonly payload: string },
): Promise<void> {
  refuseSpacedReferences(payload);
  if (!namesSecrets(payload)) return;
  const names = readSecretNames(payload);
  if (names.length === 0) return;
  // Secrets are nobody's own: a grant on one's own jobs alone is not enough.
  requireMay(caller, 'secrets.read', { namespace }, 'a payload that names secrets');
  const stored = await secrets.findSecrets(namespace, names);
  const found = new Set(stored.map(({ name }) => name));
  const missing = names.filter((name) => !found.has(name));
  if (missing.length > 0) throw unknownSecrets(missing, namespace);
  const bytes = stored.reduce((sum, { value }) => sum + sealedBytes(value), 0);
  if (bytes > PAYLOAD_SECRETS_BYTES_MAX)
    refuseValue(
      'payload',
      `The secrets that the payload names have ${bytes} bytes together, and may have ${PAYLOAD_SECRETS_BYTES_MAX}.`,
    );
}

async function setNext(
  { store, seal, clock }: SecretParts,
  caller: Caller,
  { namespace, name, value }: { namespace: string; name: string; value: string },
): Promise<Secret> {
  const masked = value.length >= MASKED_LENGTH_MIN;
  const by = actorText(actorOf(caller));
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const [before] = await store.findSecrets(namespace, [name]);
    const version = (before?.version ?? 0) + 1;
    const nowMs = clock.now();
    const { createdAtMs, createdBy } = before ?? { createdAtMs: nowMs, createdBy: by };
    const secret: Secret = {
      ...{ namespace, name, version, masked },
      ...{ createdAtMs, createdBy, updatedAtMs: nowMs, updatedBy: by },
    };
    const change = {
      ...{ action: 'secrets.set', ...subjectOf(secret), after: { version } },
      ...(before && { before: { version: before.version } }),
    };
    const stored = { ...secret, value: sealSecret(seal, value, secret) };
    const options = { secretsMax: SECRETS_MAX, audit: auditEntry(caller, change, nowMs) };
    const result = await store.putSecret(stored, options).catch((error: unknown) => {
      throw error instanceof NamespaceGone ? namespaceNotFound(namespace, 'namespace') : error;
    });
    if (result === 'put') return secret;
    if (result === 'full')
      throw new Refusal(
        'secrets_full',
        `The namespace ${namespace} has ${SECRETS_MAX} secrets, and there cannot be more.`,
      );
  }
  throw new Refusal('secret_changed', `The secret ${name} kept changing while it was set.`);
}

function withoutValue({ value: _, ...secret }: StoredSecret): Secret {
  return secret;
}

function secretNotFound(namespace: string, name: string): Refusal {
  return new Refusal('secret_not_found', `There is no secret ${name} in the namespace ${namespace}.`);
}

function subjectOf({ namespace, name }: Pick<Secret, 'namespace' | 'name'>) {
  return { namespace, subject: { kind: 'secret', id: name } };
}
