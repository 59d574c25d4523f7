/**
 * The protocols as the library serves them, with one difference: the message of a call is read within the call. The library
 * reads it before, and refuses what cannot be read in its own words; so that such a call is refused like any other, gRPC and
 * gRPC-Web serve it as one that takes a stream, which looks the same to the caller, and the answers of Connect are put right.
 */
import type { DescMethod, Message } from '@bufbuild/protobuf';
import { Code, ConnectError, type ContextValues, type MethodImplSpec } from '@connectrpc/connect';
import {
  createAsyncIterable,
  type ProtocolHandlerFactory,
  readAllBytes,
  type UniversalHandlerOptions,
  type UniversalServerResponse,
} from '@connectrpc/connect/protocol';
import {
  codeToHttpStatus,
  createHandlerFactory as connect,
  errorFromJsonBytes,
  errorToJsonBytes,
} from '@connectrpc/connect/protocol-connect';
import { createHandlerFactory as grpc } from '@connectrpc/connect/protocol-grpc';
import { createHandlerFactory as grpcWeb } from '@connectrpc/connect/protocol-grpc-web';

export interface CallOfMessage {
  readonly method: DescMethod;
  readonly values: ContextValues;
}

export interface ProtocolOptions extends Partial<UniversalHandlerOptions> {
  readonly acceptCompression: UniversalHandlerOptions['acceptCompression'];
  /** The only code that turns errors into answers. */
  readonly errorOf: (error: unknown, call: CallOfMessage) => ConnectError;
}

export function readWithinCall({ errorOf, ...options }: ProtocolOptions): ProtocolHandlerFactory[] {
  const read = (spec: MethodImplSpec) => asStream(spec, errorOf);
  const whole = connect(options);
  return [
    served(grpc(options), read),
    served(grpcWeb(options), read),
    Object.assign((spec: MethodImplSpec) => {
      if (spec.kind !== 'unary') return whole(read(spec));
      const handler = whole(spec);
      const { method } = spec;
      return Object.assign(async (request: Parameters<typeof handler>[0]) => {
        const answer = await handler(request);
        const values = request.contextValues;
        if (answer.status < 400 || values === undefined) return answer;
        return explained(answer, options, (error) => errorOf(error, { method, values }));
      }, handler);
    }, whole),
  ];
}

function served(
  factory: ProtocolHandlerFactory,
  read: (spec: MethodImplSpec) => MethodImplSpec,
): ProtocolHandlerFactory {
  return Object.assign((spec: MethodImplSpec) => factory(read(spec)), factory);
}

type ImplOf<Kind> = Extract<MethodImplSpec, { kind: Kind }>['impl'];

function asStream(spec: MethodImplSpec, errorOf: ProtocolOptions['errorOf']): MethodImplSpec {
  const readOnly = async (messages: AsyncIterable<Message>, call: CallOfMessage) => {
    try {
      return await onlyOne(messages);
    } catch (error) {
      // Anything else is a connection that broke: no answer can be sent, and nothing of ours failed.
      throw error instanceof ConnectError ? errorOf(error, call) : error;
    }
  };
  switch (spec.kind) {
    case 'unary': {
      const impl: ImplOf<'client_streaming'> = async (messages, context) =>
        spec.impl(await readOnly(messages, context), context);
      return { kind: 'client_streaming', impl, method: spec.method as DescMethod as never };
    }
    case 'server_streaming': {
      const impl: ImplOf<'bidi_streaming'> = async function* (messages, context) {
        yield* spec.impl(await readOnly(messages, context), context);
      };
      return { kind: 'bidi_streaming', impl, method: spec.method as DescMethod as never };
    }
    default:
      return spec;
  }
}

async function onlyOne(messages: AsyncIterable<Message>): Promise<Message> {
  let only: Message | undefined;
  for await (const message of messages) {
    if (only) throw new ConnectError('More than one message was sent.', Code.Unimplemented);
    only = message;
  }
  if (only) return only;
  throw new ConnectError('No message was sent.', Code.Unimplemented);
}

/** An error that Connect answered by itself, in our words. */
async function explained(
  answer: UniversalServerResponse,
  { acceptCompression }: Pick<ProtocolOptions, 'acceptCompression'>,
  errorOf: (error: ConnectError) => ConnectError,
): Promise<UniversalServerResponse> {
  const { body, header: headers } = answer;
  if (body === undefined || !headers?.get('content-type')?.startsWith('application/json')) return answer;
  const bytes = await readAllBytes(body, Number.MAX_SAFE_INTEGER);
  const packing = acceptCompression.find(({ name }) => name === headers.get('content-encoding'));
  const json = packing ? await packing.decompress(bytes, Number.MAX_SAFE_INTEGER) : bytes;
  const unknown = new ConnectError('The call failed.', Code.Unknown);
  const error = errorFromJsonBytes(json, undefined, unknown);
  const answered = error.details.length > 0 ? error : errorOf(error);
  if (answered === error) return { ...answer, body: createAsyncIterable([bytes]) };
  const written = errorToJsonBytes(answered, undefined);
  const header = new Headers(headers);
  header.delete('content-encoding');
  header.set('content-length', String(written.byteLength));
  return { ...answer, header, status: codeToHttpStatus(answered.code), body: createAsyncIterable([written]) };
}
