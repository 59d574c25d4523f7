/**
 * The streams of workers: whoever has the permission workers.connect may offer handlers and is given runs. What a worker says is the
 * business of its home; here only the key is judged, at the start and while the stream lasts.
 */
import type { DescMethodBiDiStreaming } from '@bufbuild/protobuf';
import { type Caller, requireMay } from '@carillon/domain';
import { protocol } from '@carillon/worker';
import { createMethodImplSpec, type HandlerContext } from '@connectrpc/connect';
import type { WorkerSessions } from '../../worker-home/worker-sessions.ts';
import type { RpcHost, RpcMethod } from './rpc-method.ts';

const ACCESS = 'workers.connect';

/** Whether a key may offer a handler. */
export function mayOffer(_principal: Caller, _handler: string): boolean {
  return true;
}

export function workerMethods(workers: Pick<WorkerSessions, 'serve'>): RpcMethod[] {
  const method = protocol.WorkerService.method.session as DescMethodBiDiStreaming;
  return [
    {
      method,
      access: ACCESS,
      readMaxBytes: protocol.FRAME_BYTES_MAX,
      implement: (host) =>
        createMethodImplSpec(method, async function* (requests, context) {
          try {
            yield* workers.serve(
              sessionCall(host, context, requests as AsyncIterable<protocol.SessionRequest>),
            );
          } catch (error) {
            throw host.errorOf(error, context);
          }
        }),
    },
  ];
}

function sessionCall(
  host: RpcHost,
  context: HandlerContext,
  requests: AsyncIterable<protocol.SessionRequest>,
): Parameters<WorkerSessions['serve']>[0] {
  const caller = host.callerOf(context);
  requireMay(caller, ACCESS);
  return {
    keyId: caller.credential?.id ?? caller.id,
    requests,
    signal: context.signal,
    mayOffer: (handler) => mayOffer(caller, handler),
    recognise: async () => requireMay(await host.recognise(context), ACCESS),
    keepOpen: () => host.keepOpen(context),
  };
}
