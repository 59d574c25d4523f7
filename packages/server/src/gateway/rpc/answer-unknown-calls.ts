/**
 * A call of a service or method that is not served is refused in the protocol it came in: clients of RPC take any other
 * answer for a broken server. Nothing of its body is read. Paths of REST keep their problem documents, whatever is sent to them.
 */
import { Refusal } from '@carillon/domain';
import { Code, type ConnectError } from '@connectrpc/connect';
import { errorToJsonBytes } from '@connectrpc/connect/protocol-connect';
import { setTrailerStatus } from '@connectrpc/connect/protocol-grpc';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { connectErrorOf } from './answer-rpc-errors.ts';

const GRPC = /^application\/grpc(-web(-text)?)?(\+[\w.-]+)?(;|\s|$)/i;
const CONNECT = /^application\/(connect\+[\w.-]+|proto)(;|\s|$)/i;
const JSON_TYPE = /^application\/json(;|\s|$)/i;

const PATH_LENGTH_MAX = 200;

export function answerUnknownCalls(
  app: FastifyInstance,
  onNoRoute: (request: FastifyRequest, reply: FastifyReply) => void,
): void {
  app.addHook('onRequest', (request, reply, done) => {
    // Scopes with a prefix, such as /api, answer for themselves.
    if (!request.is404 || request.server.prefix !== '') return done();
    const protocol = request.method === 'POST' ? protocolOf(request) : undefined;
    if (protocol === undefined) return onNoRoute(request, reply);
    const path = request.url.split('?', 1)[0]!.slice(0, PATH_LENGTH_MAX);
    const refusal = new Refusal('route_not_found', `There is no call ${path}.`);
    const error = connectErrorOf(refusal, request.id, Code.Unimplemented);
    if (protocol === 'grpc') answerGrpc(error, { request, reply });
    else void reply.code(refusal.status).type('application/json').send(connectBody(error));
  });
}

function protocolOf({ headers }: FastifyRequest): 'grpc' | 'connect' | undefined {
  const type = headers['content-type'] ?? '';
  if (GRPC.test(type)) return 'grpc';
  if (CONNECT.test(type)) return 'connect';
  // Plain JSON may be meant for REST as well, unless it says otherwise.
  return JSON_TYPE.test(type) && headers['connect-protocol-version'] !== undefined ? 'connect' : undefined;
}

function connectBody(error: ConnectError): Buffer {
  return Buffer.from(errorToJsonBytes(error, undefined));
}

/** The status stands in the headers, and those end the answer: written raw, because Fastify ends with an empty body instead. */
function answerGrpc(
  error: ConnectError,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
): void {
  const status = new Headers();
  setTrailerStatus(status, error);
  reply.headers(Object.fromEntries(status)).type(request.headers['content-type']!);
  reply.hijack();
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value);
  }
  reply.raw.statusCode = 200;
  reply.raw.end();
}
