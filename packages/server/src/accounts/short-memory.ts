/** Remembers what the storage said for a few seconds, and never more than a bounded number of things. */
import type { Clock } from '@carillon/foundation';

export class ShortMemory<Value> {
  readonly #options: {
    readonly clock: Pick<Clock, 'monotonic'>;
    readonly ttlMs: number;
    readonly entriesMax: number;
  };
  readonly #entries = new Map<string, { readonly value: Value; readonly untilMs: number }>();

  constructor(options: { clock: Pick<Clock, 'monotonic'>; ttlMs: number; entriesMax: number }) {
    this.#options = options;
  }

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    if (this.#options.clock.monotonic() < entry.untilMs) return entry.value;
    this.#entries.delete(key);
    return undefined;
  }

  set(key: string, value: Value): void {
    const { clock, ttlMs, entriesMax } = this.#options;
    this.#entries.delete(key);
    if (this.#entries.size >= entriesMax) {
      // Maps keep the order in which things came: the first is the oldest.
      for (const oldest of this.#entries.keys()) {
        this.#entries.delete(oldest);
        break;
      }
    }
    this.#entries.set(key, { value, untilMs: clock.monotonic() + ttlMs });
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }
}
