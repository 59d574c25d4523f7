/** Chance as a dependency: the system's in production, a seeded one where a run must be repeatable. */
import { webcrypto } from 'node:crypto';
import { V7Generator } from 'uuidv7';

export interface Random {
  /** In [0, 1). */
  next(): number;
  /** A new id, roughly ordered by creation (UUID version 7). */
  id(): string;
}

/** Random bytes are fetched by the page: one call into the system for a thousand numbers instead of one for each. */
const pool = new Uint32Array(1_024);
let used = pool.length;

function nextUint32(): number {
  if (used === pool.length) {
    webcrypto.getRandomValues(pool);
    used = 0;
  }
  return pool[used++]!;
}

const ids = new V7Generator({ nextUint32 });

export const systemRandom: Random = {
  next: () => Math.random(),
  id: () => ids.generate().toString(),
};

/** mulberry32: small, fast, and the same sequence for the same seed everywhere. */
export class SeededRandom implements Random {
  #state: number;
  readonly #ids: V7Generator;
  #idMs = 1_900_000_000_000;

  constructor(seed: number) {
    this.#state = seed >>> 0;
    this.#ids = new V7Generator({ nextUint32: () => Math.floor(this.next() * 2 ** 32) });
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  id(): string {
    this.#idMs += 1;
    return this.#ids.generateOrResetCore(this.#idMs, 10_000).toString();
  }

  /** An integer in [0, below). */
  below(below: number): number {
    return Math.floor(this.next() * below);
  }
}
