/**
 * Serves the calls as gRPC, gRPC-Web and Connect, on the routes of the gateway: the same request ids, the same keys and
 * the same bounds as REST. A call is let in before its body is read, so strangers cost next to nothing.
 */
import { constants, Http2ServerRequest } from 'node:http2';
import { type Caller, Refusal } from '@carillon/domain';
import type { Clock, Log } from '@carillon/foundation';
import {
  Code,
  ConnectError,
  type ContextValues,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from '@connectrpc/connect';
import { createUniversalMethodHandler, type UniversalHandler } from '@connectrpc/connect/protocol';
import {
  compressionBrotli,
  compressionGzip,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from '@connectrpc/connect-node';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { claimantOf } from '../../shared-limit/shared-limit.ts';
import { requireAccess } from '../api/operation.ts';
import { type Held, type LargeBodies, OPEN_BODY_BYTES_MAX } from '../large-bodies.ts';
import { type ClientCertificates, requireClientCertificate } from '../listener/client-certificate.ts';
import { keepStreamOpen } from '../listener/http2-side.ts';
import type { Strangers } from '../strangers.ts';
import { answerRpcErrors, stoppingError } from './answer-rpc-errors.ts';
import { type BodyInTurnOptions, bodyInTurn } from './body-in-turn.ts';
import { type LimitItemsOptions, limitItems } from './limit-items.ts';
import { type CallOfMessage, readWithinCall } from './read-within-call.ts';
import type { RpcHost, RpcMethod } from './rpc-method.ts';

export interface RpcOptions {
  readonly methods: readonly RpcMethod[];
  readonly authenticate: (request: FastifyRequest) => Promise<Caller>;
  /** Refuses strangers that come too often, where a call is open to everybody. */
  readonly admitAnonymous?: ((request: FastifyRequest) => void) | undefined;
  /** Left out: they are let in however many there are. */
  readonly strangers?: Strangers | undefined;
  readonly bodyLimitBytes: number;
  /** Left out: large messages are read as they come. */
  readonly largeBodies?: LargeBodies | undefined;
  /** Of workers. Left out: none are asked for. */
  readonly clientCertificates?: ClientCertificates | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

const REQUEST = createContextKey<FastifyRequest | undefined>(undefined);
const CALLER = createContextKey<Caller | undefined>(undefined);
/** Why its body is not read. */
const REFUSED = createContextKey<Refusal | undefined>(undefined);

export function mountRpc(app: FastifyInstance, options: RpcOptions): void {
  const { methods, authenticate, bodyLimitBytes, largeBodies, clock, log } = options;
  const answerError = answerRpcErrors({ log });
  const open = new Set(methods.filter(({ access }) => access === 'open').map(({ method }) => method));
  const bytesMaxOf = new Map(
    methods.map(({ method, access, readMaxBytes = bodyLimitBytes }) => [
      method,
      access === 'open' ? OPEN_BODY_BYTES_MAX : readMaxBytes,
    ]),
  );
  const stopping = new AbortController();
  const errorOf = (error: unknown, call: CallOfMessage) =>
    // The library tells of a body that broke off in words of its own.
    answerError(call.values.get(REFUSED) ?? error, {
      ...{ method: call.method.toString(), requestId: requestOf(call).id },
      bytesMax: bytesMaxOf.get(call.method) ?? bodyLimitBytes,
    });
  const host: RpcHost = {
    clock,
    stopping: stopping.signal,
    // Undefined only where the call is open, and there nobody reads it.
    callerOf: ({ values }) => values.get(CALLER) as Caller,
    addressOf: (context) => requestOf(context).ip,
    recognise: (context) => authenticate(requestOf(context)),
    requireCertificate: (context) => {
      const { socket } = requestOf(context).raw;
      if (options.clientCertificates)
        requireClientCertificate(socket, { mode: options.clientCertificates, nowMs: clock.now() });
    },
    errorOf,
    letGo: (context) => {
      const { raw, id: requestId } = requestOf(context);
      log.info(
        { requestId, method: context.method.toString() },
        'closed a stream whose client stopped reading',
      );
      letGo(raw);
    },
    keepOpen: (context) => keepStreamOpen(requestOf(context).raw as { stream?: object }),
  };
  const admitStranger = (request: FastifyRequest) => {
    options.admitAnonymous?.(request);
    options.strangers?.admit(request);
  };
  const protocolsOf = (readMaxBytes: number, acceptCompression = [compressionGzip, compressionBrotli]) =>
    readWithinCall({
      errorOf,
      acceptCompression,
      readMaxBytes,
      jsonOptions: { ignoreUnknownFields: false },
      // Nobody looks at them, and each would be an object.
      binaryOptions: { readUnknownFields: false },
      requestGate: async (context) => {
        try {
          if (open.has(context.method)) admitStranger(requestOf(context));
          else context.values.set(CALLER, await host.recognise(context));
        } catch (error) {
          throw errorOf(error, context);
        }
      },
    });
  const protocols = protocolsOf(bodyLimitBytes);
  const handlers = methods.map((method) => {
    const { itemLimits: limits } = method;
    const bytesMax = bytesMaxOf.get(method.method)!;
    // What is compressed could not be looked at before it is read.
    const own = !limits && bytesMax === bodyLimitBytes ? protocols : protocolsOf(bytesMax, limits && []);
    const handler = createUniversalMethodHandler(method.implement(host), own);
    const hold = (caller: Caller) => {
      requireAccess(caller, method.access);
      return largeBodies?.hold(claimantOf(caller));
    };
    if (limits) return withItemLimits(handler, { input: method.method.input, limits, bytesMax, hold });
    if (!largeBodies || method.method.methodKind === 'bidi_streaming') return handler;
    const isReadInTurn = method.isReadInTurn === true;
    return withBodyInTurn(handler, { hold, turn: (who) => largeBodies.turn(who), isReadInTurn, bytesMax });
  });

  app.register((scope, _options, done) => {
    // Messages are read by the protocol they are in, as they arrive.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _body, read) => read(null));
    scope.addHook('preClose', async () => stopping.abort(stoppingError()));
    for (const handler of handlers) {
      scope.post(handler.requestPath, (request, reply) => serve(handler, { request, reply, log }));
    }
    done();
  });
}

function withItemLimits(
  handler: UniversalHandler,
  {
    hold: holdOf,
    ...options
  }: Omit<LimitItemsOptions, 'contentType' | 'hold'> & { hold: (caller: Caller) => Held | undefined },
): UniversalHandler {
  const limited = (call: Parameters<UniversalHandler>[0]) => {
    // A stream, and not JSON that was read before.
    const body = call.body as AsyncIterable<Uint8Array>;
    const contentType = call.header.get('content-type') ?? '';
    const hold = () => {
      const caller = call.contextValues?.get(CALLER);
      return caller && holdOf(caller);
    };
    return handler({ ...call, body: limitItems(body, { ...options, contentType, hold }) });
  };
  return Object.assign(limited, handler);
}

function withBodyInTurn(
  handler: UniversalHandler,
  options: Pick<BodyInTurnOptions, 'hold' | 'turn' | 'bytesMax'> & { readonly isReadInTurn: boolean },
): UniversalHandler {
  const inTurn = (call: Parameters<UniversalHandler>[0]) => {
    const { header, contextValues: values } = call;
    const callerOf = () => values?.get(CALLER);
    const isAlwaysInTurn = options.isReadInTurn || isCompressed(header);
    const body = bodyInTurn(call.body as AsyncIterable<Uint8Array>, { ...options, callerOf, isAlwaysInTurn });
    return handler({ ...call, body: toldRefusals(body, (refusal) => values?.set(REFUSED, refusal)) });
  };
  return Object.assign(inTurn, handler);
}

function isCompressed(header: Headers): boolean {
  // Connect has a header of its own for streams.
  return ['content-encoding', 'grpc-encoding', 'connect-content-encoding'].some(
    (name) => (header.get(name) ?? 'identity') !== 'identity',
  );
}

async function* toldRefusals(
  body: AsyncIterable<Uint8Array>,
  tell: (refusal: Refusal) => void,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    tell(error);
    throw new ConnectError(error.message, Code.InvalidArgument);
  }
}

/** Over HTTP/2 the caller learns why, as "resource exhausted"; HTTP/1.1 has no words for it. */
function letGo(raw: FastifyRequest['raw'] | Http2ServerRequest): void {
  if (raw instanceof Http2ServerRequest) raw.stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  else raw.socket.destroy();
}

function requestOf({ values }: Pick<HandlerContext, 'values'>): FastifyRequest {
  const request = values.get(REQUEST);
  if (request === undefined) throw new Error('a call without its request');
  return request;
}

async function serve(
  handler: UniversalHandler,
  { request, reply, log }: { request: FastifyRequest; reply: FastifyReply; log: Log },
): Promise<void> {
  const call = readCall(request, reply);
  reply.hijack();
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value);
  }
  // The event and not what follows below: the library waits for one that no response has, and does not come back.
  reply.raw.once('finish', () => throwRestAway(request.raw));
  try {
    await universalResponseToNodeResponse(await handler(call), reply.raw);
  } catch (error) {
    // The other side is gone, or has broken the protocol; whatever went wrong in the call was answered before.
    log.debug({ err: error, requestId: request.id, route: request.routeOptions.url }, 'a call broke off');
    reply.raw.destroy();
  }
}

/**
 * A call may be answered before all of it was read, such as one that is too large. On HTTP/1.1 the next request of the
 * connection is behind the rest; the side of HTTP/2 sees to it itself.
 */
function throwRestAway(raw: FastifyRequest['raw']): void {
  if (isHttp2(raw) || raw.readableEnded) return;
  // Whoever still waits to read would hold the stream back.
  raw.removeAllListeners('readable').resume();
}

function isHttp2(raw: FastifyRequest['raw']): boolean {
  return raw.httpVersionMajor === 2;
}

function readCall(request: FastifyRequest, reply: FastifyReply) {
  const values: ContextValues = createContextValues().set(REQUEST, request);
  try {
    const call = universalRequestFromNodeRequest(request.raw, reply.raw, undefined, values);
    if (isHttp2(request.raw)) return call;
    // The library's own reader destroys what it does not read to the end, and nothing more comes out of the connection then.
    return { ...call, body: request.raw.iterator({ destroyOnReturn: false }) };
  } catch (error) {
    throw new Refusal('field_invalid', 'The host that is asked for cannot be read.', {
      field: 'Host',
      cause: error,
    });
  }
}
