/**
 * Databases for tests: each test file gets its own, cloned from a migrated template on a real PostgreSQL server that the
 * global setup started. Suites are driven by the list of servers, so every supported version is tested the same way.
 */
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { describe, inject, it } from 'vitest';

export type PostgresVersion = 15 | 18;
export type PostgresServer = { readonly version: PostgresVersion; readonly url: string };
export type MissingPostgresServer = { readonly version: PostgresVersion; readonly reason: string };

declare module 'vitest' {
  interface ProvidedContext {
    postgresServers: PostgresServer[];
    missingPostgresServers: MissingPostgresServer[];
  }
}

export const TEMPLATE_DATABASE = 'carillon_template';

export type TestDatabase = { readonly url: string; drop(): Promise<void> };

/** A fresh migrated database on the server at `serverUrl`; `drop` ends its connections and removes it. */
export async function createTestDatabase(serverUrl: string): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await onServer(serverUrl, `CREATE DATABASE ${name} TEMPLATE ${TEMPLATE_DATABASE}`);
  return {
    url: databaseUrl(serverUrl, name),
    drop: () => onServer(serverUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

/** Whatever tests can have written, except what the migrations made. */
const EMPTY = `DO $$
  DECLARE
    written regclass;
  BEGIN
    FOR written IN SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
      AND NOT relispartition AND relname NOT IN ('schema_migrations', 'shards', 'namespaces')
    LOOP
      EXECUTE format('DELETE FROM %s', written);
    END LOOP;
    DELETE FROM namespaces WHERE name <> 'default';
    UPDATE shards SET node_id = NULL, epoch = 0;
  END $$`;

/** Between two tests. By DELETE: TRUNCATE makes hundreds of files anew, which takes 30 times as long as the deletion of a few rows. */
export async function emptyTestDatabase(client: pg.Client): Promise<void> {
  await client.query(EMPTY);
}

/** One `describe` per supported PostgreSQL; a version this machine lacks is a skipped test that says why. */
export function describeEachPostgres(name: string, suite: (server: PostgresServer) => void): void {
  for (const server of inject('postgresServers')) {
    describe(`${name} (PostgreSQL ${server.version})`, () => suite(server));
  }
  for (const { version, reason } of inject('missingPostgresServers')) {
    describe(`${name} (PostgreSQL ${version})`, () => {
      it.skip(`cannot run here: ${reason}`, () => {});
    });
  }
}

/**
 * For suites above the storage, whose outcome cannot depend on the version: what they ask of PostgreSQL, the conformance suite asks of each.
 * Where this machine lacks the oldest supported version, the next one does.
 */
export function describeOldestPostgres(name: string, suite: (server: PostgresServer) => void): void {
  const [oldest] = inject('postgresServers').toSorted((a, b) => a.version - b.version);
  if (oldest) describe(`${name} (PostgreSQL ${oldest.version})`, () => suite(oldest));
  else describe(name, () => it.skip('cannot run here: there is no PostgreSQL', () => {}));
}

export function databaseUrl(serverUrl: string, database: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${database}`;
  return url.href;
}

async function onServer(serverUrl: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl, connectionTimeoutMillis: 60_000 });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
