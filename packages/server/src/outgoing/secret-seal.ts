/**
 * Keeps secrets that are needed in full from whoever reads the database or a backup of it: encrypted with AES-256-GCM, if the server
 * has a key file, and bound to what they belong to. All servers of one database need the same file. Without one they are stored as
 * they are.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const PLAIN = 'plain:';
const SEALED = `${CIPHER}:`;

export class SecretSeal {
  readonly #key: Buffer | undefined;

  /** keyText: 32 bytes in base64. Left out: secrets are not encrypted. */
  constructor(keyText?: string) {
    if (keyText === undefined) return;
    const text = keyText.trim();
    this.#key = Buffer.from(text, 'base64');
    if (this.#key.length !== KEY_BYTES || !/^[A-Za-z0-9+/_-]+=*$/.test(text)) {
      throw new Error('it must hold 32 bytes in base64, as `openssl rand -base64 32` writes them');
    }
  }

  /** owner: the id of what the secret belongs to; it opens for no other. */
  seal(secret: string, owner: string): string {
    if (!this.#key) return `${PLAIN}${secret}`;
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, iv).setAAD(Buffer.from(owner));
    const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
    return `${SEALED}${Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64')}`;
  }

  /** Throws in words that say which setting is missing or wrong. */
  open(stored: string, owner: string): string {
    if (stored.startsWith(PLAIN)) return stored.slice(PLAIN.length);
    if (!this.#key) throw new Error('it is encrypted, and this server has no secrets.key_file');
    const bytes = Buffer.from(stored.slice(SEALED.length), 'base64');
    const [iv, tag] = [bytes.subarray(0, IV_BYTES), bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES)];
    try {
      const decipher = createDecipheriv(CIPHER, this.#key, iv, { authTagLength: TAG_BYTES });
      decipher.setAAD(Buffer.from(owner)).setAuthTag(tag);
      return (
        decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
      );
    } catch (error) {
      throw new Error('secrets.key_file is not the one it was encrypted with', { cause: error });
    }
  }
}
