/** Where a server listens when nobody said so, and how that place is shown to people. Without TLS nobody else can reach it. */
import type { AddressInfo } from 'node:net';

const LOOPBACK = '127.0.0.1';
const EVERYWHERE = '0.0.0.0';

export function hostOf(host: string | undefined, { tls }: { tls: boolean }): string {
  return host ?? (tls ? EVERYWHERE : LOOPBACK);
}

export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|::1)$/i.test(host);
}

/** As a client on this machine reaches it. */
export function addressOf({ address, family, port }: AddressInfo, { tls }: { tls: boolean }): string {
  const reachable = address === EVERYWHERE || address === '::' ? LOOPBACK : address;
  const name = family === 'IPv6' && reachable.includes(':') ? `[${reachable}]` : reachable;
  return `${tls ? 'https' : 'http'}://${name}:${port}`;
}
