/** A path that exists answers every method: those it does not serve with 405 and the ones it does, OPTIONS with the same list. */
import { Refusal } from '@carillon/domain';
import type { FastifyInstance, FastifyRequest, HTTPMethods } from 'fastify';
import type { Operation } from './api/operation.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    servesOthers?: boolean;
  }
}

/** Tells these routes from those of operations. */
const SERVES_OTHERS = { servesOthers: true };
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;
const COMMON: ReadonlySet<string> = new Set(METHODS);
/** Stands for every method that no route serves: the router knows few of them, and HTTP/2 carries any word. It reads no body. */
const UNUSUAL = 'TRACE';
const askedMethods = new WeakMap<object, string>();

/** Called before a request is routed. */
export function routeUnusualMethod(raw: { method?: string | undefined }): void {
  const { method = '' } = raw;
  if (COMMON.has(method)) return;
  askedMethods.set(raw, method);
  raw.method = UNUSUAL;
}

/** The method as the caller sent it. */
export function askedMethodOf({ raw, method }: Pick<FastifyRequest, 'raw' | 'method'>): string {
  return (askedMethods.get(raw) ?? method).slice(0, METHOD_LENGTH_MAX);
}

const METHOD_LENGTH_MAX = 50;

export function mountOtherMethods(
  api: FastifyInstance,
  operations: readonly Operation[],
  authenticate: (request: FastifyRequest) => Promise<unknown>,
): void {
  for (const [path, served] of methodsByPath(operations)) {
    const allow = METHODS.filter((method) => served.has(method)).join(', ');
    // Unauthenticated callers do not learn which paths exist, unless the path is open anyway.
    const isOpen = operations.some((one) => one.path === path && one.access === 'open');
    const admit = async (request: FastifyRequest) => {
      if (!isOpen) await authenticate(request);
    };
    const url = path.replaceAll(/\{(\w+)\}/g, ':$1');
    api.route({
      method: 'OPTIONS',
      url,
      config: SERVES_OTHERS,
      onRequest: admit,
      handler: async (_request, reply) => reply.code(204).header('allow', allow).send(),
    });
    api.route({
      method: [...METHODS, UNUSUAL].filter((method) => !served.has(method)) as HTTPMethods[],
      url,
      config: SERVES_OTHERS,
      // Refused before a body is read.
      onRequest: async (request, reply) => {
        await admit(request);
        reply.header('allow', allow);
        const message = `${askedMethodOf(request)} is not served here; ${allow} are.`;
        throw new Refusal('method_not_allowed', message);
      },
      // A GET route brings its HEAD along; a path that is only written to has none.
      exposeHeadRoute: false,
      handler: async () => undefined,
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
