/**
 * The door for people and programs: HTTP in, operations behind. It authenticates, reads strictly, and answers every error
 * as a problem document; it decides nothing about jobs.
 */
import { randomUUID } from 'node:crypto';
import { isRequestId } from '@carillon/contract';
import { type Log, systemClock } from '@carillon/foundation';
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import type { Accounts } from '../accounts/accounts.ts';
import type { Operations } from '../operations/operations.ts';
import { answerBrokenRequests } from './answer-broken-requests.ts';
import { answerProblems } from './answer-problems.ts';
import { createAuthenticate } from './authenticate/create-authenticate.ts';
import { closeConnections } from './close-connections.ts';
import { allEndpoints } from './endpoints/all-endpoints.ts';
import { createListener, type Listener } from './listener/create-listener.ts';
import { type MetricsOptions, metricsEndpoint } from './metrics-endpoint.ts';
import { mountEndpoints } from './mount-endpoints.ts';
import { mountOtherMethods } from './other-methods.ts';
import type { RequestLimits } from './rate-limit.ts';
import { readJsonBodies } from './read-json-bodies.ts';
import { requireHost } from './require-host.ts';
import { healthRoutes, type Readiness, sharedReadiness } from './routes/health-routes.ts';
import { allMethods } from './rpc/all-methods.ts';
import { answerUnknownCalls } from './rpc/answer-unknown-calls.ts';
import { mountRpc } from './rpc/mount-rpc.ts';
import { securityHeaders } from './security-headers.ts';
import { isServed, type Served } from './served.ts';

export interface GatewayOptions {
  readonly operations: Operations;
  readonly authenticate: { readonly adminKey: string };
  readonly accounts: Pick<Accounts, 'identities'>;
  /** Runs as long as the gateway does. Left out: nobody is too fast. */
  readonly limits?: RequestLimits;
  /** Addresses and networks whose X-Forwarded-* headers are believed. */
  readonly trustedProxies?: readonly string[];
  readonly log: Log;
  readonly readiness: () => Promise<Readiness>;
  /** Left out: nothing is measured, and there is no /metrics. */
  readonly metrics?: Pick<MetricsOptions, 'telemetry' | 'open'>;
  readonly bodyLimitBytes: number;
  /** A server that only runs jobs: health and metrics, and no way in. */
  readonly healthOnly?: boolean;
  /** Left out: everything. */
  readonly served?: Served;
  /** Where callers reach this gateway, put in front of Location and Link. Left out: they are relative. */
  readonly address?: string;
  /** What takes the connections. Left out: in clear. */
  readonly listener?: Listener;
}

export function createGateway(options: GatewayOptions): FastifyInstance {
  const { operations, log, bodyLimitBytes } = options;
  const problems = answerProblems(log);
  const address = (options.address ?? '').replace(/\/+$/, '');
  const { limits, trustedProxies = [] } = options;
  const { identities } = options.accounts;
  const authenticate = createAuthenticate({ ...options.authenticate, identities, limits, address });
  const listener = options.listener ?? createListener();
  const app: FastifyInstance = fastify({
    serverFactory: listener.serverFactory,
    bodyLimit: bodyLimitBytes,
    trustProxy: trustedProxies.length === 0 ? false : [...trustedProxies],
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 200 },
    genReqId: ({ headers }) =>
      isRequestId(headers['x-request-id']) ? headers['x-request-id'] : randomUUID(),
    frameworkErrors: problems.onError,
    clientErrorHandler: answerBrokenRequests,
  });
  app.setErrorHandler(problems.onError);
  app.setNotFoundHandler(problems.onNoRoute);
  app.decorateRequest('caller', undefined);
  readJsonBodies(app);
  closeConnections(app, listener.connections);

  // Hooks that every request passes call back: a promise for each would cost more than what they do.
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    done();
  });
  securityHeaders(app);
  requireHost(app);
  answerUnknownCalls(app);
  if (limits) {
    app.addHook('onReady', async () => limits.start());
    app.addHook('onClose', () => limits.stop());
  }
  app.addHook('onResponse', ({ id, method, routeOptions }, { statusCode, elapsedTime }, done) => {
    log.debug(
      { requestId: id, method, route: routeOptions.url, statusCode, elapsedMs: elapsedTime },
      'answered',
    );
    done();
  });

  const readiness = sharedReadiness(options.readiness, { clock: systemClock });
  healthRoutes(app, { readiness, log });
  if (options.metrics) metricsEndpoint(app, { ...options.metrics, authenticate });
  if (options.healthOnly) return app;
  // Whoever opens the address that the server printed finds out what it can do.
  app.get('/', (_request, reply) => reply.redirect('/api/docs', 302));
  const { served = 'all' } = options;
  const methods = allMethods({ operations, readiness, clock: systemClock }).filter(({ access }) =>
    isServed(access, served),
  );
  const admitStranger = (request: FastifyRequest) => limits?.admitAddress(request.ip);
  mountRpc(app, { methods, authenticate, admitStranger, bodyLimitBytes, clock: systemClock, log });
  const stopping = new AbortController();
  // Answers that go on would hold up the close; those that read them come back to another server.
  app.addHook('preClose', async () => stopping.abort());
  const endpoints = allEndpoints({
    operations,
    address,
    authenticate,
    stopping: stopping.signal,
  }).filter(({ access }) => isServed(access, served));
  // A scope of its own and not a look at the URL: the router also takes /%61pi for /api.
  app.register(
    (api, _options, done) => {
      api.addHook('onRequest', (_request, reply, hookDone) => {
        reply.header('cache-control', 'no-store');
        hookDone();
      });
      // Strangers do not learn which paths exist.
      const preHandler = async (request: FastifyRequest) => {
        await authenticate(request);
      };
      api.setNotFoundHandler({ preHandler }, problems.onNoRoute);
      mountEndpoints(api, endpoints, authenticate, limits);
      mountOtherMethods(api, endpoints, authenticate);
      done();
    },
    { prefix: '/api' },
  );
  return app;
}
