/**
 * The real servers a bench run needs, started on loopback in a temporary folder and gone with it. Before anything is
 * measured PostgreSQL is asked whether it commits durably: a fast figure from a server that does not fsync is worthless.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../packages/server/src/postgres/embedded/start-embedded-postgres.ts';
import { startRedis } from './servers/redis.ts';
import { onConnection } from './stores.ts';

export type Servers = Awaited<ReturnType<typeof startServers>>;

/**
 * PostgreSQL's own, where Carillon's launcher prefers settings that suit Carillon: a peer must not lose to a server tuned for
 * somebody else.
 */
const postgresDefaults = {
  max_connections: '100',
  huge_pages: 'try',
  maintenance_work_mem: '64MB',
  max_wal_senders: '10',
  max_worker_processes: '8',
  max_parallel_workers: '8',
  max_parallel_workers_per_gather: '2',
  max_logical_replication_workers: '4',
  io_method: 'worker',
  jit: 'on',
  autovacuum_naptime: '1min',
  autovacuum_max_workers: '3',
} as const;

const durable = { fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on' } as const;

export async function startServers({ withRedis, log }: { withRedis: boolean; log: (line: string) => void }) {
  const folder = mkdtempSync(join(tmpdir(), 'carillon-bench-'));
  const stops: (() => Promise<void>)[] = [async () => rmSync(folder, { recursive: true, force: true })];
  const stop = async () => {
    for (let stopOne = stops.pop(); stopOne; stopOne = stops.pop()) await stopOne();
  };
  try {
    const quiet = () => {};
    const postgres = await startEmbeddedPostgres({
      dataDir: folderIn(folder, 'postgres'),
      settings: postgresDefaults,
      log: { debug: quiet, info: quiet, warn: log, error: log },
    });
    stops.push(() => postgres.stop());
    log(`PostgreSQL ${postgres.version}, pid ${postgres.pid} on loopback`);
    const facts = await postgresFacts(postgres.url);
    const redis = withRedis
      ? await startRedis({ folder: folderIn(folder, 'redis'), log })
      : 'no system that needs it was asked for';
    const redisServer = typeof redis === 'string' ? undefined : redis;
    if (redisServer) stops.push(() => redisServer.stop());
    return {
      folder,
      urls: { postgresUrl: postgres.url, redisUrl: redisServer?.url ?? '' },
      /** Each the parent of all processes of its server. */
      pids: { postgres: postgres.pid, redis: redisServer?.pid ?? 0 },
      ...facts,
      redis: redisServer ? `${redisServer.version}, no persistence` : 'not run',
      /** Why there is no Redis; null when there is one. */
      redisProblem: typeof redis === 'string' ? redis : null,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function folderIn(parent: string, name: string): string {
  const folder = join(parent, name);
  mkdirSync(folder, { mode: 0o700 });
  return folder;
}

async function postgresFacts(url: string) {
  return onConnection(url, async (client) => {
    const settings = await client.query<{ name: string; setting: string; told: boolean }>(
      `select name, current_setting(name) as setting, setting is distinct from boot_val and source in ('configuration file', 'command line') as told
         from pg_settings where source in ('configuration file', 'command line') or name = any($1) order by name`,
      [[...Object.keys(durable), 'server_version']],
    );
    const currentValue = (name: string) => settings.rows.find((row) => row.name === name)?.setting;
    for (const [name, wanted] of Object.entries(durable)) {
      if (currentValue(name) !== wanted)
        throw new Error(
          `PostgreSQL runs with ${name} = ${currentValue(name)}: nothing it does would be durable`,
        );
    }
    const uninteresting =
      /^(port|listen_addresses|unix_socket|config_file|data_directory|hba_file|ident_file|lc_|log_|logging|TimeZone|DateStyle|default_text)/i;
    const told = settings.rows.filter((row) => row.told && !uninteresting.test(row.name));
    return {
      postgres: currentValue('server_version') ?? 'unknown',
      /** What it was told beyond its defaults, as it reports it itself. */
      postgresSettings: Object.fromEntries(told.map(({ name, setting }) => [name, setting])),
    };
  });
}
