/**
 * For load balancers and supervisors: is the process alive, and should it get requests. Open to everybody, reveals no
 * secrets.
 */
import { Cache } from '@carillon/domain';
import type { Clock, Log } from '@carillon/foundation';
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

export const SHARED_MS = 1_000;

/**
 * One check for all requests within a second of its answer. Anybody may send them and each check reads the database: however
 * many there are, and however slow it is, one check runs at a time. A failure is an answer too.
 */
export function sharedReadiness(
  check: () => Promise<Readiness>,
  { clock }: { clock: Pick<Clock, 'monotonic'> },
): () => Promise<Readiness> {
  const outcomes = new Cache<'readiness', PromiseSettledResult<Readiness>>({
    entriesMax: 1,
    expiry: { ttlMs: SHARED_MS, clock },
  });
  return async () => {
    const outcome = await outcomes.getOrLoad(
      'readiness',
      async () => (await Promise.allSettled([check()]))[0],
    );
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  };
}
