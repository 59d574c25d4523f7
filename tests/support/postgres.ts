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
