/** Writes packages/server/src/postgres/schema.sql anew: run it after adding a migration, and read the difference. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../packages/server/src/postgres/embedded/start-embedded-postgres.ts';
import { migrate } from '../packages/server/src/postgres/migrate.ts';
import { dumpSchema } from '../tests/support/dump-schema.ts';

const FILE = join(import.meta.dirname, '../packages/server/src/postgres/schema.sql');

const folder = await mkdtemp(join(tmpdir(), 'carillon-dump-schema-'));
const quiet = () => {};
const server = await startEmbeddedPostgres({
  dataDir: join(folder, 'data'),
  log: { debug: quiet, info: quiet, warn: console.warn, error: console.error },
});
try {
  await migrate(server.url);
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  await writeFile(FILE, await dumpSchema(client));
  await client.end();
} finally {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}
