/**
 * Which host names requests may be addressed to. A page of another site can make its own name lead to this machine (DNS
 * rebinding): its requests then carry that name, so a server that only this machine can reach answers to its own names alone.
 */
import { Refusal } from '@carillon/domain';
import { isLoopback } from './gateway-port.ts';

export interface AllowedHostsOptions {
  /** The setting; * allows every name. Empty: the names of this machine where only it can reach the port, otherwise every name. */
  readonly allowed: readonly string[];
  /** What the port listens on. */
  readonly listensOn: string;
  readonly publicUrl: string | undefined;
}

/** Throws a Refusal for a Host that is not allowed. Undefined: every name is. */
export type RequireHost = (host: string) => void;

export function allowedHosts({
  allowed,
  listensOn,
  publicUrl,
}: AllowedHostsOptions): RequireHost | undefined {
  if (allowed.includes('*') || (allowed.length === 0 && !isLoopback(listensOn))) return undefined;
  const own = publicUrl === undefined ? [] : [new URL(publicUrl).hostname];
  const names = new Set([...allowed, ...own, listensOn].map((name) => name.toLowerCase()));
  return (host) => {
    const name = hostNameOf(host);
    if (names.has(name) || isLoopback(name) || name.endsWith('.localhost')) return;
    const message = `This server does not answer for ${name.slice(0, 100)}.`;
    throw new Refusal('host_not_allowed', message, { field: 'Host' });
  };
}

/** Without the port, and without the brackets of an IPv6 address. */
function hostNameOf(host: string): string {
  const [, bracketed] = /^\[([^\]]*)\](?::\d*)?$/.exec(host) ?? [];
  return (bracketed ?? host.replace(/:\d*$/, '')).toLowerCase().replace(/\.$/, '');
}
