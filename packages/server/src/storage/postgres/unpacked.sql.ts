/**
 * The arrays of a lease lie outside its row, and each look at one element would fetch the whole array again: a statement that
 * looks at many of them puts these into a materialized expression, where each array is fetched once.
 */
export function unpacked(lease: string, columns: readonly string[]): string {
  return columns.map((column) => `${lease}.${column} || '{}' AS ${column}`).join(', ');
}
