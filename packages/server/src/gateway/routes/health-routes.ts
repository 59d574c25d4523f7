/**
 * For load balancers and supervisors: is the process alive, and should it get requests. For the command: is it the server of this
 * data folder. Open to everybody, reveals no secrets; offered by servers of every role.
 */
import { Cache, Refusal } from '@carillon/domain';
import type { Clock, Log } from '@carillon/foundation';
import type { FastifyInstance } from 'fastify';
import { isToken } from '../../accounts/secrets.ts';

export interface Readiness {
  readonly ready: boolean;
  readonly reasons: readonly string[];
}

/** That this server knows its admin key; see keyProof. */
export type ProveKey = (nonce: string) => string;

export function healthRoutes(
  app: FastifyInstance,
  {
    readiness,
    log,
    proveKey,
  }: { readiness: () => Promise<Readiness>; log: Log; proveKey?: ProveKey | undefined },
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

  // Not limited: it is one hash, and whoever asks too often would lock out those who ask before they send their key.
  if (proveKey)
    app.get<{ Querystring: { nonce?: unknown } }>('/health/proof', async ({ query: { nonce } }, reply) => {
      if (typeof nonce !== 'string' || !isToken(nonce))
        throw new Refusal('field_invalid', 'nonce must be 43 characters of base64url: 32 random bytes.', {
          field: 'nonce',
        });
      reply.header('cache-control', 'no-store');
      return { proof: proveKey(nonce) };
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
