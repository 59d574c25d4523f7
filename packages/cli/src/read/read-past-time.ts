/** A time that has passed, as people type it: how long ago, or an instant. */
import { UsageError } from '../program/usage-error.ts';
import { readSeconds } from './read-number.ts';

export function readPastTime(text: string, flag: string): Date {
  if (/^\d+(\.\d+)?\s*(ms|s|m|h|d|w)$/.test(text.trim()))
    return new Date(Date.now() - (readSeconds(text, flag) ?? 0) * 1_000);
  const at = new Date(text);
  if (/^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(at.getTime())) return at;
  throw new UsageError(
    `${flag} must say how long ago, such as 15m, 2h or 1d, or be a time such as 2027-03-01T09:00:00Z, and is "${text}".`,
  );
}
