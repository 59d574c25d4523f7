/** Hooks that every request passes before it is routed. They call back: a promise for each would cost more than their work. */
import { Refusal } from '@carillon/domain';
import type { FastifyInstance } from 'fastify';
import type { RequireHost } from './listener/allowed-hosts.ts';

/**
 * Browsers take the answer for what it says it is, show it in no frame, load nothing with it, and send no referrer. A page
 * that needs more (scripts, styles) sets its own content-security-policy.
 */
const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
} as const;

const ONE_YEAR = 'max-age=31536000';

/** requireHost: left out: requests may be addressed to every name. */
export function addRequestHooks(app: FastifyInstance, requireHost?: RequireHost): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { raw } = request;
    reply.header('x-request-id', request.id);
    reply.headers(SECURITY_HEADERS);
    // Only over TLS: in clear, anybody on the path could have written the header.
    if (request.protocol === 'https') reply.header('strict-transport-security', ONE_YEAR);
    const host = raw.headers.host ?? (raw.headers[':authority'] as string | undefined);
    if (host !== undefined || raw.httpVersion !== '1.1') return done(refusalOfHost(host, requireHost));
    // HTTP/1.1 requires a Host. Node would refuse by itself, with an empty answer instead of a problem document.
    reply.header('connection', 'close');
    done(new Refusal('request_malformed', 'The request has no Host header.', { field: 'Host' }));
  });
}

function refusalOfHost(host: string | undefined, requireHost: RequireHost | undefined): Error | undefined {
  if (host === undefined || requireHost === undefined) return undefined;
  try {
    requireHost(host);
    return undefined;
  } catch (error) {
    return error as Error;
  }
}
