/**
 * PostgreSQL array literals built by hand: the hot path sends every batch as a handful of arrays, and joining strings is
 * several times cheaper than the driver's general encoder. Values are still bound parameters, never part of the SQL.
 */
type Plain = string | number | boolean | null | undefined;

/** For values that need no quoting: numbers, booleans, UUIDs, words of our own. */
export function plainArray(values: readonly Plain[]): string {
  let text = '{';
  for (let i = 0; i < values.length; i += 1) {
    if (i > 0) text += ',';
    text += values[i] ?? 'NULL';
  }
  return `${text}}`;
}

const NEEDS_ESCAPE = /["\\]/g;

/** For any text. */
export function textArray(values: readonly (string | null | undefined)[]): string {
  let text = '{';
  // Columns often say the same in every row: the name of a handler, who asked, from where.
  let last: string | undefined;
  let quoted = '';
  for (let i = 0; i < values.length; i += 1) {
    if (i > 0) text += ',';
    const value = values[i];
    if (value === null || value === undefined) text += 'NULL';
    else {
      if (value !== last) quoted = `"${value.replace(NEEDS_ESCAPE, '\\$&')}"`;
      last = value;
      text += quoted;
    }
  }
  return `${text}}`;
}

/** Undefined where a whole column is empty: the database pads it with NULLs. */
export function sparse<T>(
  values: readonly (T | undefined)[],
  encode: (values: readonly (T | undefined)[]) => string,
): string | null {
  for (const value of values) if (value !== undefined) return encode(values);
  return null;
}
