/**
 * One operation of the interface, as a value: who may ask for it, what it reads, what it answers, the words that document it, and how
 * REST and RPC reach it. Routes, calls, the OpenAPI document, the test of roles and the fuzz test follow from one table of these.
 */
import type { DescMethod } from '@bufbuild/protobuf';
import { readShape, type Shape } from '@carillon/contract';
import {
  type Action,
  type Caller,
  hasControlCharacter,
  type JobId,
  may,
  Refusal,
  type RunId,
  requireMay,
} from '@carillon/domain';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { OidcSignIn } from '../../oidc/oidc-sign-in.ts';
import type { Operations } from '../../operations/operations.ts';
import { LIST_BYTES_MAX } from '../../operations/support/read-within-bytes.ts';
import type { Authenticate } from '../authenticate/create-authenticate.ts';
import type { RpcBinding } from '../rpc/bind-rpc.ts';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * open: everybody. self: whoever is signed in, about themselves. Otherwise the permissions that the operation requires; of
 * several, the request decides which.
 */
export type Access = Action | readonly Action[] | 'open' | 'self';

/** Refuses whoever may do none of this anywhere. What a request is about may ask for more. */
export function requireAccess(caller: Caller, access: Access): void {
  if (access === 'open' || access === 'self') return;
  const [first, ...others] = [access].flat() as Action[];
  if (!others.some((action) => may(caller, action))) requireMay(caller, first!);
}

export interface Answer {
  readonly description: string;
  /** Undefined: no body. */
  readonly schema?: z.ZodType;
  readonly contentType?: string;
  readonly example?: unknown;
  /** The same answer in other content types. */
  readonly otherTypes?: Readonly<Record<string, { readonly schema: z.ZodType; readonly example: unknown }>>;
}

export interface HeaderSpec {
  readonly description: string;
  readonly example?: string;
}

/** A shape, and how what it reads becomes the input of the operation. */
export interface Reader<Value = unknown> extends Shape {
  to(read: unknown): Value;
}

export function reading<Schema extends z.ZodObject>(shape: Shape<Schema>): Reader<z.output<Schema>>;
export function reading<Schema extends z.ZodObject, Value>(
  shape: Shape<Schema>,
  to: (read: z.output<Schema>) => Value,
): Reader<Value>;
export function reading(shape: Shape, to = (read: unknown): unknown => read): Reader {
  return { ...shape, to: to as (read: unknown) => unknown };
}

export function readInput(reader: Reader, given: unknown): unknown {
  return reader.to(readShape(reader, given));
}

/** What the path of REST and the first field of RPC name. */
export type Subject = IdSubject | NamedSubject;
type IdSubject = 'job' | 'run' | 'dead letter' | 'user' | 'key' | 'signing key' | 'session' | 'view';
type NamedSubject = 'worker' | 'namespace' | 'job key' | 'secret' | 'handler';

const NAMED: ReadonlySet<Subject> = new Set(['worker', 'namespace', 'job key', 'secret', 'handler']);

/** Named by a text of its own; all others have UUIDs. */
export function isNamed(subject: Subject): subject is NamedSubject {
  return NAMED.has(subject);
}

export interface Call<Query = unknown, Body = unknown> {
  readonly caller: Caller;
  /** Of the subject. */
  readonly id: JobId & RunId;
  readonly query: Query;
  readonly body: Body;
  readonly idempotencyKey: string | undefined;
  /** The versions of the subject that the change is meant for. Undefined: any. */
  readonly ifVersion: number[] | undefined;
  /** The caller asked for a short answer. */
  readonly prefersMinimal: boolean;
  /** The token of the session that the request came with. */
  readonly session: () => string | undefined;
}

