/** The ticket of the link that a server prints: behind the #, so that no server or proxy on the way records it. */
export function ticketOf(hash: string): string | undefined {
  return /^#ticket=([\w-]{20,200})$/.exec(hash)?.[1];
}
