/** Single values of a job request, judged one by one: each is within its bounds, or refused by the name of its field. */
import { Refusal } from '../errors/refusal.ts';

export function readText(text: string, options: { field: string; lengthMax: number }): string {
  const { field, lengthMax } = options;
  if (text.trim() === '') throw new Refusal('field_invalid', `${field} is empty.`, { field });
  requireStorable(text, field);
  if (hasControlCharacter(text)) {
    throw new Refusal('field_invalid', `${field} holds a control character.`, { field });
  }
  if (text.length > lengthMax) {
    const message = `${field} is ${text.length} characters long; at most ${lengthMax} are allowed.`;
    throw new Refusal('field_invalid', message, { field });
  }
  return text;
}

/** Half a surrogate pair and U+0000 are valid in JSON, but no PostgreSQL text can hold them. */
export function requireStorable(text: string, field: string): void {
  if (text.includes('\u0000')) {
    throw new Refusal('field_invalid', `${field} holds the character U+0000, which cannot be stored.`, {
      field,
    });
  }
  if (!text.isWellFormed()) {
    throw new Refusal('field_invalid', `${field} holds half of a surrogate pair, which is no character.`, {
      field,
    });
  }
}

export function readNumber(
  value: number,
  options: { field: string; min: number; max: number; integer?: boolean },
): number {
  const { field, min, max, integer = false } = options;
  // Written so that NaN fails too.
  if (value >= min && value <= max && (!integer || Number.isInteger(value))) return value;
  const kind = integer ? 'a whole number' : 'a number';
  throw new Refusal('field_invalid', `${field} must be ${kind} from ${min} to ${max}, and is ${value}.`, {
    field,
  });
}

/** Durations are kept in whole milliseconds. */
export function readSeconds(value: number, options: { field: string; min: number; max: number }): number {
  return Math.round(readNumber(value, options) * 1_000);
}

function hasControlCharacter(text: string): boolean {
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit < 0x20 || unit === 0x7f) return true;
  }
  return false;
}
