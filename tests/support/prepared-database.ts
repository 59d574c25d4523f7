/**
 * The files of a migrated database, made once per run and copied for tests that need a PostgreSQL of their own: a copy takes a tenth of the
 * processor time of making and migrating one. How a database is made is proven beside the code (start-embedded-postgres, migrate), and by
 * servers that tests start in an empty folder.
 */
import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { inject } from 'vitest';
import { startEmbeddedPostgres } from '../../packages/server/src/postgres/embedded/start-embedded-postgres.ts';
import { migrate } from '../../packages/server/src/postgres/migrate.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Left out where a project of tests has no need for it. */
    preparedDatabase: string | undefined;
  }
}

const QUIET = { debug: () => {}, info: () => {}, warn: console.warn, error: console.error };

/** For the global setup. */
export async function prepareDatabase(dataDir: string): Promise<void> {
  const server = await startEmbeddedPostgres({ dataDir, settings: { fsync: 'off' }, log: QUIET });
  try {
    await migrate(server.url);
  } finally {
    await server.stop();
  }
}

/** Into a folder that is not there yet; where nothing was prepared, the first start makes a database as usual. */
export async function copyPreparedDatabase(dataDir: string): Promise<void> {
  const prepared = inject('preparedDatabase');
  if (prepared === undefined) return;
  await mkdir(dirname(dataDir), { recursive: true, mode: 0o700 });
  await copyFiles(prepared, dataDir);
}

/** With their owners: PostgreSQL wants its files to be its own. */
export async function copyFiles(from: string, to: string): Promise<void> {
  await promisify(execFile)('cp', ['-a', from, to]);
}
