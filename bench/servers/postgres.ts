/**
 * Starts PostgreSQL for the bench: Carillon's embedded one, but with PostgreSQL's own defaults where the launcher prefers
 * settings that suit Carillon. A peer must not lose to a server tuned for somebody else.
 */
import { startEmbeddedPostgres } from '../../packages/server/src/postgres/embedded/start-embedded-postgres.ts';

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

export type PostgresServer = { readonly url: string; readonly pid: number; stop(): Promise<void> };

export async function startPostgres(options: {
  folder: string;
  log: (line: string) => void;
}): Promise<PostgresServer> {
  const { folder, log } = options;
  const quiet = () => {};
  const server = await startEmbeddedPostgres({
    dataDir: folder,
    settings: postgresDefaults,
    log: { debug: quiet, info: quiet, warn: log, error: log },
  });
  log(`PostgreSQL ${server.version}, pid ${server.pid} on loopback`);
  return { url: server.url, pid: server.pid, stop: () => server.stop() };
}
