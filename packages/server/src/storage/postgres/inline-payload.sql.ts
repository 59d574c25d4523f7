/**
 * A payload that is small travels in the pending row itself, so that claiming it looks up no job (a quarter of a claim's
 * cost). Larger ones would make `due` slow to read for everybody: there it is NULL, and the claim reads the job. Cursors,
 * which are never claimed, carry none.
 */
const INLINE_BYTES_MAX = 512;

/** text: an expression that gives the payload's JSON. */
export function inlinePayload(text: string): string {
  return `CASE WHEN octet_length(${text}) <= ${INLINE_BYTES_MAX} THEN ${text} END`;
}

/** column: of type jsonb. What takes up much more is not unpacked only to be found too large. */
export function inlineJson(column: string): string {
  return `CASE WHEN pg_column_size(${column}) <= ${2 * INLINE_BYTES_MAX} THEN ${inlinePayload(`${column}::text`)} END`;
}
