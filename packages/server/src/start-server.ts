/**
 * One server, from its configuration to an open port: data folder, database, engine, gateway, in this order, and back in
 * the other. Whatever fails on the way up, what was started before it is stopped again.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type BootId, type NodeId, parseGroupGrant, SERVER } from '@carillon/domain';
import { type Log, systemClock, systemRandom } from '@carillon/foundation';
import type { Handler, HandlerPlugin } from '@carillon/worker';
import { redactAlso } from './audit/audit-log.ts';
import { whereFlags } from './command-flags.ts';
import { composeEngine, ENGINE_DEFAULTS } from './compose.ts';
import type { Config } from './config/config-schema.ts';
import { PostgresCounters } from './counters/postgres/postgres-counters.ts';
import { type DataDirectory, openDataDirectory } from './data-directory.ts';
import { createGateway, type Served } from './gateway/create-gateway.ts';
import { openDashboard } from './gateway/dashboard/dashboard-files.ts';
import { allowedHosts } from './gateway/listener/allowed-hosts.ts';
import { clientCertificatesOf } from './gateway/listener/client-certificate.ts';
import { type GatewayPort, isLoopback } from './gateway/listener/gateway-port.ts';
import { RequestLimits } from './gateway/rate-limit.ts';
import { untilPartitioned } from './housekeeping/until-partitioned.ts';
import { offeredHandlers } from './offered-handlers.ts';
import { OidcSignIn } from './oidc/oidc-sign-in.ts';
import { openLogStore } from './open-log-store.ts';
import { openRedirect, preparePort } from './open-port.ts';
import { OwnEndpoints } from './outgoing/own-endpoints.ts';
import { SecretSeal } from './outgoing/secret-seal.ts';
import { SigningSecrets } from './outgoing/signing-secrets.ts';
import { PeerLogs } from './peers/peer-logs.ts';
import { Peers } from './peers/peers.ts';
import { migrate } from './postgres/migrate.ts';
import { OutageWatch } from './postgres/outage-watch.ts';
import { supervisePostgres } from './postgres/supervise-postgres.ts';
import { whenReachable } from './postgres/when-reachable.ts';
import { joinNode } from './sharding/join-node.ts';
import { MemorySignalBus } from './signal-bus/memory-signal-bus.ts';
import { PostgresSignalBus } from './signal-bus/postgres/postgres-signal-bus.ts';
import { assertPortFree, StartFailure } from './start-failure.ts';
import { openPostgresStorage } from './storage/postgres/postgres-storage.ts';
import type { Storage } from './storage/storage.ts';
import { countedLog } from './telemetry/prometheus/counted-log.ts';
import { measuredStorage } from './telemetry/prometheus/measured-storage.ts';
import { PrometheusTelemetry } from './telemetry/prometheus/prometheus-telemetry.ts';

export interface StartedServer {
  readonly address: string;
  readonly adminKeyFile: string;
  /** In words, for the greeting. */
  readonly database: string;
  readonly roles: Config['roles'];
  /** A new link that signs in as the admin key, once and within ten minutes. Undefined where no requests are answered. */
  signInLink(): Promise<string | undefined>;
  /** Runs drain, the database stops last. Resolves when nothing is left. */
  stop(): Promise<void>;
}

