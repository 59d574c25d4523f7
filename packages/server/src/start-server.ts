/**
 * One server, from its configuration to an open port: data folder, database, engine, gateway, in this order, and back in
 * the other. Whatever fails on the way up, what was started before it is stopped again.
 */
import { join } from 'node:path';
import type { NodeId } from '@carillon/domain';
import { type Log, systemClock, systemRandom } from '@carillon/foundation';
import { createHttpHandler } from '@carillon/worker';
import { composeEngine } from './compose.ts';
import type { Config } from './config/config-schema.ts';
import { openDataDirectory } from './data-directory.ts';
import { createGateway } from './gateway/create-gateway.ts';
import { migrate } from './postgres/migrate.ts';
import { supervisePostgres } from './postgres/supervise-postgres.ts';
import { whenReachable } from './postgres/when-reachable.ts';
import { assertPortFree, StartFailure } from './start-failure.ts';
import { openPostgresStorage } from './storage/postgres/postgres-storage.ts';

export interface StartedServer {
  readonly address: string;
  readonly adminKeyFile: string;
  /** In words, for the greeting. */
  readonly database: string;
  /** Runs drain, the database stops last. Resolves when nothing is left. */
  stop(): Promise<void>;
}

export interface StartServerOptions {
  readonly config: Config;
  readonly log: Log;
  /** Another process runs under this server's identity. */
  readonly onReplaced: () => void;
}

export async function startServer({ config, log, onReplaced }: StartServerOptions): Promise<StartedServer> {
  const undo: (() => Promise<unknown>)[] = [];
  const stop = async () => {
    for (const step of undo.splice(0).reverse()) {
      await step().catch((error: unknown) => log.error({ err: error }, 'a step of stopping failed'));
    }
  };
  try {
    const data = await openDataDirectory(config.data);
    undo.push(() => data.close());
    await assertPortFree(config.port, config.host);
    const database = await openDatabase(config, { dataDir: data.path, log, undo });
    const applied = await whenReachable(database.url, { log, step: () => migrate(database.url) }).catch(
      (error: unknown) => {
        throw StartFailure.ofDatabase(error, database.url);
      },
    );
    for (const name of applied) log.info({ migration: name }, 'applied a migration');
    const storage = openPostgresStorage({
      url: database.url,
      connectionsMax: config.database.connections_max,
      statementTimeoutMs: config.database.statement_timeout_seconds * 1_000,
      connectTimeoutMs: config.database.connect_timeout_seconds * 1_000,
    });
    undo.push(() => storage.close());

    const { deny_networks: denyNetworks, response_bytes_max: responseBytesMax } = config.http;
    const engine = composeEngine({
      storage,
      handlers: new Map([['http', createHttpHandler({ denyNetworks, responseBytesMax })]]),
      nodeId: (await data.nodeId()) as NodeId,
      incarnation: await data.incarnation(),
      address: config.public_url ?? `http://${config.host}:${config.port}`,
      settings: engineSettings(config),
      clock: systemClock,
      random: systemRandom,
      log,
      onReplaced,
    });
    const gateway = createGateway({
      operations: engine.operations,
      authenticate: { adminKey: await data.adminKey() },
      log,
      readiness: async () => {
        const reasons = await engine.unready();
        return { ready: reasons.length === 0, reasons };
      },
      bodyLimitBytes: config.body_limit_kb * 1_024,
      ...(config.public_url === undefined ? {} : { address: config.public_url }),
    });
    undo.push(() => engine.stop());
    await whenReachable(database.url, { log, step: () => engine.start() });
    undo.push(() => gateway.close());
    const address = await gateway.listen({ port: config.port, host: config.host }).catch((error: unknown) => {
      throw StartFailure.ofListen(error, config);
    });
    await data.announce(address);
    undo.push(() => data.announceLeaving());
    return { address, adminKeyFile: join(data.path, 'admin.key'), database: database.words, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function openDatabase(
  config: Config,
  { dataDir, log, undo }: { dataDir: string; log: Log; undo: (() => Promise<unknown>)[] },
): Promise<{ url: string; words: string }> {
  if (config.database_url !== undefined) {
    const { hostname, pathname } = new URL(config.database_url);
    return { url: config.database_url, words: `PostgreSQL at ${hostname}${pathname}` };
  }
  const folder = join(dataDir, 'postgres');
  const postgres = await supervisePostgres({ dataDir: folder, log });
  undo.push(() => postgres.stop());
  return { url: postgres.url, words: `embedded PostgreSQL ${postgres.version} in ${folder}` };
}

function engineSettings(config: Config) {
  return {
    slots: config.executor.slots,
    nodeTtlMs: config.node.ttl_seconds * 1_000,
    workerSilentMs: config.worker.silent_seconds * 1_000,
    lookAheadMs: config.look_ahead_seconds * 1_000,
    lookAheadRowsMax: 50_000,
    retentionMs: config.retention_days * 24 * 3_600_000,
    drainMs: config.shutdown_grace_seconds * 1_000,
    retriesPerSecond: config.retries_per_second,
  };
}
