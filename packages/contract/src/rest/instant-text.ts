/** Instants as answers show them: ISO 8601 in UTC, null where there is none. */
export function instantText(ms: number): string;
export function instantText(ms: number | undefined): string | null;
export function instantText(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}

export function secondsOf(ms: number): number;
export function secondsOf(ms: number | undefined): number | null;
export function secondsOf(ms: number | undefined): number | null {
  return ms === undefined ? null : ms / 1_000;
}
