/** Instants in SQL: milliseconds where the scheduler reads and writes them, timestamps in what people may look at. */

export function timestampOf(ms: string): string {
  return `to_timestamp(${ms}::float8 / 1000)`;
}

export function msOf(timestamp: string): string {
  return `(extract(epoch FROM ${timestamp}) * 1000)::float8`;
}
