/**
 * PostgreSQL array literals built by hand: the hot path sends every batch as a handful of arrays, and joining strings is
 * several times cheaper than the driver's general encoder. Values are still bound parameters, never part of the SQL.
 */
type Plain = string | number | boolean | null | undefined;

/** For values that need no quoting: numbers, booleans, UUIDs, words of our own. */
export function plainArray(values: readonly Plain[]): string {
  return literalOf(values, (value) => String(value ?? 'NULL'));
}

const NEEDS_ESCAPE = /["\\]/g;

/** For any text. */
export function textArray(values: readonly (string | null | undefined)[]): string {
  return literalOf(values, (value) =>
    value === null || value === undefined ? 'NULL' : `"${value.replace(NEEDS_ESCAPE, '\\$&')}"`,
  );
}

/**
 * Columns often say the same in neighbouring rows, such as an instant or the name of a handler: that is written once. Each element is added
 * together with its comma, since every addition makes a piece that the text is put together from in the end.
 */
function literalOf<Value extends Plain>(values: readonly Value[], write: (value: Value) => string): string {
  if (values.length === 0) return '{}';
  let last = values[0]!;
  const first = write(last);
  let next = `,${first}`;
  let text = `{${first}`;
  for (let i = 1; i < values.length; i += 1) {
    const value = values[i]!;
    if (value !== last) {
      last = value;
      next = `,${write(value)}`;
    }
    text += next;
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
