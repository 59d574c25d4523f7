/** A key nobody else has: what is sent under it twice is done once. */
export function randomKey(): string {
  return globalThis.crypto.randomUUID();
}
