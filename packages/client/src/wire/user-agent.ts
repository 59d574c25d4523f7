/** How this client names itself to servers, for their logs. */

/** A test compares it with the manifest. */
export const VERSION = '0.1.0';

/** `program` comes first, as in `billing/2.1 carillon-client/0.1.0`. */
export function userAgentHeader(program: string | undefined): Record<string, string> {
  if (isBrowser()) return {};
  return { 'user-agent': [program, `carillon-client/${VERSION}`].filter(Boolean).join(' ') };
}

/** Browsers name themselves, and ask the server for leave before they send a header of ours to another origin. */
function isBrowser(): boolean {
  const { navigator } = globalThis as { navigator?: { readonly userAgent?: string } };
  return navigator?.userAgent?.startsWith('Mozilla/') === true;
}
