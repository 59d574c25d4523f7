/**
 * The gateway: HTTP in, operations behind. It authenticates, parses strictly, and answers every error as a problem document;
 * it decides nothing about jobs.
 */
import { randomUUID } from 'node:crypto';
import { isRequestId } from '@carillon/contract';
import { type Action, isReading } from '@carillon/domain';
import { type Log, systemClock } from '@carillon/foundation';
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import type { Accounts } from '../accounts/accounts.ts';
import { keyProof, sameSecret } from '../accounts/secrets.ts';
import type { OidcSignIn } from '../oidc/oidc-sign-in.ts';
import type { Operations } from '../operations/operations.ts';
import { FairTurns } from '../shared-limit/fair-turns.ts';
import type { WorkerSessions } from '../worker-home/worker-sessions.ts';
import { answerBrokenRequest, answerProblems } from './answer-problems.ts';
import { allOperations } from './api/all-operations.ts';
import { mountRest } from './api/mount-rest.ts';
import type { Access } from './api/operation.ts';
import { createAuthenticate } from './authenticate/create-authenticate.ts';
import type { DashboardFiles } from './dashboard/dashboard-files.ts';
import { serveDashboard } from './dashboard/serve-dashboard.ts';
import { LargeBodies } from './large-bodies.ts';
import type { RequireHost } from './listener/allowed-hosts.ts';
import type { ClientCertificates } from './listener/client-certificate.ts';
import { createListener, type Listener } from './listener/create-listener.ts';
import { discardRestOfRequest } from './listener/discard-rest.ts';
import { closeConnections } from './listener/open-connections.ts';
import { type MetricsOptions, metricsEndpoint } from './metrics-endpoint.ts';
import { operationsInTurns } from './operations-in-turns.ts';
import { askedMethodOf, mountOtherMethods, routeUnusualMethod } from './other-methods.ts';
import { type PeerLogsEndpointOptions, peerLogsEndpoint } from './peer-logs-endpoint.ts';
import type { RequestLimits } from './rate-limit.ts';
import { readJsonBodies } from './read-input.ts';
import { addRequestHooks } from './request-hooks.ts';
import { healthRoutes, type ProveKey, type Readiness, sharedReadiness } from './routes/health-routes.ts';
import { oidcRoutes } from './routes/oidc-routes.ts';
import { allMethods } from './rpc/all-methods.ts';
import { answerUnknownCalls } from './rpc/answer-unknown-calls.ts';
import { mountRpc } from './rpc/mount-rpc.ts';
import { workerMethods } from './rpc/worker-methods.ts';
import { Strangers } from './strangers.ts';

/** Gateways of reads and of writes can be scaled separately. */
export type Served = 'all' | 'reads' | 'writes';

export interface GatewayOptions {
  readonly operations: Operations;
  readonly authenticate: { readonly adminKey: string };
  readonly accounts: Pick<Accounts, 'identities'>;
  /** Left out: nobody signs in with a provider. */
  readonly oidc?: OidcSignIn | undefined;
  /** Started and stopped with the gateway. Left out: no limits. */
  readonly limits?: RequestLimits;
  /** Addresses and networks whose X-Forwarded-* headers are trusted. */
  readonly trustedProxies?: readonly string[];
  readonly log: Log;
  readonly readiness: () => Promise<Readiness>;
  /** The address for which this server proves its admin key. Left out: there is no /health/proof. */
  readonly announced?: () => string;
  /** What the command needs to find this server; told to administrators. */
  readonly commandFlags?: () => string;
  /** Left out: nothing is measured, and there is no /metrics. */
  readonly metrics?: Pick<MetricsOptions, 'telemetry' | 'open'>;
  readonly bodyLimitBytes: number;
  /** How many requests work at once, but for those with bounds of their own. Left out: all that come. */
  readonly requestsMax?: number;
  /** The streams of workers. Left out: those that dial this server are told to dial another. */
  readonly workers?: Pick<WorkerSessions, 'serve' | 'stop'> | undefined;
  /** Whether their streams need a certificate. Left out: none is asked for. */
  readonly clientCertificates?: ClientCertificates | undefined;
  /** Other servers read the logs in the folder of this one. Left out: they do not. */
  readonly peerLogs?: Omit<PeerLogsEndpointOptions, 'admitAnonymous'> | undefined;
  /** A server that only runs jobs: health and metrics alone. */
  readonly healthOnly?: boolean;
  /** Left out: everything. */
  readonly served?: Served;
  /** The public URL of this gateway, prefixed to Location and Link. Left out: they are relative. */
  readonly address?: string;
  /** Refuses names that requests may not be addressed to. Left out: every name is allowed. */
  readonly requireHost?: RequireHost | undefined;
  /** The page. Left out: the address shows the documentation of the interface. */
  readonly dashboard?: DashboardFiles | undefined;
  /** Accepts the connections. Left out: in clear. */
  readonly listener?: Listener;
}

