/**
 * GET /metrics, for Prometheus: with a key that has metrics.read, or without one for callers on this machine where the
 * configuration says so. It also counts the answers of every route.
 */
import { requireMay } from '@carillon/domain';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { Authenticate } from './authenticate/create-authenticate.ts';

export interface MetricsOptions {
  readonly telemetry: Telemetry;
  readonly authenticate: Authenticate;
  /** Callers on this machine need no key. */
  readonly open: boolean;
}

export function metricsEndpoint(
  app: FastifyInstance,
  { telemetry, authenticate, open }: MetricsOptions,
): void {
  app.addHook('onResponse', ({ method, routeOptions }, { statusCode, elapsedTime }, done) => {
    // Unknown paths share one label: callers must not be able to create new ones.
    const route = routeOptions.url ?? 'none';
    telemetry.requestAnswered({ method, route, status: statusCode, elapsedMs: elapsedTime });
    done();
  });
  app.get('/metrics', async (request, reply) => {
    if (!(open && isLocal(request))) requireMay(await authenticate(request), 'metrics.read');
    const { contentType, text } = await telemetry.report();
    return reply.header('cache-control', 'no-store').type(contentType).send(text);
  });
}

/** A request that a local proxy forwards came from elsewhere. */
function isLocal({ socket, headers }: FastifyRequest): boolean {
  if (headers.forwarded !== undefined || headers['x-forwarded-for'] !== undefined) return false;
  return /^(127\.|::1$|::ffff:127\.)/.test(socket.remoteAddress ?? '');
}
