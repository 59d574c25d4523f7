/**
 * The secrets that sign requests of a namespace now, cheap enough to ask for every run: they are read again after a few seconds, so
 * a key that another server made or removed counts from then on. While the storage does not answer, those last read count.
 */
import { Cache, signsAt } from '@carillon/domain';
import type { Clock } from '@carillon/foundation';
import type { SigningKeyStore, StoredSigningKey } from '../storage/signing-key-store.ts';
import type { SecretSeal } from './secret-seal.ts';

const CACHED_MS = 5_000;
const NAMESPACES_MAX = 10_000;

interface OpenedKey extends Omit<StoredSigningKey, 'secret'> {
  readonly secret: Uint8Array;
}

export interface SigningSecretsOptions {
  readonly store: Pick<SigningKeyStore, 'signingKeys'>;
  readonly seal: SecretSeal;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
}

export class SigningSecrets {
  readonly #options: SigningSecretsOptions;
  readonly #fresh: Cache<string, readonly OpenedKey[]>;
  readonly #last = new Cache<string, readonly OpenedKey[]>({ entriesMax: NAMESPACES_MAX });

  constructor(options: SigningSecretsOptions) {
    this.#options = options;
    const expiry = { ttlMs: CACHED_MS, clock: options.clock };
    this.#fresh = new Cache({ entriesMax: NAMESPACES_MAX, expiry });
  }

  async of(namespace: string): Promise<readonly Uint8Array[]> {
    const keys = await this.#keysOf(namespace);
    const nowMs = this.#options.clock.now();
    return keys.filter((key) => signsAt(key, nowMs)).map(({ secret }) => secret);
  }

  async #keysOf(namespace: string): Promise<readonly OpenedKey[]> {
    try {
      const keys = (await this.#fresh.getOrLoad(namespace, () => this.#read(namespace))) ?? [];
      this.#last.set(namespace, keys);
      return keys;
    } catch (error) {
      const last = this.#last.get(namespace);
      if (last) return last;
      throw error;
    }
  }

  async #read(namespace: string): Promise<readonly OpenedKey[]> {
    const { store, seal } = this.#options;
    return (await store.signingKeys(namespace)).map((key) => ({
      ...key,
      secret: Buffer.from(opened(key, seal), 'base64'),
    }));
  }
}

function opened({ secret, signingKeyId }: StoredSigningKey, seal: SecretSeal): string {
  try {
    return seal.open(secret, signingKeyId);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`the signing key ${signingKeyId} cannot be read: ${reason}`, { cause: error });
  }
}
