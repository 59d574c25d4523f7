/** A path that exists answers every method: those it does not serve with 405 and the ones it does, OPTIONS with the same list. */
import { Refusal } from '@carillon/domain';
import type { FastifyInstance, FastifyRequest, HTTPMethods } from 'fastify';
import type { Operation } from './api/operation.ts';

/** Tells these routes from those of operations. */
const SERVES_OTHERS = { servesOthers: true };
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

export function mountOtherMethods(
  api: FastifyInstance,
  operations: readonly Operation[],
  authenticate: (request: FastifyRequest) => Promise<unknown>,
): void {
  for (const [path, served] of methodsByPath(operations)) {
    const allow = METHODS.filter((method) => served.has(method)).join(', ');
    // Unauthenticated callers do not learn which paths exist, unless the path is open anyway.
    const isOpen = operations.some((one) => one.path === path && one.access === 'open');
    const onRequest = async (request: FastifyRequest) => {
      if (!isOpen) await authenticate(request);
    };
    const url = path.replaceAll(/\{(\w+)\}/g, ':$1');
    api.route({
      method: 'OPTIONS',
      url,
      config: SERVES_OTHERS,
      onRequest,
      handler: async (_request, reply) => reply.code(204).header('allow', allow).send(),
    });
    api.route({
      method: METHODS.filter((method) => !served.has(method)) as HTTPMethods[],
      url,
      config: SERVES_OTHERS,
      onRequest,
      // A GET route brings its HEAD along; a path that is only written to has none.
      exposeHeadRoute: false,
      handler: async (request, reply) => {
        reply.header('allow', allow);
        throw new Refusal('method_not_allowed', `${request.method} is not served here; ${allow} are.`);
      },
    });
  }
}

function methodsByPath(operations: readonly Operation[]): Map<string, Set<string>> {
  const byPath = new Map<string, Set<string>>();
  for (const { path, method } of operations) {
    const served = byPath.get(path) ?? new Set(['OPTIONS']);
    for (const one of [method].flat()) served.add(one);
    if (served.has('GET')) served.add('HEAD');
    byPath.set(path, served);
  }
  return byPath;
}
