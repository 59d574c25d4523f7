/**
 * The settings the embedded PostgreSQL runs with: durable, small when idle, and independent of the machine's shared
 * memory limits. They are given on the command line, so a new release changes them for data directories that exist.
 */

export type ServerSettingsOptions = {
  readonly majorVersion: number;
  readonly port: number;
  /** Undefined when the path is too long for a socket. */
  readonly socketDir: string | undefined;
  readonly isSocketOnly: boolean;
  readonly overrides: Readonly<Record<string, string>>;
};

export function serverSettings({
  majorVersion,
  port,
  socketDir,
  isSocketOnly,
  overrides,
}: ServerSettingsOptions): Record<string, string> {
  return {
    listen_addresses: isSocketOnly ? '' : '127.0.0.1',
    port: String(port),
    unix_socket_directories: socketDir ?? '',
    unix_socket_permissions: '0700',
    max_connections: '60',

    // Containers often allow only 64 MB in /dev/shm; files in the data directory have no such limit.
    dynamic_shared_memory_type: 'mmap',
    shared_buffers: '128MB',
    huge_pages: 'off',
    work_mem: '4MB',
    maintenance_work_mem: '32MB',

    fsync: 'on',
    full_page_writes: 'on',
    synchronous_commit: 'on',
    // `replica` lets a backup or a standby be added without a restart; it costs little more than `minimal`.
    wal_level: 'replica',
    max_wal_senders: '2',
    max_wal_size: '1GB',
    min_wal_size: '80MB',
    checkpoint_timeout: '5min',

    // Every process kept costs memory while idle: no parallel query, no logical replication, no I/O workers.
    max_worker_processes: '2',
    max_parallel_workers: '0',
    max_parallel_workers_per_gather: '0',
    max_logical_replication_workers: '0',
    ...(majorVersion >= 18 ? { io_method: 'sync' } : {}),
    jit: 'off',

    // Queue tables turn over quickly: look often, clean in small bites.
    autovacuum_naptime: '15s',
    autovacuum_max_workers: '2',

    timezone: 'UTC',
    log_timezone: 'UTC',
    // Above ERROR: a failed statement is reported to the one who sent it.
    log_min_messages: 'log',
    log_min_error_statement: 'panic',
    log_checkpoints: 'off',
    log_line_prefix: '',
    logging_collector: 'off',
    log_destination: 'stderr',
    ...overrides,
  };
}
