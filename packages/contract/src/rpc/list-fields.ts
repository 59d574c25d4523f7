/** What calls ask for in texts, numbers and places, read as strictly as a query of REST. What is empty was left out. */
import { Refusal } from '@carillon/domain';
import { LIMIT_DEFAULT, LIMIT_MAX } from '../rest/query-values.ts';

const TEXT_LENGTH_MAX = 200;

export function textAsked(given: string, field: string): string | undefined {
  return given === '' ? undefined : storable(given, field);
}

export function countAsked(
  given: number,
  { field, fallback, max }: { field: string; fallback: number; max: number },
): number {
  if (given >= 0 && given <= max) return given === 0 ? fallback : given;
  throw new Refusal('field_invalid', `${field} must be a whole number from 1 to ${max}.`, { field });
}

export function pageSizeAsked(given: number): number {
  return countAsked(given, { field: 'page_size', fallback: LIMIT_DEFAULT, max: LIMIT_MAX });
}

/** read: how a place in this list is read; it refuses what is none. */
export function pageTokenAsked<Place>(given: string, read: (token: string) => Place): Place | undefined {
  if (given === '') return undefined;
  try {
    return read(given);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const message = 'page_token must be the next_page_token of a page of the same list.';
    throw new Refusal('field_invalid', message, { field: 'page_token', cause: error });
  }
}

/** Case is forgiven. */
export function wordAsked<const Word extends string>(
  words: readonly Word[],
  given: string,
  field: string,
): Word {
  const found = words.find((word) => word.toLowerCase() === given.toLowerCase());
  if (found !== undefined) return found;
  throw new Refusal('field_invalid', `${field} must be one of ${words.join(', ')}.`, { field });
}

/** No PostgreSQL text can hold U+0000 or half a surrogate pair, so nothing that is asked for can contain them. */
export function storable(given: string, field: string): string {
  if (given.length <= TEXT_LENGTH_MAX && given.isWellFormed() && !given.includes('\u0000')) return given;
  const message = `${field} is longer than ${TEXT_LENGTH_MAX} characters or holds one that cannot be stored.`;
  throw new Refusal('field_invalid', message, { field });
}
