/**
 * Secrets that we make ourselves: long and random, so one fast hash is enough to keep them, and all that is kept. They are
 * compared in constant time: neither the length nor the first wrong character of a guess can be measured.
 */
import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';

const PREFIX_LENGTH = 10;
const SECRET_BYTES = 32;
const LETTERS = 'abcdefghijkmnopqrstuvwxyz0123456789';
const KEY = /^(ck_[a-z0-9]{10})_[A-Za-z0-9_-]{43}$/;

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
  const prefix = `ck_${letters.join('')}`;
  return { key: `${prefix}_${newToken()}`, prefix };
}

/** The part of a key by which it is found; undefined when it cannot be one. */
export function prefixOf(key: string): string | undefined {
  return KEY.exec(key)?.[1];
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

/** Derived from the session token, so that nothing has to be stored, and reveals nothing of it. */
export function csrfTokenOf(sessionToken: string): string {
  return createHmac('sha256', sessionToken).update('carillon csrf').digest('base64url');
}
