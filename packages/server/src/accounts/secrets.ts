/**
 * Secrets that we make ourselves: long and random, so one fast hash is enough to keep them, and all that is kept. They are
 * compared in constant time: neither the length nor the first wrong character of a guess can be measured.
 */
import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';

const PREFIX_LENGTH = 10;
const SECRET_BYTES = 32;
const LETTERS = 'abcdefghijkmnopqrstuvwxyz0123456789';
/** Keys made by earlier versions begin with ck_ and have no checksum. */
const KEY = /^(ck_[a-z0-9]{10}(?=_[\w-]{43}$)|ck2_[a-z0-9]{10}(?=_[\w-]{43}[A-Za-z0-9]{6}$))/;
const CHECKSUM_LENGTH = 6;
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

export interface NewKey {
  /** Shown once, in the answer to the request. */
  readonly key: string;
  readonly prefix: string;
}

/** seed: the same one gives the same prefix, never the same secret. */
export function newKey(seed?: string): NewKey {
  const bytes =
    seed === undefined ? randomBytes(PREFIX_LENGTH) : secretDigest(seed).subarray(0, PREFIX_LENGTH);
  const letters = Array.from(bytes, (byte) => LETTERS[byte % LETTERS.length]);
  const prefix = `ck2_${letters.join('')}`;
  return { key: withChecksum(`${prefix}_${newToken()}`), prefix };
}

/** The part of a key by which it is found; undefined when it cannot be one. */
export function prefixOf(key: string): string | undefined {
  return KEY.exec(key)?.[1];
}

/** Does not fit its checksum. Everybody can compute that, so saying it tells nothing about which keys exist. */
export function isMistyped(key: string): boolean {
  if (!key.startsWith('ck2_')) return false;
  return withChecksum(key.slice(0, -CHECKSUM_LENGTH)) !== key;
}

/** CRC-32 in base 62. */
export function withChecksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let i = 0; i < CHECKSUM_LENGTH; i += 1) {
    digits = `${DIGITS[rest % DIGITS.length]}${digits}`;
    rest = Math.floor(rest / DIGITS.length);
  }
  return `${text}${digits}`;
}

export function newToken(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

export function isToken(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text);
}

/** In hexadecimal digits. */
export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'hex');
}

export function secretDigest(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

export function sameSecret(a: string, b: string): boolean {
  return timingSafeEqual(secretDigest(a), secretDigest(b));
}

/**
 * Shows that a server knows its admin key without telling it. Also for the address that the server announced: whoever passes the
 * question on from elsewhere gets the proof for another address than the one that was asked.
 */
export function keyProof(adminKey: string, { address, nonce }: { address: string; nonce: string }): string {
  return createHmac('sha256', adminKey)
    .update(`carillon key proof\n${address}\n${nonce}`)
    .digest('base64url');
}

/** Derived from the session token, so that nothing has to be stored, and reveals nothing of it. */
export function csrfTokenOf(sessionToken: string): string {
  return createHmac('sha256', sessionToken).update('carillon csrf').digest('base64url');
}
