/**
 * Which namespaces exist, cheap enough to check for every new job: the default one always does, others are cached for a few
 * seconds. A namespace created on another server is found at once; a job for one that was removed there is refused by the
 * storage.
 */
import {
  type Action,
  Cache,
  type Caller,
  DEFAULT_NAMESPACE,
  EVERYWHERE,
  type Grant,
  isNamespaceName,
  knowsNamespace,
  Refusal,
  requireMay,
} from '@carillon/domain';
import type { Clock } from '@carillon/foundation';
import { type AccountStore, NamespaceGone } from '../storage/account-store.ts';

const CACHED_MS = 5_000;
const CACHED_MAX = 10_000;

export class KnownNamespaces {
  readonly #store: Pick<AccountStore, 'existingNamespaces'>;
  readonly #known: Cache<string, true>;

  constructor(options: {
    store: Pick<AccountStore, 'existingNamespaces'>;
    clock: Pick<Clock, 'monotonic'>;
  }) {
    this.#store = options.store;
    const expiry = { ttlMs: CACHED_MS, clock: options.clock };
    this.#known = new Cache({ entriesMax: CACHED_MAX, expiry });
  }

  /** Without a read of the storage. */
  has(name: string): boolean {
    return name === DEFAULT_NAMESPACE || this.#known.get(name) !== undefined;
  }

  /** Answers the names that do not exist; reads the storage for those that are not cached. */
  async missing(names: readonly string[]): Promise<string[]> {
    const unknown = [...new Set(names)].filter((name) => !this.has(name));
    if (unknown.length === 0) return [];
    // No other name could be looked for: the database refuses some.
    const possible = unknown.filter(isNamespaceName);
    const existing = new Set(possible.length === 0 ? [] : await this.#store.existingNamespaces(possible));
    for (const name of existing) this.#known.set(name, true);
    return unknown.filter((name) => !existing.has(name));
  }

  async require(name: string, field = 'namespace'): Promise<void> {
    if (this.has(name)) return;
    const [missing] = await this.missing([name]);
    if (missing !== undefined) throw namespaceNotFound(missing, field);
  }

  /** Of a list: a name that is not there, or that the caller may know nothing of, is a mistake, and not an empty list. */
  async requireKnown(caller: Caller, name: string | undefined): Promise<void> {
    if (name === undefined) return;
    if (!knowsNamespace(caller, name)) throw namespaceNotFound(name, 'namespace');
    await this.require(name);
  }

  /** Refuses whoever may not do this there. A namespace that the caller may know nothing of is refused like one that is not there. */
  async requireIn(
    caller: Caller,
    { namespace, action }: { namespace: string; action: Action },
  ): Promise<void> {
    if (!isNamespaceName(namespace) || !knowsNamespace(caller, namespace)) {
      requireMay(caller, action);
      throw namespaceNotFound(namespace, 'namespace');
    }
    requireMay(caller, action, { namespace });
    await this.require(namespace);
  }

  /** Writes grants; refuses with the name of the namespace where one was removed meanwhile. */
  async whileGranting<T>(grants: readonly Grant[], field: string, write: () => Promise<T>): Promise<T> {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof NamespaceGone)) throw error;
      const names = grants.map(({ namespace }) => namespace).filter((name) => name !== EVERYWHERE);
      for (const name of names) this.forget(name);
      const [missing = names[0]!] = await this.missing(names);
      throw namespaceNotFound(missing, field);
    }
  }

  /** It was removed on this server. */
  forget(name: string): void {
    this.#known.delete(name);
  }
}

export function namespaceNotFound(name: string, field?: string): Refusal {
  return new Refusal(
    'namespace_not_found',
    `There is no namespace ${name}.`,
    field === undefined ? {} : { field },
  );
}
