/** A server of a new version meets servers of an older one, a backup and a full database: it changes nothing under their feet. */
import pg from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { migrate, readMigrations } from '../../packages/server/src/postgres/migrate.ts';
import { eventually } from '../support/eventually.ts';
import type { OwnPostgres } from '../support/own-postgres.ts';
import { ServerStage } from '../support/server-stage.ts';
import type { ServerProcess } from '../support/start-server-process.ts';

const SOON = { withinMs: 60_000 };

let stage: ServerStage;
let postgres: OwnPostgres;
let others: pg.Client[];

beforeEach(async () => {
  stage = await ServerStage.open();
  ({ postgres } = stage);
  others = [];
});

afterEach(async () => {
  await leave();
  await stage.close();
});

async function connect(applicationName: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: postgres.url, application_name: applicationName });
  client.on('error', () => undefined);
  await client.connect();
  others.push(client);
  return client;
}

async function leave(): Promise<void> {
  await Promise.all(others.splice(0).map((client) => client.end()));
}

/** As a version that did not know the last migrations has left it: the first of them needs a lock that a backup holds up. */
async function undoLast(): Promise<void> {
  await migrate(postgres.url);
  expect((await readMigrations()).at(-1)?.name).toBe('0050_describe_bound_handlers.sql');
  await postgres.query('DROP TABLE removed_namespaces');
  await postgres.query('DROP TABLE namespace_offers');
  await postgres.query('ALTER TABLE workers DROP COLUMN namespaces');
  await postgres.query('ALTER TABLE run_requests DROP COLUMN origin_run_id, DROP COLUMN requested_by');
  await postgres.query('DROP TABLE lost_workers');
  await postgres.query('ALTER TABLE jobs DROP COLUMN skips');
  await postgres.query('DROP TABLE user_views, user_preferences');
  await postgres.query('DROP TABLE fingerprint_key');
  await postgres.query('DROP TABLE admin_keys');
  await postgres.query('ALTER TABLE sessions DROP COLUMN admin_key');
  await postgres.query('ALTER TABLE leases DROP COLUMN times_out_at, DROP COLUMN timeouts');
  await postgres.query('DROP INDEX jobs_name');
  await postgres.query('ALTER TABLE users DROP COLUMN issuer, DROP COLUMN subject');
  await postgres.query('DROP TABLE sign_in_tickets');
  await postgres.query('ALTER TABLE sessions DROP COLUMN method, ALTER COLUMN user_id SET NOT NULL');
  await postgres.query('DROP TABLE run_minutes, run_hours, failure_hours, count_cursors');
  await postgres.query('ALTER TABLE events DROP COLUMN counted');
  await postgres.query('DROP TABLE handler_offers');
  await postgres.query('DROP TABLE bound_handlers, handlers');
  await postgres.query('DROP TABLE secrets, run_logs');
  await postgres.query('DROP TABLE checkpoints');
  await postgres.query('ALTER TABLE leases DROP COLUMN checkpointed');
  await postgres.query('ALTER TABLE job_runs DROP COLUMN peak_memory_bytes, DROP COLUMN cpu_seconds');
  await postgres.query('ALTER TABLE job_runs DROP COLUMN progress, DROP COLUMN progress_message');
  await postgres.query('ALTER TABLE api_keys DROP COLUMN worker_handlers');
  for (const column of ['name', 'language', 'version', 'labels', 'draining', 'stuck'])
    await postgres.query(`ALTER TABLE workers DROP COLUMN ${column}`);
  await postgres.query('ALTER TABLE workers DROP COLUMN session');
  await postgres.query('DROP TABLE listeners');
  await postgres.query('ALTER TABLE namespaces DROP COLUMN events_after');
  await postgres.query('DELETE FROM schema_migrations WHERE version >= 24');
}

const untilSays = (server: ServerProcess, pattern: RegExp) =>
  eventually(async () => expect(await server.output()).toMatch(pattern), SOON);

const migrated = async () =>
  (await postgres.query<{ count: number }>('SELECT count(*)::int FROM schema_migrations'))[0]?.count ===
  (await readMigrations()).length;

it('it waits for servers of the older version, then ends with a sentence; with them stopped it starts', async () => {
  await undoLast();
  await connect('carillon');
  const early = await stage.begin('early');
  expect(await early.exitWithin(120_000)).toEqual({ code: 1, signal: null });
  const output = await early.output();
  expect(output.match(/stop every server of the older version; waiting/g)).toHaveLength(1);
  expect(output).toMatch(
    /carillon: the database at \S+ has to be migrated .* Stop every server of the older/,
  );
  expect(output).not.toContain('    at ');
  expect(await migrated()).toBe(false);

  const servers = [await stage.begin('first'), await stage.begin('second')];
  for (const server of servers) await untilSays(server, /stop every server/);
  await leave();
  for (const server of servers) await server.ready();
  expect(await migrated()).toBe(true);
});

it('it waits for a backup with a line that names it, and ends at once when it is told to stop', async () => {
  await undoLast();
  const backup = await connect('pg_dump');
  await backup.query('BEGIN; LOCK TABLE namespaces IN ACCESS SHARE MODE');
  const impatient = await stage.begin('impatient');
  await untilSays(impatient, /"application":"pg_dump".*waits for a lock/);
  expect(await impatient.stop(60_000)).toEqual({ code: 0, signal: null });
  expect(await impatient.output()).toMatch(/Stopped\./);

  const patient = await stage.begin('patient');
  await untilSays(patient, /waits for a lock/);
  await leave();
  await patient.ready();
  expect(await migrated()).toBe(true);
});

it('a database without a free connection is waited for, and then explained', async () => {
  await migrate(postgres.url);
  const fill = async () => {
    for (;;) await connect('others');
  };
  await expect(fill()).rejects.toMatchObject({ code: '53300' });
  const early = await stage.begin('early');
  expect(await early.exitWithin(120_000)).toEqual({ code: 1, signal: null });
  expect(await early.output()).toMatch(
    /carillon: the database at \S+ has no connection left: .*connections_max \+ 8, here 18: raise max_connections/,
  );
  const patient = await stage.begin('patient');
  await untilSays(patient, /has no connection left for this server/);
  await leave();
  await patient.ready();
});