export function createGateway(options: GatewayOptions): FastifyInstance {
  const { log, bodyLimitBytes, requestsMax } = options;
  const operations =
    requestsMax === undefined
      ? options.operations
      : operationsInTurns(options.operations, new FairTurns({ clock: systemClock, placesMax: requestsMax }));
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
    rewriteUrl: (raw) => {
      routeUnusualMethod(raw);
      return raw.url ?? '/';
    },
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 200 },
    genReqId: ({ headers }) =>
      isRequestId(headers['x-request-id']) ? headers['x-request-id'] : randomUUID(),
    frameworkErrors: problems.onError,
    clientErrorHandler: answerBrokenRequest,
  });
  app.setErrorHandler(problems.onError);
  const { dashboard } = options;
  const orPage = dashboard && !options.healthOnly ? serveDashboard(app, { dashboard, address }) : undefined;
  const onNoRoute = orPage ? orPage(problems.onNoRoute) : problems.onNoRoute;
  app.setNotFoundHandler(onNoRoute);
  app.decorateRequest('caller', undefined);
  const largeBodies = new LargeBodies({ clock: systemClock, bodyBytesMax: bodyLimitBytes });
  readJsonBodies(app, largeBodies);
  closeConnections(app, listener.connections);

  addRequestHooks(app, options.requireHost);
  answerUnknownCalls(app, onNoRoute);
  if (limits) {
    app.addHook('onReady', async () => limits.start());
    app.addHook('onClose', () => limits.stop());
  }
  app.addHook('onResponse', (request, { statusCode, elapsedTime }, done) => {
    const { id, raw, routeOptions } = request;
    // The side of HTTP/2 sees to it itself.
    if (!raw.complete && raw.httpVersionMajor === 1) discardRestOfRequest(raw);
    log.debug(
      {
        requestId: id,
        method: askedMethodOf(request),
        route: routeOptions.url,
        statusCode,
        elapsedMs: elapsedTime,
      },
      'answered',
    );
    done();
  });

  const readiness = sharedReadiness(options.readiness, { clock: systemClock });
  const { announced } = options;
  const { adminKey } = options.authenticate;
  const proveKey: ProveKey | undefined =
    announced && ((nonce) => keyProof(adminKey, { address: announced(), nonce }));
  healthRoutes(app, { readiness, log, proveKey });
  if (options.metrics) metricsEndpoint(app, { ...options.metrics, authenticate });
  const { workers } = options;
  // Before anything else closes: what was claimed for workers is handed over, and they are sent to another server.
  if (workers) app.addHook('preClose', () => workers.stop());
  const admitAnonymous = (request: FastifyRequest) => limits?.admitAddress(request.ip);
  const strangers = new Strangers();
  if (options.peerLogs) peerLogsEndpoint(app, { ...options.peerLogs, admitAnonymous });
  const { clientCertificates } = options;
  const calls = {
    ...{ authenticate, admitAnonymous, strangers, bodyLimitBytes, largeBodies, clientCertificates },
    ...{ clock: systemClock, log },
  };
  if (options.healthOnly) {
    mountRpc(app, { ...calls, methods: workerMethods(workers) });
    return app;
  }
  if (!dashboard) app.get('/', (_request, reply) => reply.redirect('/api/docs', 302));
  const { served = 'all' } = options;
  const stopping = new AbortController();
  // A stream would hold up the close; its reader connects to another server.
  app.addHook('preClose', async () => stopping.abort());
  const isAdminKey = (key: string) => sameSecret(key, adminKey);
  const table = allOperations({
    ...{ operations, address, isAdminKey, authenticate, commandFlags: options.commandFlags },
    // The admin key comes without a credential, and has no limit.
    charge: (caller, items) => caller.credential && limits?.chargeCaller(caller, items),
    ...{ oidc: options.oidc, stopping: stopping.signal },
  });
  const isOffered = ({ access }: { access: Access }) => isServed(access, served);
  const takesWorkers = workers !== undefined;
  const methods = allMethods({ table, operations, readiness, clock: systemClock, takesWorkers });
  // Whether workers are taken is another role than what is served.
  mountRpc(app, { ...calls, methods: [...methods.filter(isOffered), ...workerMethods(workers)] });
  const offered = table.filter(isOffered);
  // A scope of its own instead of a test of the URL: the router also takes /%61pi for /api.
  app.register(
    (api, _options, done) => {
      api.addHook('onRequest', (request, reply, hookDone) => {
        reply.header('cache-control', 'no-store');
        if (!request.is404) return hookDone();
        // Unauthenticated callers do not learn which paths exist. Answered here, before a body is read.
        authenticate(request).then(() => problems.onNoRoute(request, reply), hookDone);
      });
      api.setNotFoundHandler(problems.onNoRoute);
      if (options.oidc) oidcRoutes(api, { oidc: options.oidc, operations, address, admitAnonymous, log });
      mountRest(api, offered, { authenticate, address, limits, largeBodies, strangers });
      mountOtherMethods(api, offered, authenticate);
      done();
    },
    { prefix: '/api' },
  );
  return app;
}

/** Open routes, sessions and one's own keys are served by every gateway. */
function isServed(access: string | readonly string[], served: Served): boolean {
  const needed = [access].flat();
  if (served === 'all' || needed.includes('open') || needed.includes('self')) return true;
  const reads = needed.every((action) => isReading(action as Action));
  return served === 'reads' ? reads : !reads;
}
