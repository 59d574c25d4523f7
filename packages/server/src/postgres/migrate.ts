/**
 * Forward-only migrations: each file runs once, in order, in its own transaction, under an advisory lock, so that any
 * number of servers may start at once. A file that changed after it was applied is refused: history is not rewritten.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import pg from 'pg';

const DIRECTORY = new URL('./migrations/', import.meta.url);
const LOCK_KEY = 7_420_001;

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

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
export async function migrate(databaseUrl: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 10_000 });
  // A connection that breaks reports here too, and without a listener ends the process; the query's own error says enough.
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query('SELECT pg_advisory_lock($1)', [LOCK_KEY]);
    await client.query(`CREATE TABLE IF NOT EXISTS schema_migrations (
      version int PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`);
    const { rows } = await client.query<{ version: number; name: string; checksum: string }>(
      'SELECT version, name, checksum FROM schema_migrations',
    );
    return await applyMissing(client, new Map(rows.map((row) => [row.version, row])));
  } finally {
    await client.end();
  }
}

async function applyMissing(
  client: pg.Client,
  applied: ReadonlyMap<number, { name: string; checksum: string }>,
): Promise<string[]> {
  const migrations = await readMigrations();
  const newest = migrations.at(-1)?.version ?? 0;
  for (const version of applied.keys()) {
    if (version > newest) {
      throw new Error(
        `the database is at version ${version}, this program knows ${newest}: start a newer Carillon`,
      );
    }
  }
  const done: string[] = [];
  for (const migration of migrations) {
    const before = applied.get(migration.version);
    if (before && before.checksum !== migration.checksum) {
      throw new Error(
        `migration ${migration.name} was changed after it had been applied: restore the original file`,
      );
    }
    if (before) continue;
    await applyOne(client, migration);
    done.push(migration.name);
  }
  return done;
}

async function applyOne(client: pg.Client, migration: Migration): Promise<void> {
  await client.query('BEGIN');
  try {
    await client.query(migration.sql);
    await client.query('INSERT INTO schema_migrations (version, name, checksum) VALUES ($1, $2, $3)', [
      migration.version,
      migration.name,
      migration.checksum,
    ]);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw new Error(`migration ${migration.name} failed: ${(error as Error).message}`, { cause: error });
  }
}
