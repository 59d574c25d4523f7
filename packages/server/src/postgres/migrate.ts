/**
 * Forward-only migrations: each file runs once, in order, in its own transaction, under an advisory lock, so that any
 * number of servers may start at once. A file that changed after it was applied is refused: history is not rewritten.
 * A database that is in use is not changed under the feet of its servers, and nobody has to queue for long behind a migration
 * that waits: whatever is in the way is named in the log once and waited for, for a bounded time.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { type Log, silentLog, sleep, systemClock } from '@carillon/foundation';
import pg from 'pg';
import { placeOf, StartFailure } from '../start-failure.ts';
import { LockWatch } from './lock-watch.ts';
import {
  ADD_TO_HISTORY,
  ADVISORY_LOCK_HOLDERS,
  CONNECTED_SERVERS,
  CREATE_HISTORY,
  HAS_HISTORY,
  READ_HISTORY,
  TRY_LOCK,
  UNLOCK,
} from './migrate.sql.ts';
import {
  type ConnectedServers,
  type LockHolder,
  lockInTheWay,
  migratorInTheWay,
  type Obstacle,
  serversInTheWay,
} from './migration-obstacle.ts';

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

export interface MigrateOptions {
  readonly log?: Log;
  readonly signal?: AbortSignal;
  /** Longest to wait for other servers to be stopped. */
  readonly serversMsMax?: number;
  /** Longest to wait for locks, and for another server that migrates. */
  readonly locksMsMax?: number;
  /** Longest that others queue behind a migration that waits. */
  readonly lockTimeoutMs?: number;
}

const DIRECTORY = new URL('./migrations/', import.meta.url);
const LOCK_KEY = 7_420_001;
/** Another name than that of servers: several that start together are not in each other's way. */
const APPLICATION_NAME = 'carillon migrations';
/** A server that is stopping lets its runs go on for half of it. */
const SERVERS_MS_MAX = 60_000;
/** As long as a backup may take that nobody wants to be woken for. */
const LOCKS_MS_MAX = 3_600_000;
/** Longer than PostgreSQL takes (1 s) to end an automatic vacuum that is in the way. */
const LOCK_TIMEOUT_MS = 3_000;
/** Those who queued behind a migration get through before the next try. */
const PAUSE_MS: Record<Obstacle['kind'], number> = { servers: 500, migrator: 200, lock: 2_000 };
/** Lock not available, deadlock: nothing was done, and another try may get through. */
const LOCK_REFUSED = /^(55P03|40P01)$/;

export async function readMigrations(): Promise<Migration[]> {
  const names = (await readdir(DIRECTORY)).filter((name) => /^\d{4}_[a-z_]+\.sql$/.test(name)).sort();
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(new URL(name, DIRECTORY), 'utf8');
      return {
        version: Number(name.slice(0, 4)),
        name,
        sql,
        checksum: createHash('sha256').update(sql).digest('hex'),
      };
    }),
  );
}

/** Brings the database to the newest version; answers the names of what was applied. */
export async function migrate(databaseUrl: string, options: MigrateOptions = {}): Promise<string[]> {
  const { log = silentLog, signal, serversMsMax = SERVERS_MS_MAX, locksMsMax = LOCKS_MS_MAX } = options;
  const migrator = new Migrator(databaseUrl, {
    migrations: await readMigrations(),
    lockTimeoutMs: options.lockTimeoutMs ?? LOCK_TIMEOUT_MS,
  });
  /** When each was met first: several may be in the way in turn. */
  const metAtMs = new Map<Obstacle['kind'], number>();
  try {
    await migrator.connect();
    for (;;) {
      const obstacle = await migrator.runOnce();
      if (obstacle === undefined) return migrator.done;
      const { kind, facts, message, failure } = obstacle;
      const nowMs = systemClock.monotonic();
      if (!metAtMs.has(kind)) log.warn(facts, message);
      const sinceMs = metAtMs.get(kind) ?? nowMs;
      metAtMs.set(kind, sinceMs);
      if (nowMs - sinceMs > (kind === 'servers' ? serversMsMax : locksMsMax)) throw new StartFailure(failure);
      await sleep(systemClock, PAUSE_MS[kind], signal);
      signal?.throwIfAborted();
    }
  } finally {
    await migrator.close();
  }
}

interface History {
  /** Some migrations were applied before. */
  readonly isUsed: boolean;
  readonly pending: readonly Migration[];
}

class Migrator {
  readonly done: string[] = [];
  readonly #where: string;
  readonly #migrations: readonly Migration[];
  readonly #client: pg.Client;
  readonly #locks: LockWatch;
  #holdsLock = false;

