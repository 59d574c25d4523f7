/** For load balancers and supervisors: is the process alive, and should it get requests. Open to everybody, tells no secrets. */
import type { Log } from '@carillon/foundation';
import type { FastifyInstance } from 'fastify';

export interface Readiness {
  readonly ready: boolean;
  readonly reasons: readonly string[];
}

export function healthRoutes(
  app: FastifyInstance,
  { readiness, log }: { readiness: () => Promise<Readiness>; log: Log },
): void {
  app.get('/health/live', async () => ({ status: 'live' }));

  app.get('/health/ready', async (_request, reply) => {
    const { ready, reasons } = await readiness().catch((error: unknown) => {
      log.warn({ err: error }, 'the readiness check failed');
      return { ready: false, reasons: ['the readiness check failed'] };
    });
    if (ready) return { status: 'ready' };
    reply.code(503);
    return { status: 'not_ready', reasons };
  });
}
