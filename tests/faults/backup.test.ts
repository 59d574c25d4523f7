/** A backup reads every table in one long transaction: servers start and run jobs meanwhile (hazard 41). */
import pg from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { migrate } from '../../packages/server/src/postgres/migrate.ts';
import { submitJobs } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { OwnPostgres } from '../support/own-postgres.ts';
import { fixedPort } from '../support/processes.ts';
import { Receiver } from '../support/receiver.ts';
import { endServers, launchServer, type ServerProcess } from '../support/start-server-process.ts';
import { makeTestFolder } from '../support/test-folder.ts';

const SOON = { withinMs: 60_000 };

let folder: string;
let receiver: Receiver;
let postgres: OwnPostgres;
let backup: pg.Client;

beforeEach(async () => {
  folder = makeTestFolder();
  receiver = await new Receiver().start();
  postgres = await OwnPostgres.start(folder);
});

afterEach(async () => {
  await backup.end();
  await endServers();
  await postgres.stop();
  await receiver.stop();
});

async function startBackup(): Promise<void> {
  backup = new pg.Client({ connectionString: postgres.url });
  await backup.connect();
  await backup.query(
    'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM job_runs; SELECT count(*) FROM events',
  );
}

const launch = async (name: string): Promise<ServerProcess> =>
  launchServer({ name, folder, port: await fixedPort(), flags: ['--database-url', postgres.url] }).ready();

async function runOne(server: ServerProcess, tag: string): Promise<void> {
  const [jobId] = await submitJobs(server, [{ name: tag, payload: { url: receiver.url(1, tag) } }]);
  await eventually(async () => {
    const rows = await postgres.query('SELECT status FROM job_runs WHERE job_id = $1', [jobId]);
    expect(rows).toEqual([{ status: 'SUCCESS' }]);
  }, SOON);
}

it('of a database that no server has used yet', async () => {
  await migrate(postgres.url);
  await startBackup();
  await runOne(await launch('first'), 'meanwhile');
});

it('of a database whose servers were away until today had no partition, and two start at once', async () => {
  const before = await launch('before');
  await runOne(before, 'before');
  await before.stop(60_000);
  for (const { name } of await postgres.query<{ name: string }>(
    `SELECT inhrelid::regclass::text AS name FROM pg_inherits JOIN pg_class ON oid = inhrelid
      WHERE inhparent IN ('job_runs'::regclass, 'events'::regclass)`,
  ))
    await postgres.query(`DROP TABLE ${name}`);
  await startBackup();
  const servers = await Promise.all([launch('first'), launch('second')]);
  for (const server of servers) await runOne(server, `on-${server.name}`);
});
