/** The addresses that docs/database-tls.md shows, against a PostgreSQL with a certificate of its own. */
import { chownSync, copyFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { OwnPostgres } from '../../../../tests/support/own-postgres.ts';
import { makeCertificate } from '../gateway/listener/test-certificate.fixture.ts';
import { migrate } from './migrate.ts';

const QUIET = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const files = makeCertificate();
const other = makeCertificate();
let folder: string;
let postgres: OwnPostgres;
let address: URL;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'carillon-database-tls-'));
  postgres = await OwnPostgres.start(folder);
  const dataDir = join(folder, 'postgres');
  const { uid, gid } = statSync(dataDir);
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  const [{ data_directory: dir }] = (await client.query('SHOW data_directory')).rows;
  for (const [from, to] of [
    [files.certFile, 'server.crt'],
    [files.keyFile, 'server.key'],
  ] as const) {
    copyFileSync(from, join(dir, to));
    chownSync(join(dir, to), uid, gid);
  }
  await client.query('ALTER SYSTEM SET ssl = on');
  await client.query('SELECT pg_reload_conf()');
  await client.end();
  address = new URL(postgres.url);
  address.hostname = 'localhost';
});
afterAll(async () => {
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
  files.remove();
  other.remove();
});

const withParameters = (parameters: string) => `${address}?${parameters}`;

/** Whether the connection is encrypted, or why there is none. */
async function encrypted(parameters: string): Promise<boolean | string> {
  const client = new pg.Client({ connectionString: withParameters(parameters) });
  try {
    await client.connect();
    const { rows } = await client.query('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()');
    return rows[0].ssl;
  } catch (error) {
    return (error as Error).message;
  } finally {
    await client.end().catch(() => undefined);
  }
}

test('verify-full with the certificate of the authority is encrypted, also for migrations', async () => {
  const parameters = `sslmode=verify-full&sslrootcert=${files.certFile}`;
  expect(await encrypted(parameters)).toBe(true);
  await migrate(withParameters(parameters), { log: QUIET as never });
});

test('verify-full without it, or with that of another, is refused', async () => {
  expect(await encrypted('sslmode=verify-full')).toMatch(/self-signed|certificate/);
  expect(await encrypted(`sslmode=verify-full&sslrootcert=${other.certFile}`)).toMatch(
    /self-signed|certificate/,
  );
});

test('no-verify is encrypted and checks nothing, and nothing at all is not encrypted', async () => {
  expect(await encrypted('sslmode=no-verify')).toBe(true);
  expect(await encrypted('')).toBe(false);
});

test('the page shows what is tested here', () => {
  const page = readFileSync(new URL('../../../../docs/database-tls.md', import.meta.url), 'utf8');
  for (const word of ['sslmode=verify-full', 'sslrootcert=', 'sslmode=no-verify'])
    expect(page).toContain(word);
});
