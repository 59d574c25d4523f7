/** Migrating a database that others use: servers of an older version, a backup, another server that migrates. */
import { randomBytes } from 'node:crypto';
import { type Log, silentLog } from '@carillon/foundation';
import pg from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { databaseUrl, describeEachPostgres } from '../../../../tests/support/postgres.ts';
import { StartFailure } from '../start-failure.ts';
import { migrate, readMigrations } from './migrate.ts';

const SOON = { withinMs: 60_000 };
/** The advisory lock of migrations, also of versions before this one. */
const LOCK_KEY = 7_420_001;

interface Line {
  readonly facts: Readonly<Record<string, unknown>>;
  readonly message: string;
}

describeEachPostgres('migrating a database that others use', (server) => {
  let admin: pg.Client;
  let name: string;
  let url: string;
  let open: pg.Client[];
  let lines: Line[];
  let log: Log;

  beforeEach(async () => {
    name = `used_${randomBytes(8).toString('hex')}`;
    url = databaseUrl(server.url, name);
    admin = new pg.Client({ connectionString: server.url });
    await admin.connect();
    await admin.query(`CREATE DATABASE ${name} TEMPLATE template0`);
    open = [];
    lines = [];
    const keep = (facts: object, message: string) =>
      void lines.push({ facts: facts as Line['facts'], message });
    log = { ...silentLog, info: keep, warn: keep };
  });

  afterEach(async () => {
    await Promise.all(open.map((client) => client.end()));
    await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
    await admin.query('DROP ROLE IF EXISTS used_by_another');
    await admin.end();
  });

  async function connect(applicationName: string, to = url): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: to, application_name: applicationName });
    await client.connect();
    open.push(client);
    return client;
  }

  async function disconnect(client: pg.Client): Promise<void> {
    open = open.filter((other) => other !== client);
    await client.end();
  }

  /** As a version that knew fewer migrations has left it; answers those that are missing. */
  async function migrateUpTo(version: number): Promise<string[]> {
    const client = await connect('preparation');
    await client.query(`CREATE TABLE schema_migrations (
      version int PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`);
    const all = await readMigrations();
    for (const migration of all.slice(0, version)) {
      await client.query(migration.sql);
      await client.query('INSERT INTO schema_migrations (version, name, checksum) VALUES ($1, $2, $3)', [
        ...[migration.version, migration.name, migration.checksum],
      ]);
    }
    await disconnect(client);
    return all.slice(version).map((migration) => migration.name);
  }

  async function appliedCount(): Promise<number> {
    const client = await connect('looking');
    const { rows } = await client.query('SELECT count(*)::int AS count FROM schema_migrations');
    await disconnect(client);
    return rows[0].count;
  }

  const said = (pattern: RegExp) => lines.filter(({ message }) => pattern.test(message));
  const untilSaid = (pattern: RegExp) => eventually(() => expect(said(pattern)).toHaveLength(1), SOON);

  it('waits until every server of the older version is stopped, and says once who is in the way', async () => {
    const missing = await migrateUpTo(9);
    const servers = [await connect('carillon'), await connect('carillon'), await connect('carillon signals')];
    const migrated = migrate(url, { log });
    await untilSaid(/stop every server of the older version/);
    expect(said(/stop every server/)[0]?.facts).toMatchObject({
      connections: 3,
      addresses: ['127.0.0.1'],
      pending: missing.length,
    });
    await disconnect(servers[0]!);
    await disconnect(servers[1]!);
    expect(await appliedCount()).toBe(9);
    await disconnect(servers[2]!);
    expect(await migrated).toEqual(missing);
    expect(said(/stop every server/)).toHaveLength(1);
  });

  it('gives up in words when they are not stopped, and has changed nothing', async () => {
    await migrateUpTo(9);
    await connect('carillon');
    const failure = await migrate(url, { log, serversMsMax: 300 }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StartFailure);
    expect((failure as Error).message).toMatch(
      /^the database at \S+ has to be migrated .*1 connection from 127\.0\.0\.1.*Stop every server of the older version/,
    );
    expect(await appliedCount()).toBe(9);
  });

  it('several servers of the new version that start together wait for the old one and not for each other', async () => {
    const missing = await migrateUpTo(9);
    const old = await connect('carillon');
    const migrated = Promise.all(Array.from({ length: 4 }, () => migrate(url, { log })));
    await eventually(() => expect(said(/stop every server/)).toHaveLength(4), SOON);
    await disconnect(old);
    expect((await migrated).filter((names) => names.length > 0)).toEqual([missing]);
  });

  it('each of several new servers gives up by itself when the old one stays, and takes none of the others for it', async () => {
    await migrateUpTo(9);
    await connect('carillon');
    const attempts = Array.from({ length: 4 }, () => migrate(url, { log, serversMsMax: 3_000 }));
    for (const attempt of await Promise.allSettled(attempts))
      expect(String((attempt as PromiseRejectedResult).reason)).toMatch(/Stop every server/);
    expect(lines).toHaveLength(4);
    expect(said(/stop every server/)).toHaveLength(4);
  });

  it('sees servers that run as another role too', async () => {
    await migrateUpTo(9);
    await connect('carillon');
    await admin.query(`CREATE ROLE used_by_another LOGIN PASSWORD 'other'`);
    const other = new URL(url);
    other.username = 'used_by_another';
    other.password = 'other';
    await (await connect('granting')).query('GRANT SELECT ON schema_migrations TO used_by_another');
    await expect(migrate(other.href, { log, serversMsMax: 300 })).rejects.toThrow(/Stop every server/);
  });

  it('a database that is ready, or has never been used, is not waited for', async () => {
    await connect('carillon');
    expect(await migrate(url, { log })).not.toEqual([]);
    expect(await migrate(url, { log })).toEqual([]);
    const holder = await connect('migrating');
    await holder.query('SELECT pg_advisory_lock($1)', [LOCK_KEY]);
    expect(await migrate(url, { log })).toEqual([]);
    expect(lines).toEqual([]);
  });

  it('servers in other databases are not in the way', async () => {
    const missing = await migrateUpTo(9);
    await connect('carillon', server.url);
    expect(await migrate(url, { log })).toEqual(missing);
  });

  it('behind an open transaction it waits in short turns, names who holds the lock, and goes on when they are done', async () => {
    const missing = await migrateUpTo(9);
    const backup = await connect('pg_dump');
    await backup.query('BEGIN; LOCK TABLE nodes, job_runs IN ACCESS SHARE MODE');
    const { rows } = await backup.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const migrated = migrate(url, { log, lockTimeoutMs: 600 });
    await untilSaid(/waits for a lock/);
    expect(said(/waits for a lock/)[0]?.facts).toMatchObject({
      migration: missing[0],
      holders: [{ pid: rows[0]!.pid, application: 'pg_dump' }],
    });
    // Whoever comes after it gets through between two turns.
    const reader = await connect('reader');
    await reader.query('SELECT count(*) FROM nodes');
    await backup.query('COMMIT');
    expect(await migrated).toEqual(missing);
    expect(said(/waits for a lock/)).toHaveLength(1);
  });

  it('a lock that is never let go ends the start in words that name who holds it', async () => {
    const missing = await migrateUpTo(9);
    const backup = await connect('pg_dump');
    await backup.query('BEGIN; LOCK TABLE nodes IN ACCESS SHARE MODE');
    const failure = await migrate(url, { log, lockTimeoutMs: 300, locksMsMax: 200 }).catch((e: unknown) => e);
    expect(failure).toBeInstanceOf(StartFailure);
    expect((failure as Error).message).toMatch(
      new RegExp(`^migration ${missing[0]} .*process \\d+ of the database \\(pg_dump\\)`),
    );
    expect(await appliedCount()).toBe(9);
  });

  it('another server that migrates is waited for, and told of once', async () => {
    const missing = await migrateUpTo(9);
    const other = await connect('carillon migrations');
    await other.query('SELECT pg_advisory_lock($1)', [LOCK_KEY]);
    const migrated = migrate(url, { log });
    await untilSaid(/another server is migrating/);
    expect(said(/another server is migrating/)[0]?.facts).toMatchObject({
      holders: [{ application: 'carillon migrations' }],
    });
    await disconnect(other);
    expect(await migrated).toEqual(missing);
    expect(said(/another server is migrating/)).toHaveLength(1);
  });

  it('whoever is told to stop does not wait on', async () => {
    await migrateUpTo(9);
    await connect('carillon');
    const stop = new AbortController();
    const migrated = migrate(url, { log, signal: stop.signal });
    const outcome = expect(migrated).rejects.toThrow('told to stop');
    await untilSaid(/stop every server/);
    stop.abort(new Error('told to stop'));
    await outcome;
  });
});
