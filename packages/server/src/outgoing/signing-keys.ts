/**
 * The keys of a namespace that sign the requests of its http jobs. The secret is shown once. A key is replaced by making the next one
 * with an overlap: until it is over, requests carry the signatures of both.
 */
import { randomBytes } from 'node:crypto';
import {
  type Caller,
  may,
  Refusal,
  requireMay,
  SIGNING_KEYS_MAX,
  type SigningKey,
  signingSecretText,
} from '@carillon/domain';
import type { Clock, Random } from '@carillon/foundation';
import { type KnownNamespaces, namespaceNotFound } from '../accounts/known-namespaces.ts';
import { auditEntry } from '../audit/audit-log.ts';
import { NamespaceGone } from '../storage/account-store.ts';
import type { SigningKeyStore } from '../storage/signing-key-store.ts';
import type { SecretSeal } from './secret-seal.ts';

const SECRET_BYTES = 32;

export interface SigningKeyParts {
  readonly store: SigningKeyStore;
  readonly namespaces: Pick<KnownNamespaces, 'requireIn'>;
  readonly seal: SecretSeal;
  readonly clock: Pick<Clock, 'now'>;
  readonly random: Pick<Random, 'id'>;
}

export interface SigningKeyInput {
  /** When it begins to sign. Left out: now. */
  readonly startsAtMs?: number | undefined;
  /** The other keys end so long after it has begun. Left out: they go on. */
  readonly overlapSeconds?: number | undefined;
}

export interface CreatedSigningKey {
  readonly key: SigningKey;
  /** Shown only here. */
  readonly secret: string;
}

export function signingKeyOperations(parts: SigningKeyParts) {
  const { store, seal, clock, random, namespaces } = parts;

  return {
    async listSigningKeys(caller: Caller, namespace: string): Promise<SigningKey[]> {
      await namespaces.requireIn(caller, { namespace, action: 'signing_keys.read' });
      const keys = await store.signingKeys(namespace);
      return keys.map(({ secret: _, ...key }) => key);
    },

    async createSigningKey(
      caller: Caller,
      namespace: string,
      { startsAtMs, overlapSeconds }: SigningKeyInput,
    ): Promise<CreatedSigningKey> {
      await namespaces.requireIn(caller, { namespace, action: 'signing_keys.manage' });
      const nowMs = clock.now();
      const key: SigningKey = {
        ...{ signingKeyId: random.id(), namespace, createdAtMs: nowMs, endsAtMs: undefined },
        startsAtMs: Math.max(nowMs, startsAtMs ?? nowMs),
      };
      const secret = randomBytes(SECRET_BYTES).toString('base64');
      const othersEndAtMs =
        overlapSeconds === undefined ? undefined : key.startsAtMs + overlapSeconds * 1_000;
      const change = {
        ...{ action: 'signing_keys.create', ...subjectOf(key) },
        after: { startsAtMs: key.startsAtMs, othersEndAtMs },
      };
      const stored = { ...key, secret: seal.seal(secret, key.signingKeyId) };
      const audit = auditEntry(caller, change, nowMs);
      try {
        if (await store.addSigningKey(stored, { keysMax: SIGNING_KEYS_MAX, othersEndAtMs, audit })) {
          return { key, secret: signingSecretText(secret) };
        }
      } catch (error) {
        throw error instanceof NamespaceGone ? namespaceNotFound(namespace, 'namespace') : error;
      }
      throw new Refusal(
        'signing_keys_full',
        `The namespace ${namespace} has ${SIGNING_KEYS_MAX} signing keys, and there cannot be more.`,
      );
    },

    async deleteSigningKey(caller: Caller, signingKeyId: string): Promise<void> {
      const key = await store.signingKey(signingKeyId);
      const missing = new Refusal('signing_key_not_found', `There is no signing key ${signingKeyId}.`);
      if (!key || !may(caller, 'signing_keys.manage', { namespace: key.namespace })) {
        requireMay(caller, 'signing_keys.manage');
        throw missing;
      }
      const { startsAtMs, endsAtMs } = key;
      const change = {
        ...{ action: 'signing_keys.delete', ...subjectOf(key) },
        before: { startsAtMs, endsAtMs },
      };
      if (!(await store.removeSigningKey(signingKeyId, auditEntry(caller, change, clock.now()))))
        throw missing;
    },
  };
}

function subjectOf({ signingKeyId, namespace }: SigningKey) {
  return { namespace, subject: { kind: 'signing_key', id: signingKeyId } };
}
