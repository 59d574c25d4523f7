import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { dumpSchema } from '../../../../tests/support/dump-schema.ts';
import { databaseUrl, describeEachPostgres } from '../../../../tests/support/postgres.ts';
import { migrate, readMigrations } from './migrate.ts';

const SCHEMA = new URL('./schema.sql', import.meta.url);

it('the migrations are numbered without gaps from 1', async () => {
  const versions = (await readMigrations()).map((migration) => migration.version);
  expect(versions).toEqual(versions.map((_, i) => i + 1));
  expect(versions.length).toBeGreaterThan(0);
});

describeEachPostgres('migrating', (server) => {
  let admin: pg.Client;
  let client: pg.Client;
  let name: string;
  let url: string;

  /** A database with nothing in it. */
  beforeEach(async () => {
    name = `empty_${randomBytes(8).toString('hex')}`;
    url = databaseUrl(server.url, name);
    admin = new pg.Client({ connectionString: server.url });
    await admin.connect();
    await admin.query(`CREATE DATABASE ${name} TEMPLATE template0`);
    client = new pg.Client({ connectionString: url });
    await client.connect();
  });

  afterEach(async () => {
    await client.end();
    await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
    await admin.end();
  });

  async function applied(): Promise<string[]> {
    const { rows } = await client.query<{ name: string }>(
      'SELECT name FROM schema_migrations ORDER BY version',
    );
    return rows.map((row) => row.name);
  }

  it('applies every migration once and says which', async () => {
    const all = (await readMigrations()).map((migration) => migration.name);
    expect(await migrate(url)).toEqual(all);
    expect(await applied()).toEqual(all);
    expect(await migrate(url)).toEqual([]);
  });

  it('is done by exactly one of any number of servers that start at once', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => migrate(url)));
    const all = (await readMigrations()).map((migration) => migration.name);
    expect(answers.filter((names) => names.length > 0)).toEqual([all]);
    expect(await applied()).toEqual(all);
  });

  it('refuses a file that was changed after it had been applied, and touches nothing', async () => {
    await migrate(url);
    await client.query(`UPDATE schema_migrations SET checksum = 'other' WHERE version = 1`);
    await expect(migrate(url)).rejects.toThrow(/was changed after it had been applied: restore the original/);
    expect(await applied()).toHaveLength((await readMigrations()).length);
  });

  it('refuses a database that a newer program has migrated', async () => {
    await migrate(url);
    await client.query(`INSERT INTO schema_migrations (version, name, checksum) VALUES (9999, 'future', '')`);
    await expect(migrate(url)).rejects.toThrow(
      /at version 9999, this program knows \d+: start a newer Carillon/,
    );
  });

  it('rolls a migration that fails back as a whole, names it, and can be tried again', async () => {
    await client.query('CREATE TABLE shards (in_the_way int)');
    await expect(migrate(url)).rejects.toThrow(
      /migration 0001_\w+\.sql failed: relation "shards" already exists/,
    );
    const { rows } = await client.query(`SELECT to_regclass('jobs') AS jobs, to_regclass('due') AS due`);
    expect(rows).toEqual([{ jobs: null, due: null }]);
    expect(await applied()).toEqual([]);
    await client.query('DROP TABLE shards');
    expect(await migrate(url)).not.toEqual([]);
  });

  it('lets go of its lock: nobody waits for a server that has migrated or failed to', async () => {
    await migrate(url);
    await client.query(`UPDATE schema_migrations SET checksum = 'other'`);
    await migrate(url).catch(() => undefined);
    const { rows } = await client.query(`SELECT count(*)::int AS locks FROM pg_locks
      WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`);
    expect(rows).toEqual([{ locks: 0 }]);
  });

  it('makes exactly what schema.sql shows', async () => {
    await migrate(url);
    const shown = await readFile(SCHEMA, 'utf8').catch(() =>
      expect.fail('schema.sql is missing: run `node scripts/dump-schema.ts`'),
    );
    expect(await dumpSchema(client), 'run `node scripts/dump-schema.ts` and read the difference').toBe(shown);
  });

  it('is shown faithfully: whatever a migration adds changes the dump', async () => {
    await migrate(url);
    const seen = new Set([await dumpSchema(client)]);
    const changes = [
      'ALTER TABLE jobs ADD COLUMN colour text',
      `ALTER TABLE jobs ALTER COLUMN colour SET DEFAULT 'red'`,
      'ALTER TABLE jobs ALTER COLUMN colour SET NOT NULL',
      'ALTER TABLE jobs ALTER COLUMN colour SET STORAGE EXTERNAL',
      'ALTER TABLE jobs ADD CHECK (length(colour) < 9)',
      'CREATE INDEX jobs_colour ON jobs (colour) WHERE length(colour) > 3',
      'ALTER TABLE due SET (fillfactor = 77)',
      'CREATE VIEW reds AS SELECT job_id FROM jobs',
      `CREATE TYPE shade AS ENUM ('light', 'dark')`,
      `CREATE FUNCTION one() RETURNS int LANGUAGE sql AS 'SELECT 1'`,
      'CREATE SEQUENCE counter',
    ];
    for (const change of changes) {
      await client.query(change);
      const dump = await dumpSchema(client);
      expect(seen, change).not.toContain(dump);
      seen.add(dump);
    }
  });
});
