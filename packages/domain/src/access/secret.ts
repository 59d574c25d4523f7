/**
 * Secrets: values that payloads name and do not hold. A namespace has its own; a new value replaces the one before under the next
 * version. What is known of a secret never includes its value.
 */
import { refuseValue } from '../errors/refusal.ts';

export interface Secret {
  readonly namespace: string;
  readonly name: string;
  /** 1 when it was made; each new value has the next. */
  readonly version: number;
  /** Whether it is masked where runs write it: a value that is too short would mask text that has nothing to do with it. */
  readonly masked: boolean;
  readonly createdAtMs: number;
  /** The names of those who did. */
  readonly createdBy: string;
  readonly updatedAtMs: number;
  readonly updatedBy: string;
}

/** A list of them is read whole. */
export const SECRETS_MAX = 1_000;
export const SECRET_VALUE_BYTES_MAX = 64 * 1024;
/** Of all secrets that one payload names, each counted once: what a run writes is searched for all of them. */
export const PAYLOAD_SECRETS_BYTES_MAX = 64 * 1024;
/** In characters. */
export const MASKED_LENGTH_MIN = 8;
const SECRET_NAME = /^[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9])?$/;

export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

export function requireSecretName(name: string, field: string): string {
  if (isSecretName(name)) return name;
  return refuseValue(
    field,
    `The name of a secret is made of small letters, digits, dots, hyphens and underscores, up to 64 of them, with a letter or a digit at both ends.`,
  );
}

/** Says nothing of the value but what is wrong with its length. */
export function requireSecretValue(value: string, field: string): string {
  if (value.length === 0) return refuseValue(field, `${field} must not be empty.`);
  if (
    value.length * 3 > SECRET_VALUE_BYTES_MAX &&
    new TextEncoder().encode(value).length > SECRET_VALUE_BYTES_MAX
  )
    return refuseValue(field, `${field} must be at most ${SECRET_VALUE_BYTES_MAX} bytes.`);
  return value;
}
