/**
 * HTTP/1.1 wants a Host with every request. Node would refuse one without it by itself, with an empty answer; here it is
 * answered with a problem document like any other malformed request.
 */
import { Refusal } from '@carillon/domain';
import type { FastifyInstance } from 'fastify';

export function requireHost(app: FastifyInstance): void {
  app.addHook('onRequest', ({ raw }, reply, done) => {
    if (raw.headers.host !== undefined || raw.httpVersion !== '1.1') return done();
    reply.header('connection', 'close');
    done(new Refusal('request_malformed', 'The request has no Host header.', { field: 'Host' }));
  });
}
