/** Turns endpoints into routes: reads strictly what each declares, then lets it answer. */
import { readShape, requireNoBody } from '@carillon/contract';
import type { Caller } from '@carillon/domain';
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import { z } from 'zod';
import type { Endpoint } from './endpoint.ts';
import { allowanceHeaders, type RequestLimits } from './rate-limit.ts';
import { requireReadableQuery } from './read-input.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks; set by the authentication, before any endpoint that is not open. */
    caller: Caller | undefined;
  }
}

const NO_QUERY = { schema: z.strictObject({}) };

export function mountEndpoints(
  api: FastifyInstance,
  endpoints: readonly Endpoint[],
  authenticate: (request: FastifyRequest) => Promise<Caller>,
  /** Strangers are counted here; those who show who they are were counted when they did, and are told what is left. */
  limits?: Pick<RequestLimits, 'admitAddress' | 'allowanceOf'>,
): void {
  for (const endpoint of endpoints) {
    api.route({
      method: [endpoint.method].flat() as HTTPMethods[],
      url: endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      onRequest: async (request: FastifyRequest, reply: FastifyReply) => {
        if (endpoint.access === 'open') {
          limits?.admitAddress(request.ip);
          return;
        }
        request.caller = await authenticate(request);
        const allowance = limits?.allowanceOf(request.caller);
        if (allowance) reply.headers(allowanceHeaders(allowance));
      },
      handler: (request, reply) => {
        requireReadableQuery(request.url);
        const query = readShape(endpoint.query ?? NO_QUERY, request.query);
        if (!endpoint.body) requireNoBody(request.body);
        return endpoint.handle({
          // Undefined only where the endpoint is open, and there nobody reads it.
          caller: request.caller as Caller,
          params: request.params as Record<string, string>,
          query,
          body: endpoint.body ? readShape(endpoint.body, request.body) : undefined,
          request,
          reply,
        });
      },
    });
  }
}
