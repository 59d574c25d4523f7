/** Turns operations into routes of REST: reads strictly what each declares, and writes its reply. */
import type { EventEmitter } from 'node:events';
import { parseIdempotencyKey, parseIfMatch, readId, readShape, requireNoBody, rpc } from '@carillon/contract';
import type { Caller, JobId, RunId } from '@carillon/domain';
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods, RequestPayload } from 'fastify';
import { z } from 'zod';
import { claimantOf } from '../../shared-limit/shared-limit.ts';
import { sessionCookie } from '../authenticate/session-cookie.ts';
import { type Held, type LargeBodies, OPEN_BODY_BYTES_MAX, SMALL_BODY_BYTES } from '../large-bodies.ts';
import { allowanceHeaders, type RequestLimits } from '../rate-limit.ts';
import { requireReadableQuery } from '../read-input.ts';
import type { Strangers } from '../strangers.ts';
import {
  isNamed,
  type ListEnd,
  type Operation,
  type RestCall,
  readInput,
  requireAccess,
  withinBytes,
} from './operation.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    isReadInTurn?: boolean;
  }
  interface FastifyRequest {
    /** Set by the authentication, before any operation that is not open. */
    caller: Caller | undefined;
  }
}

export interface RestOptions {
  readonly authenticate: (request: FastifyRequest) => Promise<Caller>;
  /** Precedes Link; empty when it is relative. */
  readonly address: string;
  /** Left out: large bodies are read as they come. */
  readonly largeBodies?: LargeBodies;
  /** Left out: strangers are let in however many there are. */
  readonly strangers?: Strangers;
  /** Counts strangers here; callers with a key were counted by the authentication, and learn what is left. */
  readonly limits?: Pick<RequestLimits, 'admitAddress' | 'allowanceOf'> | undefined;
}

export function mountRest(
  api: FastifyInstance,
  operations: readonly Operation[],
  options: RestOptions,
): void {
  const { authenticate, limits, address, largeBodies, strangers } = options;
  const cookie = sessionCookie(address);
  const tellAllowance = (request: FastifyRequest, reply: FastifyReply) => {
    const allowance = request.caller && limits?.allowanceOf(request.caller);
    if (allowance) reply.headers(allowanceHeaders(allowance));
  };
  for (const operation of operations) {
    const callOf = callReader(operation, cookie.read);
    api.route({
      method: [operation.method].flat() as HTTPMethods[],
      url: operation.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      ...(operation.access === 'open' && { bodyLimit: OPEN_BODY_BYTES_MAX }),
      config: { isReadInTurn: operation.isReadInTurn === true },
      onRequest: async (request: FastifyRequest, reply: FastifyReply) => {
        if (operation.access === 'open') {
          limits?.admitAddress(request.ip);
          strangers?.admit(request, reply.raw);
          return;
        }
        const caller = await authenticate(request);
        request.caller = caller;
        tellAllowance(request, reply);
      },
      preParsing: (request, reply, payload, done) => {
        const { caller } = request;
        if (!caller || !largeBodies || !mayBeLarge(request)) return done(null, payload);
        try {
          requireAccess(caller, operation.access);
        } catch (error) {
          return done(error as Error);
        }
        countAsItArrives(payload, reply, largeBodies.hold(claimantOf(caller)));
        done(null, payload);
      },
      handler: async (request, reply) => {
        if (operation.deprecated) reply.headers(deprecationHeaders(operation.deprecated));
        const answer = await operation.handle(callOf(request, reply));
        // Requests in bulk have used more.
        if (operation.isBulk) tellAllowance(request, reply);
        const { body, status, headers, list } = withinBytes(answer);
        if (status !== undefined) reply.code(status);
        if (headers) reply.headers(headers);
        if (list) {
          const link = linksOf(list, { url: request.url, cursor: operation.cursor ?? 'cursor', address });
          if (link !== '') reply.header('link', link);
        }
        return body;
      },
    });
  }
}

/** HTTP/2 carries bodies without a word of their length. */
function mayBeLarge({ headers, raw }: FastifyRequest): boolean {
  const length = headers['content-length'];
  if (length !== undefined) return Number(length) > SMALL_BODY_BYTES;
  return raw.httpVersionMajor === 2 || headers['transfer-encoding'] !== undefined;
}

