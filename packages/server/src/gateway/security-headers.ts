/**
 * What browsers are told about every answer: take it for what it says it is, show it in no frame, load nothing with it,
 * tell nobody where it was linked from. A page that needs more (scripts, styles) sets its own content-security-policy.
 */
import type { FastifyInstance } from 'fastify';

const HEADERS = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
} as const;

const ONE_YEAR = 'max-age=31536000';

export function securityHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(HEADERS);
    // Only what came over TLS may ask for it: in clear, anybody on the way could have written the header.
    if (request.protocol === 'https') reply.header('strict-transport-security', ONE_YEAR);
    done();
  });
}
