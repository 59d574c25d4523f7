/**
 * One call of the RPC interface, as a value: which method, who may use it and what it does. The router and the test of
 * roles follow from the same list of these. Deadlines are honoured here: a caller whose time is up is answered at once,
 * whatever the operation is still doing.
 */
import type {
  DescMessage,
  DescMethod,
  DescMethodBiDiStreaming,
  DescMethodServerStreaming,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from '@bufbuild/protobuf';
import type { Caller } from '@carillon/domain';
import type { Clock } from '@carillon/foundation';
import { createMethodImplSpec, type HandlerContext, type MethodImplSpec } from '@connectrpc/connect';
import type { Access } from '../api/operation.ts';
import { STALLED_MS_MAX } from '../events/rights-check.ts';
import type { ItemLimits } from './count-items.ts';

export interface RpcCall<Request> {
  readonly request: Request;
  readonly caller: Caller;
  /** Where the call comes from. */
  readonly address: string;
  /** Who the caller is now, for calls that last; rejects when they may no longer come in. */
  readonly recognise: () => Promise<Caller>;
  /** Aborted when the caller is gone or their time is up; of a stream, also when the server stops. */
  readonly signal: AbortSignal;
}

/** What the router lends to every call. */
export interface RpcHost {
  callerOf(context: HandlerContext): Caller;
  addressOf(context: HandlerContext): string;
  recognise(context: HandlerContext): Promise<Caller>;
  /** Refuses a call that lacks the certificate that workers need here, or came with one that is not valid now. */
  requireCertificate(context: HandlerContext): void;
  /** The only code that turns errors into answers. */
  errorOf(error: unknown, context: HandlerContext): Error;
  readonly stopping: AbortSignal;
  readonly clock: Clock;
  /** Breaks off a call whose caller takes nothing. */
  letGo(context: HandlerContext): void;
  /** A stream of requests that lasts is not a request that arrives too slowly. */
  keepOpen(context: HandlerContext): void;
}

export interface RpcMethod {
  readonly method: DescMethod;
  readonly access: Access;
  /** What one message may hold. Left out: as much as a body of REST. */
  readonly readMaxBytes?: number;
  /** Of a stream: how many things one message may hold. It must not be compressed then. */
  readonly itemLimits?: ItemLimits;
  /** However short its message is, it may hold very many things: it is read in turn (large-bodies.ts). */
  readonly isReadInTurn?: boolean;
  /** What the protocols serve. */
  implement(host: RpcHost): MethodImplSpec;
}

export function unary<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  access: Access,
  handle: (call: RpcCall<MessageShape<I>>) => Promise<MessageInitShape<O>>,
  options: Pick<RpcMethod, 'isReadInTurn'> = {},
): RpcMethod {
  return {
    ...options,
    method,
    access,
    implement: (host) =>
      createMethodImplSpec(method as DescMethodUnary, async (request, context) => {
        try {
          const { signal } = context;
          const caller = host.callerOf(context);
          const recognise = () => host.recognise(context);
          const address = host.addressOf(context);
          const answer = handle({ request: request as MessageShape<I>, caller, address, recognise, signal });
          return (await unlessAborted(answer, signal)) as MessageInitShape<DescMessage>;
        } catch (error) {
          throw host.errorOf(error, context);
        }
      }),
  };
}

/**
 * The stream ends with the generator, which must end soon after its signal is aborted. It is pulled by the connection:
 * whoever reads slowly is written to slowly, and whoever stops reading is let go.
 */
export function serverStream<I extends DescMessage, O extends DescMessage>(
  method: DescMethodServerStreaming<I, O>,
  access: Access,
  handle: (call: RpcCall<MessageShape<I>>) => AsyncIterable<MessageInitShape<O>>,
): RpcMethod {
  return {
    method,
    access,
    implement: (host) =>
      createMethodImplSpec(method as DescMethodServerStreaming, async function* (request, context) {
        let isHandingOver = false;
        try {
          const signal = AbortSignal.any([context.signal, host.stopping]);
          const caller = host.callerOf(context);
          const recognise = () => host.recognise(context);
          const address = host.addressOf(context);
          const call = { request: request as MessageShape<I>, caller, address, recognise, signal };
          for await (const message of handle(call)) {
            const callOff = host.clock.timer(STALLED_MS_MAX, () => host.letGo(context));
            isHandingOver = true;
            try {
              yield message as MessageInitShape<DescMessage>;
            } finally {
              callOff();
            }
            isHandingOver = false;
          }
          signal.throwIfAborted();
        } catch (error) {
          // The connection broke: no answer can be sent, and nothing of ours failed.
          if (isHandingOver) throw error;
          throw host.errorOf(error, context);
        }
      }),
  };
}

export function dialogue<I extends DescMessage, O extends DescMessage>(
  method: DescMethodBiDiStreaming<I, O>,
  access: Access,
  answer: (request: MessageShape<I>) => MessageInitShape<O>,
): RpcMethod {
  return {
    method,
    access,
    implement: (host) =>
      createMethodImplSpec(method as DescMethodBiDiStreaming, async function* (requests, context) {
        try {
          for await (const request of requests) {
            yield answer(request as MessageShape<I>) as MessageInitShape<DescMessage>;
            host.stopping.throwIfAborted();
          }
        } catch (error) {
          throw host.errorOf(error, context);
        }
      }),
  };
}

async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    if (signal.aborted) onAbort();
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
