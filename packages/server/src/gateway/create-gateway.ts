/**
 * The door for people and programs: HTTP in, operations behind. It authenticates, reads strictly, and answers every error
 * as a problem document; it decides nothing about jobs.
 */
import { randomUUID } from 'node:crypto';
import { isRequestId } from '@carillon/contract';
import type { Log } from '@carillon/foundation';
import fastify, { type FastifyInstance } from 'fastify';
import type { Operations } from '../operations/operations.ts';
import { answerProblems } from './answer-problems.ts';
import { bearerCheck } from './bearer-check.ts';
import { closeConnections } from './close-connections.ts';
import { readJsonBodies } from './read-json-bodies.ts';
import { deadLetterRoutes } from './routes/dead-letter-routes.ts';
import { healthRoutes, type Readiness } from './routes/health-routes.ts';
import { jobActionRoutes } from './routes/job-action-routes.ts';
import { jobRoutes } from './routes/job-routes.ts';
import { runRoutes } from './routes/run-routes.ts';

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
  const requireKey = bearerCheck(options.authenticate.adminKey);
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
  const routes = { operations, address: (options.address ?? '').replace(/\/+$/, '') };
  // A scope of its own and not a look at the URL: the router also takes /%61pi for /api.
  app.register(
    (api, _options, done) => {
      api.addHook('onRequest', requireKey);
      api.addHook('onRequest', async (_request, reply) => {
        reply.header('cache-control', 'no-store');
      });
      api.setNotFoundHandler(problems.onNoRoute);
      jobRoutes(api, routes);
      jobActionRoutes(api, routes);
      runRoutes(api, routes);
      deadLetterRoutes(api, routes);
      done();
    },
    { prefix: '/api' },
  );
  return app;
}
