/**
 * Which namespaces exist, cheap enough to be asked for every new job: the default one always does, others are remembered
 * for a few seconds. A namespace made on another server is found at once; one removed there may be used until it is
 * forgotten here.
 */
import { DEFAULT_NAMESPACE, Refusal } from '@carillon/domain';
import type { Clock } from '@carillon/foundation';
import type { AccountStore } from '../../storage/account-store.ts';
import { ShortMemory } from './short-memory.ts';

const REMEMBERED_MS = 5_000;
const REMEMBERED_MAX = 10_000;

export class KnownNamespaces {
  readonly #store: Pick<AccountStore, 'existingNamespaces'>;
  readonly #known: ShortMemory<true>;

  constructor(options: {
    store: Pick<AccountStore, 'existingNamespaces'>;
    clock: Pick<Clock, 'monotonic'>;
  }) {
    this.#store = options.store;
    this.#known = new ShortMemory({
      clock: options.clock,
      ttlMs: REMEMBERED_MS,
      entriesMax: REMEMBERED_MAX,
    });
  }

  /** Without a question to the storage. */
  has(name: string): boolean {
    return name === DEFAULT_NAMESPACE || this.#known.get(name) !== undefined;
  }

  /** Asks the storage about those that are not remembered. Answers those that do not exist. */
  async missing(names: readonly string[]): Promise<string[]> {
    const unknown = [...new Set(names)].filter((name) => !this.has(name));
    if (unknown.length === 0) return [];
    const existing = new Set(await this.#store.existingNamespaces(unknown));
    for (const name of existing) this.#known.set(name, true);
    return unknown.filter((name) => !existing.has(name));
  }

  async require(name: string, field = 'namespace'): Promise<void> {
    if (this.has(name)) return;
    const [missing] = await this.missing([name]);
    if (missing !== undefined) throw namespaceNotFound(missing, field);
  }

  /** It was removed here. */
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