export interface RestCall<Query = unknown, Body = unknown> extends Call<Query, Body> {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** How a list continues. */
export interface ListEnd {
  readonly hasMore: boolean;
  /** Continues after the last entry. */
  readonly next: string | undefined;
  /** Counted from 1; undefined when the caller follows cursors. */
  readonly page?: number | undefined;
  /** The search ended before the page was full: page numbers lead nowhere from here, the cursor does. */
  readonly stopped?: boolean;
  /** Continues after the entry at this index, where an answer is cut because it is too large. */
  readonly cursorAt?: (index: number) => string;
}

export interface Reply {
  readonly body?: unknown;
  /** 200 when left out. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly list?: ListEnd;
  /** What REST says by its status or its headers, and RPC by fields of its message. */
  readonly also?: object;
}

interface Described {
  readonly method: Method | readonly Method[];
  /** Below /api, such as /jobs/{id}. */
  readonly path: string;
  readonly access: Access;
  readonly tag: string;
  /** A few words, for lists. */
  readonly summary: string;
  readonly description?: string;
  readonly subject?: Subject;
  /** Describes the subject, where its name alone does not. */
  readonly subjectIs?: string;
  readonly headers?: Readonly<Record<string, HeaderSpec>>;
  /** Since and until when, as dates; see docs/compatibility.md. */
  readonly deprecated?: { readonly since: string; readonly sunset: string };
  /** It is a list: the field of the query or body that its links continue it by, which over RPC is page_token. */
  readonly cursor?: 'cursor' | 'last_event_id';
  /** Each of its items counts against the limit of the caller. */
  readonly isBulk?: boolean;
  /** However short its body is, it may name very many things: it is read in turn (large-bodies.ts). */
  readonly isReadInTurn?: boolean;
  readonly answers: Readonly<Record<number, Answer>>;
  readonly bodyExamples?: Readonly<Record<string, object>>;
  /** The calls of RPC that do the same. */
  readonly rpc?: RpcBinding | readonly RpcBinding[];
  /** Calls that do the same and are not bound to it: streams, and those that REST splits in another way. */
  readonly calls?: readonly DescMethod[];
  /** Why there is no call that does the same. */
  readonly restOnly?: string;
}

interface Input<Query, Body> {
  readonly query?: Reader<Query>;
  /** Undefined: a body is refused, since its sender expects it to have an effect. */
  readonly body?: Reader<Body>;
  /** The request may come without a body. */
  readonly bodyOptional?: boolean;
}

export interface Operation extends Described, Input<unknown, unknown> {
  readonly handle: (call: RestCall) => Promise<Reply>;
}

interface Spec<Query, Body> extends Described, Input<Query, Body> {
  readonly handle: (call: Call<Query, Body>) => Promise<Reply>;
}

export function operation<Query = unknown, Body = unknown>(spec: Spec<Query, Body>): Operation {
  return spec as unknown as Operation;
}

/** An exception: it needs the HTTP request itself, for cookies or for a stream, and no call of RPC is bound to it. */
export function restOperation<Query = unknown, Body = unknown>(
  spec: Omit<Described, 'rpc'> &
    Input<Query, Body> & { readonly handle: (call: RestCall<Query, Body>) => Promise<Reply> },
): Operation {
  return spec as unknown as Operation;
}

/** What every group of operations gets. */
export interface ApiContext {
  readonly operations: Operations;
  /** Precedes Location and Link; empty when they are relative. */
  readonly address: string;
  /** Undefined: nobody signs in with a provider. */
  readonly oidc?: Pick<OidcSignIn, 'label'> | undefined;
  /** Of this server. */
  readonly isAdminKey: (key: string) => boolean;
  /** What the command needs to find this server, as flags; undefined: it is not known. */
  readonly commandFlags?: (() => string) | undefined;
  /** For requests that do as much as many: counts their items against the limit of the caller. */
  readonly charge: (caller: Caller, items: number) => void;
  /** For streams: authenticates the caller again. */
  readonly authenticate: Authenticate;
  /** For streams: the gateway is closing. */
  readonly stopping: AbortSignal;
}

export const IF_MATCH: Readonly<Record<string, HeaderSpec>> = {
  'If-Match': {
    description: 'The ETag of the version that is meant; a job that was changed meanwhile is left alone.',
    example: '"3"',
  },
};

export const PREFER: Readonly<Record<string, HeaderSpec>> = {
  Prefer: {
    description: 'return=minimal: only the id, status and version of the job are answered (RFC 7240).',
    example: 'return=minimal',
  },
};

export const IDEMPOTENCY_KEY: Readonly<Record<string, HeaderSpec>> = {
  'Idempotency-Key': {
    description: 'The same request sent again with the same key does nothing new and answers as before.',
    example: 'order-17',
  },
};

/** One more than is shown: it tells whether there is a next page, without counting. */
export function readLimit(limit: number): number {
  return limit + 1;
}

/** What was read with readLimit, as a reply. */
export function listReply<Row>(
  rows: readonly Row[],
  { limit, view, cursorOf }: { limit: number; view: (row: Row) => unknown; cursorOf: (last: Row) => string },
): Reply {
  const shown = rows.slice(0, limit);
  const cursorAt = (index: number) => cursorOf(shown[index]!);
  const next = shown.length === 0 ? undefined : cursorAt(shown.length - 1);
  return { body: shown.map(view), list: { hasMore: rows.length > limit, next, cursorAt } };
}

/** Lists in the order of names and ids continue after one, also when that is gone meanwhile. */
export function placeAfter(cursor: string | undefined): string | undefined {
  if (cursor === undefined || !hasControlCharacter(cursor)) return cursor;
  const message = 'cursor is no position of this list; take it as it is from the Link header.';
  throw new Refusal('field_invalid', message, { field: 'cursor' });
}

/** A part of a list that would be larger than an answer may be ends early, and its cursor continues. */
export function withinBytes(reply: Reply): Reply {
  const { body, list } = reply;
  if (!Array.isArray(body) || list?.cursorAt === undefined) return reply;
  let bytes = 0;
  for (const [index, entry] of body.entries()) {
    bytes += Buffer.byteLength(JSON.stringify(entry));
    if (bytes <= LIST_BYTES_MAX || index === 0) continue;
    const { 'x-total-count': _, ...headers } = reply.headers ?? {};
    const end = { ...list, hasMore: true, next: list.cursorAt(index - 1), stopped: true };
    return { ...reply, body: body.slice(0, index), list: end, headers };
  }
  return reply;
}

/** X-Total-Count of a list that was read from its start to its end; nothing else is ever counted. */
export function totalHeader(list: {
  readonly page?: number | undefined;
  readonly limit: number;
  readonly shown: number;
  readonly ended: boolean;
}): Readonly<Record<string, string>> {
  const { page = 1, limit, shown, ended } = list;
  return ended && (page === 1 || shown > 0) ? { 'x-total-count': String((page - 1) * limit + shown) } : {};
}