  constructor(databaseUrl: string, options: { migrations: readonly Migration[]; lockTimeoutMs: number }) {
    const { migrations, lockTimeoutMs } = options;
    this.#where = placeOf(databaseUrl);
    this.#migrations = migrations;
    this.#client = new pg.Client({
      connectionString: databaseUrl,
      connectionTimeoutMillis: 10_000,
      lock_timeout: lockTimeoutMs,
      application_name: APPLICATION_NAME,
    });
    // A connection that breaks reports here too, and without a listener ends the process; the query's own error says enough.
    this.#client.on('error', () => undefined);
    this.#locks = new LockWatch({
      url: databaseUrl,
      applicationName: APPLICATION_NAME,
      everyMs: lockTimeoutMs / 4,
    });
  }

  async connect(): Promise<void> {
    await this.#client.connect();
  }

  async close(): Promise<void> {
    await this.#locks.close();
    await this.#client.end();
  }

  /** Applies what is missing, or answers what is in the way. Where nothing is missing no lock is taken. */
  async runOnce(): Promise<Obstacle | undefined> {
    const before = await this.#read();
    if (before.pending.length === 0) return undefined;
    const servers = await this.#servers(before);
    if (servers) return servers;
    if (!(await this.#takeLock())) {
      const { rows } = await this.#client.query<LockHolder>(ADVISORY_LOCK_HOLDERS, [LOCK_KEY]);
      return migratorInTheWay(rows, this.#where);
    }
    // Somebody else may have migrated meanwhile, or a server have connected.
    const state = await this.#read();
    const late = await this.#servers(state);
    if (late) return late;
    await this.#client.query(CREATE_HISTORY);
    for (const migration of state.pending) {
      const isApplied = await this.#apply(migration);
      if (!isApplied) return lockInTheWay(migration.name, this.#locks.holders);
      this.done.push(migration.name);
    }
    return undefined;
  }

  /**
   * Nobody is in the way where nothing was applied before or nothing is missing. While servers are waited for no lock is kept: others
   * that start see them by themselves, and wait no longer than this one.
   */
  async #servers({ isUsed, pending }: History): Promise<Obstacle | undefined> {
    if (!isUsed || pending.length === 0) return undefined;
    const { rows } = await this.#client.query<ConnectedServers>(CONNECTED_SERVERS);
    if (rows.length === 0) return undefined;
    await this.#letGoOfLock();
    return serversInTheWay(rows, { where: this.#where, pending: pending.length });
  }

  async #read(): Promise<History> {
    const { rows: exists } = await this.#client.query<{ hasHistory: boolean }>(HAS_HISTORY);
    if (exists[0]?.hasHistory !== true) return { isUsed: false, pending: this.#migrations };
    const { rows } = await this.#client.query<Pick<Migration, 'version' | 'name' | 'checksum'>>(READ_HISTORY);
    const newest = this.#migrations.at(-1)?.version ?? 0;
    const applied = new Map(rows.map((row) => [row.version, row]));
    for (const version of applied.keys()) {
      if (version > newest) {
        throw new StartFailure(
          `the database at ${this.#where} is at version ${version}, this program knows ${newest}: start a newer Carillon.`,
        );
      }
    }
    const pending = this.#migrations.filter(({ version, name, checksum }) => {
      const before = applied.get(version);
      if (before && before.checksum !== checksum) {
        throw new StartFailure(
          `migration ${name} was changed after it had been applied: restore the original file.`,
        );
      }
      return before === undefined;
    });
    return { isUsed: applied.size > 0, pending };
  }

  /** Kept from one try to the next: it belongs to the connection. */
  async #takeLock(): Promise<boolean> {
    if (this.#holdsLock) return true;
    const { rows } = await this.#client.query<{ isOurs: boolean }>(TRY_LOCK, [LOCK_KEY]);
    this.#holdsLock = rows[0]?.isOurs === true;
    return this.#holdsLock;
  }

  async #letGoOfLock(): Promise<void> {
    if (!this.#holdsLock) return;
    await this.#client.query(UNLOCK, [LOCK_KEY]);
    this.#holdsLock = false;
  }

  /** Whether it got its locks; if not, nothing was changed. */
  async #apply(migration: Migration): Promise<boolean> {
    const { version, name, sql, checksum } = migration;
    const { rows } = await this.#client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await this.#client.query('BEGIN');
    try {
      await this.#locks.during(rows[0]!.pid, this.#client.query(sql));
      await this.#client.query(ADD_TO_HISTORY, [version, name, checksum]);
      await this.#client.query('COMMIT');
      return true;
    } catch (error) {
      await this.#client.query('ROLLBACK').catch(() => undefined);
      if (LOCK_REFUSED.test(String((error as { code?: unknown }).code))) return false;
      throw new Error(`migration ${name} failed: ${(error as Error).message}`, { cause: error });
    }
  }
}
