/** Turns endpoints into routes: reads strictly what each declares, then lets it answer. */
import { readShape, requireNoBody } from '@carillon/contract';
import type { Caller } from '@carillon/domain';
import type { FastifyInstance, FastifyRequest, HTTPMethods } from 'fastify';
import { z } from 'zod';
import type { Endpoint } from './endpoint.ts';

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
): void {
  for (const endpoint of endpoints) {
    api.route({
      method: [endpoint.method].flat() as HTTPMethods[],
      url: endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      ...(endpoint.access !== 'open' && {
        onRequest: async (request: FastifyRequest) => {
          request.caller = await authenticate(request);
        },
      }),
      handler: (request, reply) => {
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
