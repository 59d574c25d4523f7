/**
 * The health protocol of gRPC, for load balancers that speak it: the same answer as /health/ready. Open to everybody; those
 * who watch share one check, however many they are.
 */
import { rpc } from '@carillon/contract';
import { Refusal } from '@carillon/domain';
import { type Clock, sleep } from '@carillon/foundation';
import { claimantOf, SharedLimit } from '../../shared-limit/shared-limit.ts';
import type { Readiness } from '../routes/health-routes.ts';
import { strangerAt } from '../strangers.ts';
import { type RpcMethod, serverStream, unary } from './rpc-method.ts';

const { SERVING, NOT_SERVING, SERVICE_UNKNOWN } = rpc.health.HealthCheckResponse_ServingStatus;
const LOOK_MS = 2_000;
/** Of strangers; those who are signed in have as many places of their own. */
const WATCHERS_MAX = 100;
/** Of one group of addresses, and of one caller: nobody takes the places of all. */
const WATCHERS_EACH_MAX = 10;

export interface HealthContext {
  /** Concurrent callers share one check. */
  readonly readiness: () => Promise<Readiness>;
  readonly clock: Clock;
  /** Full names; the empty one, for the server as a whole, always counts. */
  readonly services: readonly string[];
}

export function healthMethods({ readiness, clock, services }: HealthContext): RpcMethod[] {
  const { check, watch } = rpc.health.Health.method;
  const known = new Set(['', ...services]);
  const look = () =>
    readiness().then(
      ({ ready }) => (ready ? SERVING : NOT_SERVING),
      () => NOT_SERVING,
    );
  const limit = { what: 'streams of health are open', eachMax: WATCHERS_EACH_MAX, totalMax: WATCHERS_MAX };
  const strangers = new SharedLimit(limit);
  const signedIn = new SharedLimit(limit);
  return [
    unary(check, 'open', async ({ request: { service } }) => {
      if (!known.has(service)) throw new Refusal('route_not_found', `There is no service ${service}.`);
      return { status: await look() };
    }),
    serverStream(watch, 'open', async function* (call) {
      const { request, signal, address, recognise } = call;
      const { service } = request;
      // Whoever has no valid key watches as a stranger.
      const caller = await recognise().catch(() => undefined);
      const leave = caller ? signedIn.join(claimantOf(caller)) : strangers.join(strangerAt(address));
      try {
        let last: number | undefined;
        while (!signal.aborted) {
          // The protocol reports an unknown service as such, and goes on watching.
          const status = known.has(service) ? await look() : SERVICE_UNKNOWN;
          if (status !== last) yield { status };
          last = status;
          await sleep(clock, LOOK_MS, signal);
        }
      } finally {
        leave();
      }
    }),
  ];
}