export interface StartServerOptions {
  readonly config: Config;
  /** The file that the settings came from, if any: scripts do not see it. */
  readonly configFile?: string | undefined;
  readonly log: Log;
  /** Another process runs under this server's identity. */
  readonly onReplaced: () => void;
  /** Aborts waiting for a database during the start, which then fails with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Handlers of the program that embeds the server, besides the built-in ones. */
  readonly handlers?: ReadonlyMap<string, Handler | HandlerPlugin>;
  /** Where the key for an S3 store is looked up. Left out: the environment of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** Of the connections to the database, so many may be used by requests: the engine always has some. */
const REQUESTS_PART = 0.6;

export async function startServer(options: StartServerOptions): Promise<StartedServer> {
  const { config, log, onReplaced, signal, handlers = new Map(), env = process.env } = options;
  const waiting = { log, signal, connectionsMax: config.database.connections_max };
  const undo: (() => Promise<unknown>)[] = [];
  redactAlso(config.redact_names);
  const stop = async () => {
    for (const step of undo.splice(0).reverse()) {
      await step().catch((error: unknown) => log.error({ err: error }, 'a step of stopping failed'));
    }
  };
  try {
    const data = await openDataDirectory(config.data, {
      isTrusted: config.trust_folder,
      onWait: (pid) => log.info({ pid }, 'waiting for the server before to stop; it ends its runs first'),
    }).catch((error: unknown) => {
      throw StartFailure.ofFolder(error, config.data);
    });
    undo.push(() => data.close());
    const adminKey = await data.adminKey();
    const port = await preparePort(config, log);
    await assertPortFree(config.port, port.host);
    const database = await openDatabase(config, { dataDir: data.path, log, undo });
    const applied = await whenReachable(database.url, {
      ...waiting,
      step: () => migrate(database.url, { log, ...(signal && { signal }) }),
    }).catch((error: unknown) => {
      throw signal?.aborted ? error : StartFailure.ofDatabase(error, database.url);
    });
    if (applied.length > 0)
      log.info({ migrations: applied.length, last: applied.at(-1) }, 'made the database ready');
    const storage = openPostgresStorage({
      url: database.url,
      watch: new OutageWatch({ clock: systemClock, log }),
      connectionsMax: config.database.connections_max,
      statementTimeoutMs: config.database.statement_timeout_seconds * 1_000,
      connectTimeoutMs: config.database.connect_timeout_seconds * 1_000,
    });
    undo.push(() => storage.close());

    const counters = new PostgresCounters(storage.database);
    const seal = await openSeal(config, data);
    const signing = new SigningSecrets({ store: storage.signingKeys, seal, clock: systemClock });
    const telemetry = new PrometheusTelemetry({ clock: systemClock });
    const countingLog = countedLog(log, telemetry);
    const signals = new PostgresSignalBus({
      url: database.url,
      statementTimeoutMs: config.database.statement_timeout_seconds * 1_000,
      connectTimeoutMs: config.database.connect_timeout_seconds * 1_000,
      local: new MemorySignalBus({ log: countingLog }),
      clock: systemClock,
      random: systemRandom,
      log: countingLog,
    });
    // Stopped after the engine, whose last hints it sends.
    undo.push(() => signals.stop());
    await signals.start();
    const logs = await openLogStore(config, { dataFolder: data.path, env, log: countingLog });
    undo.push(() => logs.close());
    const identity = await takeIdentity({
      ...{ data, storage, config, log, signal },
      databaseUrl: database.url,
      address: addressOf(config, port),
    });
    const { nodeId, bootId } = identity;
    const { members } = storage;
    const peers = new Peers({ nodeId, bootId, members, clock: systemClock });
    const peerLogs = new PeerLogs({ peers, clock: systemClock });
    undo.push(async () => peerLogs.close());
    const own = new OwnEndpoints({
      ...{ databaseUrl: database.url, publicUrl: config.public_url, members, bootId },
      peer: () => ({ nodeId, publicKey: peers.publicKey, certificate: port.fingerprint }),
      ...{ clock: systemClock, random: systemRandom, log },
    });
    const engine = composeEngine({
      storage: measuredStorage(storage, { telemetry, clock: systemClock }),
      handlers: new Map([
        ...(await offeredHandlers(config, {
          ...{ isLocal: isLoopback(port.host), dataFolder: data.path, own, signing, log: countingLog },
          configFile: options.configFile,
          runsJobs: playsOf(config.roles).dispatcher,
        })),
        ...handlers,
      ]),
      ...identity,
      address: addressOf(config, port),
      settings: engineSettings(config),
      clock: systemClock,
      random: systemRandom,
      log: countingLog,
      onReplaced,
      plays: playsOf(config.roles),
      signals,
      counters,
      sessionTimes: sessionTimes(config),
      ...(!gatewayShare(config.roles).healthOnly && { adminKey }),
      seal,
      logs,
      peerLogs: (other) => peerLogs.of(other),
    });
    telemetry.watch({
      counts: () => engine.counts(),
      connections: () => ({ ...storage.connections(), hints: signals.connections }),
      countJobs: () => storage.housekeeping.countJobs(),
      countWaiting: () => storage.housekeeping.countWaiting(Date.now()),
    });
    // Nothing is proven before it is known where this server answers.
    let announced = '';
    const gateway = createGateway({
      metrics: { telemetry, open: config.metrics.open },
      operations: engine.operations,
      workers: engine.workers,
      clientCertificates: clientCertificatesOf(config.tls),
      authenticate: { adminKey },
      announced: () => announced,
      commandFlags: () => whereFlags(announced, { data: data.path, cwd: process.cwd() }),
      accounts: engine.accounts,
      oidc: await openOidc(config),
      limits: new RequestLimits({
        settings: rateLimits(config),
        ...{ counters, clock: systemClock, random: systemRandom, log },
      }),
      trustedProxies: config.trusted_proxies,
      log: countingLog,
      peerLogs: { peers, store: logs },
      readiness: async () => {
        const reasons = await engine.unready();
        return { ready: reasons.length === 0, reasons };
      },
      bodyLimitBytes: config.body_limit_kb * 1_024,
      requestsMax: Math.max(1, Math.floor(config.database.connections_max * REQUESTS_PART)),
      requireHost: allowedHosts({
        allowed: config.allowed_hosts,
        listensOn: port.host,
        publicUrl: config.public_url,
      }),
      ...gatewayShare(config.roles),
      dashboard: await openDashboard(),
      listener: port.listener,
      ...(config.public_url === undefined ? {} : { address: config.public_url }),
    });
    undo.push(() => own.stop());
    await whenReachable(database.url, { ...waiting, step: () => own.start() });
    undo.push(() => engine.stop());
    await whenReachable(database.url, { ...waiting, step: () => engine.start() });
    undo.push(() => gateway.close());
    undo.push(() => port.close());
    const address = await port.open(gateway).catch((error: unknown) => {
      throw StartFailure.ofListen(error, { port: config.port, host: port.host });
    });
    own.addGateway(address, port.host);
    await openRedirect(config, { port, undo, own, log: countingLog, telemetry });
    await whenReachable(database.url, { ...waiting, step: () => own.runOnce() });
    announced = address;
    await data.announce(address);
    undo.push(() => data.announceLeaving());
    return {
      address,
      adminKeyFile: join(data.path, 'admin.key'),
      database: database.words,
      roles: config.roles,
      signInLink: async () => {
        if (gatewayShare(config.roles).healthOnly) return undefined;
        const ticket = await engine.operations.issueTicket(SERVER);
        return `${config.public_url?.replace(/\/+$/, '') ?? address}/#ticket=${ticket}`;
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Identity {
  readonly nodeId: NodeId;
  readonly incarnation: number;
  readonly bootId: BootId;
  readonly endedBoots: readonly BootId[];
}

/** Decided before any role starts: all of them use it. A server that runs no jobs is no node. */
async function takeIdentity(options: {
  data: DataDirectory;
  storage: Storage;
  databaseUrl: string;
  config: Config;
  address: string;
  log: Log;
  signal: AbortSignal | undefined;
}): Promise<Identity> {
  const { data, storage, databaseUrl, config, address, log, signal } = options;
  const { bootId, ended } = await data.boot();
  const identity = {
    nodeId: (await data.nodeId()) as NodeId,
    incarnation: await data.incarnation(),
    bootId: bootId as BootId,
    endedBoots: ended as readonly BootId[],
  };
  if (!playsOf(config.roles).scheduler) return identity;
  const { members, housekeeping: store } = storage;
  const nowMs = async () => Math.round(await members.serverTimeMs());
  const step = async () => {
    await untilPartitioned({ store, nowMs, clock: systemClock, log });
    return joinNode({
      ...identity,
      nodeId: (await data.nodeId()) as NodeId,
      members,
      address,
      ttlMs: config.node.ttl_seconds * 1_000,
      newNodeId: async () => (await data.renewNodeId()) as NodeId,
      log,
    });
  };
  const { connections_max: connectionsMax } = config.database;
  return { ...identity, nodeId: await whenReachable(databaseUrl, { log, signal, connectionsMax, step }) };
}

function addressOf(config: Config, port: GatewayPort): string {
  return config.public_url ?? `${port.scheme}://${port.host}:${config.port}`;
}

async function openDatabase(
  config: Config,
  { dataDir, log, undo }: { dataDir: string; log: Log; undo: (() => Promise<unknown>)[] },
): Promise<{ url: string; words: string }> {
  if (config.database_url !== undefined) {
    const { hostname, pathname } = new URL(config.database_url);
    return { url: config.database_url, words: `PostgreSQL at ${hostname}${pathname}` };
  }
  const plays = playsOf(config.roles);
  if (!Object.values(plays).every(Boolean)) {
    throw new StartFailure(
      `a server that is only ${config.roles.join(' and ')} shares its database with others. Name it with --database-url.`,
    );
  }
  const folder = join(dataDir, 'postgres');
  const postgres = await supervisePostgres({ dataDir: folder, log });
  undo.push(() => postgres.stop());
  return { url: postgres.url, words: `embedded PostgreSQL ${postgres.version} in ${folder}` };
}

/** What the roles stand for: the gateway is reads and writes, the engine scheduler and dispatcher. */
function playsOf(roles: Config['roles']) {
  const plays = (role: Config['roles'][number], part: Config['roles'][number]) =>
    roles.includes(role) || roles.includes(part);
  return {
    scheduler: plays('engine', 'scheduler'),
    dispatcher: plays('engine', 'dispatcher'),
    reads: plays('gateway', 'reads'),
    writes: plays('gateway', 'writes'),
  };
}

function gatewayShare(roles: Config['roles']): { healthOnly?: boolean; served?: Served } {
  const { reads, writes } = playsOf(roles);
  if (reads && writes) return {};
  if (!reads && !writes) return { healthOnly: true };
  return { served: reads ? 'reads' : 'writes' };
}

function rateLimits({ rate_limit: limit }: Config) {
  return {
    perCaller: limit.key_per_second,
    perAddress: limit.address_per_second,
    burstSeconds: limit.burst_seconds,
  };
}

/** A database of this folder has its key here too; one that several servers share needs one that they share. */
async function openSeal(
  { secrets: { key_file: keyFile }, database_url: url }: Config,
  data: Pick<DataDirectory, 'secretsKey'>,
): Promise<SecretSeal> {
  if (keyFile === undefined) return new SecretSeal(url === undefined ? await data.secretsKey() : undefined);
  try {
    return new SecretSeal(await readFile(keyFile, 'utf8'));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartFailure(`${keyFile} of --secrets-key-file cannot be used: ${reason}.`, { cause: error });
  }
}

async function openOidc({ oidc }: Config): Promise<OidcSignIn | undefined> {
  const { issuer, client_id: clientId, client_secret_file: file } = oidc;
  if (issuer === undefined || clientId === undefined) return undefined;
  const secret = file === undefined ? undefined : await readFile(file, 'utf8').catch((error: Error) => error);
  if (secret instanceof Error)
    throw new StartFailure(`${file} of --oidc-client-secret-file cannot be read: ${secret.message}.`);
  const settings = {
    ...{ issuer, clientId, clientSecret: secret?.trim() ?? oidc.client_secret },
    ...{ scopes: oidc.scopes, groupsClaim: oidc.groups_claim, label: oidc.label },
    grants: oidc.grants.flatMap((line) => parseGroupGrant(line) ?? []),
  };
  return new OidcSignIn(settings, { clock: systemClock });
}

function sessionTimes({ session }: Config) {
  return { idleMs: session.idle_minutes * 60_000, maxMs: session.max_hours * 3_600_000 };
}

function engineSettings(config: Config) {
  return {
    slots: config.executor.slots,
    nodeTtlMs: config.node.ttl_seconds * 1_000,
    workerSilentMs: config.worker.silent_seconds * 1_000,
    lookAheadMs: config.look_ahead_seconds * 1_000,
    lookAheadRowsMax: ENGINE_DEFAULTS.lookAheadRowsMax,
    retentionMs: config.retention_days * 24 * 3_600_000,
    eventRetentionMs: config.events.retention_days * 24 * 3_600_000,
    auditRetentionMs: config.audit_retention_days * 24 * 3_600_000,
    logRetentionMs: config.logs.retention_days * 24 * 3_600_000,
    resultBytesMax: config.logs.result_max_mb * 1_024 * 1_024,
    artifactsBytesMax: config.logs.artifacts_max_mb * 1_024 * 1_024,
    listenersMax: config.events.listeners_max,
    drainMs: config.shutdown_grace_seconds * 1_000,
    retriesPerSecond: config.retries_per_second,
  };
}
