/**
 * The values of secrets for runs that start now: kept for a few seconds, so a value that another server has set or removed counts
 * from then on. A name that is not known is looked for every time.
 */
import { Cache } from '@carillon/domain';
import type { Clock } from '@carillon/foundation';
import type { SecretSeal } from '../outgoing/secret-seal.ts';
import type { SecretStore } from '../storage/secret-store.ts';
import { openSecret } from './sealed-secret.ts';

const CACHED_MS = 5_000;
const CACHED_MAX = 1_000;

/** The value, or why it cannot be read. */
export type SecretValue = string | Error;

export interface SecretValuesOptions {
  readonly store: Pick<SecretStore, 'findSecrets'>;
  readonly seal: SecretSeal;
  readonly clock: Pick<Clock, 'monotonic'>;
}

export class SecretValues {
  readonly #options: SecretValuesOptions;
  readonly #values: Cache<string, string>;

  constructor(options: SecretValuesOptions) {
    this.#options = options;
    const expiry = { ttlMs: CACHED_MS, clock: options.clock };
    this.#values = new Cache({ entriesMax: CACHED_MAX, expiry });
  }

  /** Those that are there. */
  async of(namespace: string, names: readonly string[]): Promise<ReadonlyMap<string, SecretValue>> {
    const values = new Map<string, SecretValue>();
    const unknown: string[] = [];
    for (const name of names) {
      const value = this.#values.get(keyOf(namespace, name));
      if (value === undefined) unknown.push(name);
      else values.set(name, value);
    }
    if (unknown.length === 0) return values;
    const { store, seal } = this.#options;
    for (const stored of await store.findSecrets(namespace, unknown)) {
      try {
        const value = openSecret(seal, stored);
        this.#values.set(keyOf(namespace, stored.name), value);
        values.set(stored.name, value);
      } catch (error) {
        values.set(stored.name, error as Error);
      }
    }
    return values;
  }

  /** It was set or removed on this server. */
  forget(namespace: string, name: string): void {
    this.#values.delete(keyOf(namespace, name));
  }
}

/** No name holds a space. */
function keyOf(namespace: string, name: string): string {
  return `${namespace} ${name}`;
}
