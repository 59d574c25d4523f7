/**
 * One way into the gateway, as a value: its path, who may use it, what it reads and what it answers. Routes, the OpenAPI
 * document, the test of roles and the fuzz test all follow from the same list of these.
 */
import type { Shape } from '@carillon/contract';
import type { Action, Caller } from '@carillon/domain';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * open: everybody. self: whoever is signed in, about themselves. Otherwise the permission that the operation asks for; of
 * several, what is asked for decides which.
 */
export type Access = Action | readonly Action[] | 'open' | 'self';

export interface Answer {
  readonly description: string;
  /** Undefined: no body. */
  readonly schema?: z.ZodType;
  readonly contentType?: string;
  readonly example?: unknown;
  /** The same answer for those who ask for another type, by that type. */
  readonly otherTypes?: Readonly<Record<string, { readonly schema: z.ZodType; readonly example: unknown }>>;
}

/** A header that carries meaning; how it is read is the handler's business. */
export interface HeaderSpec {
  readonly description: string;
  readonly example?: string;
}

export interface Call<Query = unknown, Body = unknown> {
  readonly caller: Caller;
  /** Parts of the path, as they were written. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
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
  /** By name; those left out are described by their name alone. */
  readonly params?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, HeaderSpec>>;
  readonly answers: Readonly<Record<number, Answer>>;
  readonly bodyExamples?: Readonly<Record<string, object>>;
}

export interface EndpointSpec<Query extends z.ZodObject, Body extends z.ZodObject> extends Described {
  readonly query?: Shape<Query>;
  /** Undefined: a body is refused, for whoever sends one believes that it does something. */
  readonly body?: Shape<Body>;
  /** Its value is the body of the answer; the status is 200 unless the reply was given another. */
  readonly handle: (call: Call<z.output<Query>, z.output<Body>>) => Promise<unknown>;
}

export interface Endpoint extends Described {
  readonly query?: Shape;
  readonly body?: Shape;
  readonly handle: (call: Call) => Promise<unknown>;
}

/** Keeps the types of query and body between what an endpoint reads and what it does. */
export function endpoint<
  Query extends z.ZodObject = z.ZodObject<Record<string, never>>,
  Body extends z.ZodObject = z.ZodObject<Record<string, never>>,
>(spec: EndpointSpec<Query, Body>): Endpoint {
  return spec as unknown as Endpoint;
}
