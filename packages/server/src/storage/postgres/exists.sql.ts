/**
 * Whether there is such a row, looked up for each row that asks. Written as plain EXISTS, a plan made while the table was empty
 * reads all of it into a hash: through a sequential scan on PostgreSQL 18, even where those are turned off. OFFSET forbids that.
 */
export function exists(query: string): string {
  return `EXISTS (${query} OFFSET 0)`;
}
