/**
 * Keeps secrets that are needed in full from whoever reads the database or a backup of it: encrypted with AES-256-GCM, if the server
 * has a key file, and bound to what they belong to. All servers of one database need the same file. Without one, signing keys are stored
 * as they are, and secrets of payloads not at all. The file may hold several keys: the first encrypts, the others only open what was
 * encrypted with them before.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const PLAIN = 'plain:';
const SEALED = `${CIPHER}:`;
const KEY_ID_LENGTH = 12;

interface SealKey {
  /** Says which key a text was encrypted with, and nothing of the key. */
  readonly id: string;
  readonly bytes: Buffer;
}

export class SecretSeal {
  readonly #keys: readonly SealKey[];

  /** keyText: 32 bytes in base64, on a line each. Left out: nothing is encrypted. */
  constructor(keyText?: string) {
    const lines = keyText?.split('\n').map((line) => line.trim()) ?? [];
    this.#keys = lines.filter((line) => line !== '').map(keyOf);
    if (keyText !== undefined && this.#keys.length === 0) throw notAKey();
  }

  /** How everything begins that is encrypted now; undefined: nothing is. */
  get beginning(): string | undefined {
    const [current] = this.#keys;
    return current && `${SEALED}${current.id}:`;
  }

  /** owner: the id of what the secret belongs to; it opens for no other. */
  seal(secret: string, owner: string): string {
    const [current] = this.#keys;
    if (!current) return `${PLAIN}${secret}`;
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(CIPHER, current.bytes, iv).setAAD(Buffer.from(owner));
    const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
    return `${this.beginning}${Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64')}`;
  }

  /** Throws in words that say which setting is missing or wrong. */
  open(stored: string, owner: string): string {
    if (stored.startsWith(PLAIN)) return stored.slice(PLAIN.length);
    if (this.#keys.length === 0) throw new Error('it is encrypted, and this server has no secrets.key_file');
    const [text = '', id] = stored.slice(SEALED.length).split(':').reverse();
    // Earlier versions did not write which key it was.
    const keys = this.#keys.filter((key) => id === undefined || key.id === id);
    let cause: unknown;
    for (const key of keys) {
      try {
        return opened(Buffer.from(text, 'base64'), owner, key);
      } catch (error) {
        cause = error;
      }
    }
    throw new Error('secrets.key_file is not the one it was encrypted with', { cause });
  }
}

/** How many bytes a stored text has when it is opened, which takes no key. */
export function sealedBytes(stored: string): number {
  if (stored.startsWith(PLAIN)) return Buffer.byteLength(stored) - PLAIN.length;
  return Buffer.byteLength(stored.slice(stored.lastIndexOf(':') + 1), 'base64') - IV_BYTES - TAG_BYTES;
}

function opened(bytes: Buffer, owner: string, key: SealKey): string {
  const [iv, tag] = [bytes.subarray(0, IV_BYTES), bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES)];
  const decipher = createDecipheriv(CIPHER, key.bytes, iv, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(owner)).setAuthTag(tag);
  return decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
}

function keyOf(text: string): SealKey {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length !== KEY_BYTES || !/^[A-Za-z0-9+/_-]+=*$/.test(text)) throw notAKey();
  return { id: createHash('sha256').update(bytes).digest('hex').slice(0, KEY_ID_LENGTH), bytes };
}

function notAKey(): Error {
  return new Error('it must hold 32 bytes in base64, as `openssl rand -base64 32` writes them');
}
