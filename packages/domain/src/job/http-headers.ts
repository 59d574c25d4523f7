/**
 * Which headers an http job may not set, and why. They frame the message, tell a proxy or server who the caller is, or are
 * what receivers recognise Carillon's own requests by: a job that set them could forge one of these.
 */
const OF_THE_CONNECTION = new Set([
  'connection',
  'content-length',
  'expect',
  'http2-settings',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** What proxies and content networks write the address of the caller into, and servers behind them believe. */
const OF_PROXIES = new Set([
  'cf-connecting-ip',
  'cf-connecting-ipv6',
  'client-ip',
  'fastly-client-ip',
  'forwarded',
  'host',
  'true-client-ip',
  'via',
  'x-appengine-user-ip',
  'x-azure-clientip',
  'x-azure-socketip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-envoy-external-address',
  'x-original-forwarded-for',
  'x-original-host',
  'x-original-url',
  'x-real-ip',
  'x-remote-addr',
  'x-remote-ip',
  'x-rewrite-url',
]);

/** Receivers that get headers as variables (CGI, WSGI) read every other sign as they read a hyphen: HTTP_X_FORWARDED_FOR. */
function comparable(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '-');
}

/** Why a job may not send the header; undefined: it may. */
export function headerRefusal(name: string): string | undefined {
  const header = comparable(name);
  if (OF_THE_CONNECTION.has(header) || header.startsWith('proxy-')) return 'is set by the connection itself';
  if (OF_PROXIES.has(header) || header.startsWith('x-forwarded')) {
    return 'tells a server or proxy who the caller is or which host is meant: no job may set it';
  }
  return undefined;
}

const OF_CARILLON = new Set(['idempotency-key', 'webhook-id', 'webhook-timestamp', 'webhook-signature']);

/** Carillon sets them where they belong, whatever the job says. */
export function isCarillonHeader(name: string): boolean {
  const header = comparable(name);
  return header.startsWith('carillon-') || OF_CARILLON.has(header);
}
