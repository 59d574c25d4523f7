/**
 * The door for people and programs: HTTP in, operations behind. It authenticates, reads strictly, and answers every error
 * as a problem document; it decides nothing about jobs.
 */
import { randomUUID } from 'node:crypto';
import { isRequestId } from '@carillon/contract';
import type { Log } from '@carillon/foundation';
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import type { Operations } from '../operations/operations.ts';
import { adminKeyCheck } from './admin-key.ts';
import { answerProblems } from './answer-problems.ts';
import { closeConnections } from './close-connections.ts';
import { allEndpoints } from './endpoints/all-endpoints.ts';
import { mountEndpoints } from './mount-endpoints.ts';
import { readJsonBodies } from './read-json-bodies.ts';
import { healthRoutes, type Readiness } from './routes/health-routes.ts';

export interface GatewayOptions {
  readonly operations: Operations;
  readonly authenticate: { readonly adminKey: string };
  readonly log: Log;
  readonly readiness: () => Promise<Readiness>;
  readonly bodyLimitBytes: number;
  /** Where callers reach this gateway, put in front of Location and Link. Left out: they are relative. */
  readonly address?: string;
}

/** A request whose body trickles in longer than this is given up, so that slow callers cannot hold all connections. */
const REQUEST_TIMEOUT_MS = 30_000;

export function createGateway(options: GatewayOptions): FastifyInstance {
  const { operations, log, bodyLimitBytes } = options;
  const problems = answerProblems(log);
  const authenticate = adminKeyCheck(options.authenticate.adminKey);
  const app = fastify({
    bodyLimit: bodyLimitBytes,
    requestTimeout: REQUEST_TIMEOUT_MS,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 200 },
    genReqId: ({ headers }) =>
      isRequestId(headers['x-request-id']) ? headers['x-request-id'] : randomUUID(),
    frameworkErrors: problems.onError,
  });
  app.setErrorHandler(problems.onError);
  app.setNotFoundHandler(problems.onNoRoute);
  app.decorateRequest('caller', undefined);
  readJsonBodies(app);
  closeConnections(app);

  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id);
    reply.header('x-content-type-options', 'nosniff');
  });
  app.addHook('onResponse', async ({ id, method, routeOptions }, { statusCode, elapsedTime }) => {
    log.debug(
      { requestId: id, method, route: routeOptions.url, statusCode, elapsedMs: elapsedTime },
      'answered',
    );
  });

  healthRoutes(app, { readiness: options.readiness, log });
  const endpoints = allEndpoints({ operations, address: (options.address ?? '').replace(/\/+$/, '') });
  // A scope of its own and not a look at the URL: the router also takes /%61pi for /api.
  app.register(
    (api, _options, done) => {
      api.addHook('onRequest', async (_request, reply) => {
        reply.header('cache-control', 'no-store');
      });
      // Strangers do not learn which paths exist.
      const preHandler = async (request: FastifyRequest) => {
        await authenticate(request);
      };
      api.setNotFoundHandler({ preHandler }, problems.onNoRoute);
      mountEndpoints(api, endpoints, authenticate);
      done();
    },
    { prefix: '/api' },
  );
  return app;
}
