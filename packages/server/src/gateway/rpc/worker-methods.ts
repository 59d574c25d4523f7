/**
 * The streams of workers: whoever has the permission workers.connect may offer handlers and is given runs. What a worker says is the
 * business of its home; here only the key and the certificate are judged, at the start and while the stream lasts.
 */
import type { DescMethodBiDiStreaming } from '@bufbuild/protobuf';
import { type Caller, mayOffer, Refusal, requireMay, workerNamespaces } from '@carillon/domain';
import { protocol } from '@carillon/worker';
import { createMethodImplSpec, type HandlerContext } from '@connectrpc/connect';
import { goodbyeFrame } from '../../worker-home/goodbye.ts';
import type { WorkerRights, WorkerSessions } from '../../worker-home/worker-sessions.ts';
import type { RpcHost, RpcMethod } from './rpc-method.ts';
import { StreamLimit, type StreamShare } from './stream-limit.ts';

const ACCESS = 'workers.connect';
/**
 * A fleet of hundreds shares one key; every stream beats, and neither one key must take the place of all others, nor all keys that one
 * person has made or of one namespace, whose administrators make as many as they like.
 */
const STREAMS_MAX = { eachMax: 500, sharedMax: 800, totalMax: 2_000 };
/** Twice what a worker with the most slots has to say at once, of every run that it holds. */
const FRAME_LIMITS = { items: 50_000, numbers: 400_000 };
/** There may be room by then, here or at another server. */
const FULL_PAUSE_MS = 10_000;

export function workerMethods(
  workers: Pick<WorkerSessions, 'serve'>,
  { eachMax, sharedMax, totalMax } = STREAMS_MAX,
): RpcMethod[] {
  const limit = new StreamLimit({ what: 'Workers are connected', eachMax, totalMax });
  const method = protocol.WorkerService.method.session as DescMethodBiDiStreaming;
  return [
    {
      method,
      access: ACCESS,
      readMaxBytes: protocol.FRAME_BYTES_MAX,
      itemLimits: FRAME_LIMITS,
      implement: (host) =>
        createMethodImplSpec(method, async function* (requests, context) {
          let leave: (() => void) | undefined;
          try {
            const call = sessionCall(host, context, requests as AsyncIterable<protocol.SessionRequest>);
            const shares = sharesOf(host.callerOf(context), sharedMax);
            const joined = join(limit, call.keyId, shares);
            if (typeof joined === 'string')
              return yield goodbyeFrame({ reason: joined, dialAgain: true, afterMs: FULL_PAUSE_MS });
            leave = joined;
            yield* workers.serve(call);
          } catch (error) {
            throw host.errorOf(error, context);
          } finally {
            leave?.();
          }
        }),
    },
  ];
}

/** Answers how to leave, or why there is no room. */
function join(limit: StreamLimit, keyId: string, shares: readonly StreamShare[]): (() => void) | string {
  try {
    return limit.join(keyId, shares);
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
}

/** A key of all namespaces is given by those who run the installation, and counts for none. */
function sharesOf(caller: Caller, max: number): StreamShare[] {
  const maker = caller.credential?.makerId ?? caller.userId;
  const namespaces = workerNamespaces(caller);
  return [
    ...(maker === undefined ? [] : [{ of: `user ${maker}`, max, words: 'with keys of one person' }]),
    ...(namespaces === 'all' ? [] : namespaces).map((namespace) => ({
      ...{ of: `namespace ${namespace}`, max, words: `for the namespace ${namespace}` },
    })),
  ];
}

function rightsOf(caller: Caller): WorkerRights {
  requireMay(caller, ACCESS);
  return { mayOffer: (handler) => mayOffer(caller, handler), namespaces: workerNamespaces(caller) };
}

function sessionCall(
  host: RpcHost,
  context: HandlerContext,
  requests: AsyncIterable<protocol.SessionRequest>,
): Parameters<WorkerSessions['serve']>[0] {
  const caller = host.callerOf(context);
  host.requireCertificate(context);
  return {
    keyId: caller.credential?.id ?? caller.id,
    requests,
    signal: context.signal,
    rights: rightsOf(caller),
    recognise: async () => {
      host.requireCertificate(context);
      return rightsOf(await host.recognise(context));
    },
    keepOpen: () => host.keepOpen(context),
    letGo: () => host.letGo(context),
  };
}
