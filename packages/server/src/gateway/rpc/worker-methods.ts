/**
 * The streams of workers: whoever has the permission workers.connect may offer handlers and is given runs. What a worker says is the
 * business of its home; here only the key and the certificate are judged, at the start and while the stream lasts.
 */
import type { DescMethodBiDiStreaming } from '@bufbuild/protobuf';
import { type Caller, mayOffer, requireMay, workerNamespaces } from '@carillon/domain';
import { protocol } from '@carillon/worker';
import { Code, ConnectError, createMethodImplSpec, type HandlerContext } from '@connectrpc/connect';
import { claimantOf, SharedLimit } from '../../shared-limit/shared-limit.ts';
import { goodbyeFrame } from '../../worker-home/goodbye.ts';
import type { WorkerRights, WorkerSessions } from '../../worker-home/worker-sessions.ts';
import { unreadable } from './answer-rpc-errors.ts';
import type { RpcHost, RpcMethod } from './rpc-method.ts';

const ACCESS = 'workers.connect';
/** Each is of one key: a fleet of hundreds shares it. */
const STREAMS_MAX = { eachMax: 500, totalMax: 2_000 };
/** Twice what a worker with the most slots has to say at once, of every run that it holds. */
const FRAME_LIMITS = { items: 50_000, numbers: 400_000 };
/** There may be room by then, here or at another server. */
const FULL_PAUSE_MS = 10_000;
const NO_DISPATCHER = 'This server has not the role dispatcher: dial one that has.';

/** `workers` is undefined where the server lacks the role: with this status workers of every language dial the next address. */
export function workerMethods(
  workers: Pick<WorkerSessions, 'serve'> | undefined,
  streamsMax = STREAMS_MAX,
): RpcMethod[] {
  const limit = new SharedLimit({ what: 'workers are connected', ...streamsMax });
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
          let isHandingOver = false;
          try {
            const call = sessionCall(host, context, requests as AsyncIterable<protocol.SessionRequest>);
            if (!workers) throw new ConnectError(NO_DISPATCHER, Code.Unavailable);
            const claimant = {
              ...claimantOf(host.callerOf(context), ACCESS),
              ...{ of: `key ${call.keyId}`, words: 'with this key' },
            };
            const full = limit.refusalOf(claimant)?.message;
            if (full !== undefined) {
              isHandingOver = true;
              return yield goodbyeFrame({ reason: full, dialAgain: true, afterMs: FULL_PAUSE_MS });
            }
            leave = limit.join(claimant);
            for await (const frame of workers.serve(call)) {
              isHandingOver = true;
              yield frame;
              isHandingOver = false;
            }
          } catch (error) {
            // The stream is gone: nothing can be answered, and nothing of ours failed.
            if (isHandingOver) throw error;
            throw host.errorOf(error, context);
          } finally {
            leave?.();
          }
        }),
    },
  ];
}

function rightsOf(caller: Caller): WorkerRights {
  requireMay(caller, ACCESS);
  return { mayOffer: (handler) => mayOffer(caller, handler), namespaces: workerNamespaces(caller) };
}

/** What the library throws of a stream that it reads is about what came; what it finds compressed, it calls an internal error. */
function unreadableWords(error: unknown): string | undefined {
  if (!(error instanceof ConnectError)) return undefined;
  const { code, rawMessage } = error;
  const words = unreadable(error, protocol.FRAME_BYTES_MAX)?.message;
  return words ?? (code === Code.Internal ? `The message cannot be read: ${rawMessage}.` : undefined);
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
    unreadable: unreadableWords,
  };
}
