/**
 * The real servers a bench run needs, started on loopback in a temporary folder and gone with it. Before anything is
 * measured PostgreSQL is asked whether it commits durably: a fast figure from a server that does not fsync is worthless.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../packages/server/src/postgres/embedded/start-embedded-postgres.ts';
import { RedisUnavailable, startRedis } from './servers/redis.ts';
import type { ServerUrls } from './stores.ts';

export type Servers = {
  readonly folder: string;
  readonly urls: ServerUrls;
  /** Each the parent of all processes of its server. */
  readonly pids: { readonly postgres: number; readonly redis: number };
  readonly postgres: string;
  /** What PostgreSQL was told beyond its defaults, as it reports it itself. */
  readonly postgresSettings: Readonly<Record<string, string>>;
  readonly redis: string;
  /** Why there is no Redis; null when there is one. */
  readonly redisProblem: string | null;
  stop(): Promise<void>;
};

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

export async function startServers(options: {
  withRedis: boolean;
  log: (line: string) => void;
}): Promise<Servers> {
  const { withRedis, log } = options;
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

    let redisUrl = '';
    let redisPid = 0;
    let redis = 'not run';
    let redisProblem: string | null = withRedis ? null : 'no system that needs it was asked for';
    if (withRedis) {
      try {
        const server = await startRedis({ folder: folderIn(folder, 'redis'), log });
        stops.push(() => server.stop());
        redisUrl = server.url;
        redisPid = server.pid;
        redis = `${server.version}, no persistence`;
      } catch (error) {
        if (!(error instanceof RedisUnavailable)) throw error;
        redisProblem = error.message;
      }
    }
    return {
      folder,
      urls: { postgresUrl: postgres.url, redisUrl },
      pids: { postgres: postgres.pid, redis: redisPid },
      ...facts,
      redis,
      redisProblem,
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

async function postgresFacts(url: string): Promise<Pick<Servers, 'postgres' | 'postgresSettings'>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
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
      postgresSettings: Object.fromEntries(told.map(({ name, setting }) => [name, setting])),
    };
  } finally {
    await client.end();
  }
}
