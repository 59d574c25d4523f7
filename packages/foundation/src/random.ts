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

const DIGITS = Buffer.from('0123456789abcdef', 'latin1');
const text = Buffer.alloc(36, '-', 'latin1');

/** As one piece: a text put together from characters keeps ten times the memory until somebody reads it. */
function uuidText(bytes: Readonly<Uint8Array>): string {
  let at = 0;
  for (let i = 0; i < 16; i += 1) {
    if (i === 4 || i === 6 || i === 8 || i === 10) at += 1;
    const byte = bytes[i]!;
    text[at] = DIGITS[byte >>> 4]!;
    text[at + 1] = DIGITS[byte & 15]!;
    at += 2;
  }
  return text.toString('latin1');
}

const ids = new V7Generator({ nextUint32 });

export const systemRandom: Random = {
  next: () => Math.random(),
  id: () => uuidText(ids.generate().bytes),
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
    return uuidText(this.#ids.generateOrResetCore(this.#idMs, 10_000).bytes);
  }

  /** An integer in [0, below). */
  below(below: number): number {
    return Math.floor(this.next() * below);
  }
}
