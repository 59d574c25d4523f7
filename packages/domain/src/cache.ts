/**
 * The one cache: it never holds more than its bound, the oldest entry goes first, and entries may expire. It holds what can
 * be computed or read again, so insertion order is enough and a hit without expiry costs one Map lookup. A value is never
 * undefined.
 */
export interface CacheOptions {
  readonly entriesMax: number;
  /** Left out: entries stay until the bound is reached. */
  readonly expiry?: { readonly ttlMs: number; readonly clock: { monotonic(): number } };
}

export class Cache<Key, Value> {
  readonly #entriesMax: number;
  readonly #expiry: CacheOptions['expiry'];
  readonly #values = new Map<Key, Value>();
  readonly #expiresAtMs = new Map<Key, number>();
  readonly #loads = new Map<Key, Promise<Value | undefined>>();

  constructor({ entriesMax, expiry }: CacheOptions) {
    this.#entriesMax = entriesMax;
    this.#expiry = expiry;
  }

  get size(): number {
    return this.#values.size;
  }

  get(key: Key): Value | undefined {
    const value = this.#values.get(key);
    if (value === undefined || this.#expiry === undefined) return value;
    if (this.#expiry.clock.monotonic() < this.#expiresAtMs.get(key)!) return value;
    this.#remove(key);
    return undefined;
  }

  set(key: Key, value: Value): void {
    this.#remove(key);
    if (this.#values.size >= this.#entriesMax) {
      const oldest = this.#values.keys().next();
      if (!oldest.done) this.#remove(oldest.value);
    }
    this.#values.set(key, value);
    if (this.#expiry) this.#expiresAtMs.set(key, this.#expiry.clock.monotonic() + this.#expiry.ttlMs);
  }

  getOrCompute(key: Key, compute: (key: Key) => Value): Value {
    const known = this.get(key);
    if (known !== undefined) return known;
    const value = compute(key);
    this.set(key, value);
    return value;
  }

  /**
   * Concurrent calls for one key share one read. A failed read is not kept, nor is undefined, nor what was read before the
   * entry was deleted.
   */
  async getOrLoad<Loaded extends Value | undefined>(
    key: Key,
    read: () => Promise<Loaded>,
  ): Promise<Value | Loaded> {
    const known = this.get(key);
    if (known !== undefined) return known;
    const shared = this.#loads.get(key);
    if (shared !== undefined) return (await shared) as Value | Loaded;
    const load = read();
    this.#loads.set(key, load);
    try {
      const value = await load;
      if (value !== undefined && this.#loads.get(key) === load) this.set(key, value);
      return value;
    } finally {
      if (this.#loads.get(key) === load) this.#loads.delete(key);
    }
  }

  delete(key: Key): void {
    this.#remove(key);
    this.#loads.delete(key);
  }

  clear(): void {
    this.#values.clear();
    this.#expiresAtMs.clear();
    this.#loads.clear();
  }

  /** Oldest first. Entries may be deleted meanwhile. */
  entries(): IterableIterator<[Key, Value]> {
    return this.#values.entries();
  }

  #remove(key: Key): void {
    this.#values.delete(key);
    if (this.#expiry) this.#expiresAtMs.delete(key);
  }
}
