/**
 * The ticket of the link that a server prints: behind the #, so that no server or proxy on the way records it. Undefined: there is none.
 */
export function ticketOf(hash: string): string | 'damaged' | undefined {
  if (!hash.startsWith('#ticket=')) return undefined;
  return /^#ticket=([\w-]{20,200})$/.exec(hash)?.[1] ?? 'damaged';
}
