/**
 * Passwords are kept as argon2id hashes in PHC strings, parameters included, so that they can be raised later. Hashing is
 * slow on purpose: only a few run at once, and a full queue refuses, so that sign-ins cannot starve other requests.
 */
import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { Refusal } from '@carillon/domain';

export interface HashCost {
  readonly memoryKib: number;
  readonly passes: number;
  readonly parallelism: number;
}

/** What OWASP recommends as the least for argon2id: 19 MiB, two passes; about 50 ms. */
export const DEFAULT_COST: HashCost = { memoryKib: 19_456, passes: 2, parallelism: 1 };

const SALT_BYTES = 16;
const TAG_BYTES = 32;
/** The thread pool of Node has four threads; two stay for files and name resolution. */
const HASHES_AT_ONCE_MAX = 2;
const WAITING_MAX = 64;
const PHC =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]{16,86})\$([A-Za-z0-9+/]{22,86})$/;

const derive = promisify(argon2);

export class Passwords {
  readonly #cost: HashCost;
  #running = 0;
  readonly #waiting: (() => void)[] = [];
  /** No password matches it, and the comparison takes as long as with any other. */
  readonly #dummy: string;

  constructor(cost: HashCost = DEFAULT_COST) {
    this.#cost = cost;
    this.#dummy = phc(cost, randomBytes(SALT_BYTES), randomBytes(TAG_BYTES));
  }

  async hash(password: string): Promise<string> {
    const salt = randomBytes(SALT_BYTES);
    const tag = await this.#derive(password, { ...this.#cost, salt, tagLength: TAG_BYTES });
    return phc(this.#cost, salt, tag);
  }

  /** Takes the same time whether or not there is a hash to compare with. */
  async verify(password: string, stored: string | undefined): Promise<boolean> {
    const parsed = PHC.exec(stored ?? this.#dummy);
    if (!parsed) throw new Error('a stored password hash cannot be read');
    const [memoryKib, passes, parallelism] = parsed.slice(1, 4).map(Number) as [number, number, number];
    const [salt, expected] = [Buffer.from(parsed[4]!, 'base64'), Buffer.from(parsed[5]!, 'base64')];
    const cost = { memoryKib, passes, parallelism, salt, tagLength: expected.length };
    const same = timingSafeEqual(await this.#derive(password, cost), expected);
    return same && stored !== undefined;
  }

  async #derive(
    password: string,
    { memoryKib, passes, parallelism, salt, tagLength }: HashCost & { salt: Buffer; tagLength: number },
  ): Promise<Buffer> {
    await this.#waitForTurn();
    try {
      const message = Buffer.from(password.normalize('NFKC'));
      return await derive('argon2id', {
        ...{ message, nonce: salt, parallelism, tagLength, passes },
        memory: memoryKib,
      });
    } finally {
      const next = this.#waiting.shift();
      // The turn passes to the next in the queue: no later caller can take it first.
      if (next) next();
      else this.#running -= 1;
    }
  }

  async #waitForTurn(): Promise<void> {
    if (this.#running < HASHES_AT_ONCE_MAX) {
      this.#running += 1;
      return;
    }
    if (this.#waiting.length >= WAITING_MAX) {
      throw new Refusal('overloaded', 'Too many people are signing in at this moment.');
    }
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}

function phc({ memoryKib, passes, parallelism }: HashCost, salt: Buffer, tag: Buffer): string {
  return `$argon2id$v=19$m=${memoryKib},t=${passes},p=${parallelism}$${unpadded(salt)}$${unpadded(tag)}`;
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