function countAsItArrives(payload: RequestPayload, { request, raw }: FastifyReply, held: Held): void {
  // The answer of HTTP/2 is not closed when the other side is gone before there is one.
  const { stream } = request.raw as { stream?: EventEmitter };
  (stream ?? raw).once('close', () => held.release());
  const count = (chunk: Uint8Array) => {
    try {
      held.add(chunk.length);
    } catch (error) {
      payload.off('data', count);
      // Whoever reads the body refuses the request for it; nobody does any more where it was refused already.
      if (payload.listenerCount('error') > 0) payload.emit('error', error);
    }
  };
  payload.on('data', count);
}

/** Deprecation (RFC 9745) counts seconds, Sunset (RFC 8594) is a date of HTTP. */
function deprecationHeaders({ since, sunset }: NonNullable<Operation['deprecated']>): Record<string, string> {
  return { deprecation: `@${Date.parse(since) / 1_000}`, sunset: new Date(sunset).toUTCString() };
}

/** Other preferences are ignored, as RFC 7240 says. */
const RETURN_MINIMAL = /(^|[,;\s])return\s*=\s*"?minimal"?\s*($|[,;])/i;
const NO_QUERY = { schema: z.strictObject({}) };

function callReader(
  operation: Operation,
  sessionOf: (request: FastifyRequest) => string | undefined,
): (request: FastifyRequest, reply: FastifyReply) => RestCall {
  const { query, body, bodyOptional, headers = {}, subject, path } = operation;
  const subjectName = /\{(\w+)\}/.exec(path)?.[1] ?? '';
  const isIdempotent = 'Idempotency-Key' in headers;
  const isVersioned = 'If-Match' in headers;
  const isPreferable = 'Prefer' in headers;
  return (request, reply) => {
    requireReadableQuery(request.url);
    const readQuery = query ? readInput(query, request.query) : readShape(NO_QUERY, request.query);
    if (!body) requireNoBody(request.body);
    const given = (request.params as Record<string, string>)[subjectName] ?? '';
    const hasOwnName = subject === undefined || isNamed(subject);
    return {
      // Undefined only where the operation is open, and there nobody reads it.
      caller: request.caller as Caller,
      query: readQuery,
      body: body && readInput(body, bodyOptional && request.body === undefined ? {} : request.body),
      idempotencyKey: isIdempotent ? parseIdempotencyKey(request.headers['idempotency-key']) : undefined,
      ifVersion: isVersioned ? parseIfMatch(request.headers['if-match']) : undefined,
      prefersMinimal: isPreferable && RETURN_MINIMAL.test(String(request.headers.prefer ?? '')),
      id: (hasOwnName ? rpc.storable(given, subjectName) : readId(given, subject)) as JobId & RunId,
      session: () => sessionOf(request),
      request,
      reply,
    };
  };
}

/** The Link header (RFC 8288) that leads through a list with the same filters. */
export function linksOf(
  { hasMore, next, page, stopped = false }: ListEnd,
  { url, cursor, address }: { url: string; cursor: string; address: string },
): string {
  const found: string[] = [];
  const add = (rel: string, name: string, value: string) => {
    found.push(`<${address}${withParameter(url, name, value)}>; rel="${rel}"`);
  };
  const followsCursor = next !== undefined && (page === undefined || stopped);
  if (hasMore && followsCursor) add('next', cursor, next);
  else if (hasMore) add('next', 'page', String((page ?? 1) + 1));
  if (page !== undefined && page > 1) add('prev', 'page', String(page - 1));
  return found.join(', ');
}

const POSITIONS = ['page', 'cursor', 'after', 'before', 'last_event_id'];

/** Leaves out the other ways of paging: two positions in one list would contradict each other. */
function withParameter(url: string, name: string, value: string): string {
  const [path = '', query = ''] = url.split('?', 2);
  const parameters = new URLSearchParams(query);
  for (const other of POSITIONS) parameters.delete(other);
  parameters.set(name, value);
  return `${path}?${parameters}`;
}
