/** http jobs of a whole server cannot reach the server itself, its neighbours or its database, whatever its settings open to others. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { callApi } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { fixedPort } from '../support/processes.ts';
import { endServers, launchServer, type ServerProcess } from '../support/start-server-process.ts';
import { makeTestFolder } from '../support/test-folder.ts';

const WHILE = { withinMs: 60_000 };

interface EndedRun {
  readonly status: string;
  readonly error_message: string | null;
  readonly result: unknown;
}

/** The one run of a new job, when it has ended. */
async function runOf(server: ServerProcess, payload: object): Promise<EndedRun> {
  const body = { name: 'call', handler: 'http', payload, max_retries: 0 };
  const { body: job } = await callApi<{ job_id: string }>(server, '/api/jobs', { method: 'POST', body });
  return eventually(async () => {
    const runs = (await callApi<readonly EndedRun[]>(server, `/api/jobs/${job.job_id}/runs`)).body;
    expect(runs.map(({ status }) => status)).toEqual([expect.stringMatching(/SUCCESS|FAILED/)]);
    return runs[0]!;
  }, WHILE);
}

const ownAddresses = () =>
  Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .filter(({ family, scopeid }) => family === 'IPv4' || !scopeid)
    .map(({ address, family }) => (family === 'IPv6' ? `[${address}]` : address));

const REFUSED = {
  status: 'FAILED',
  error_message: expect.stringContaining('it is an address of Carillon itself or of its database'),
};

afterAll(endServers);

describe('a server that trusts a proxy on its machine and has open metrics', () => {
  let folder: string;
  let server: ServerProcess;
  let port: string;

  beforeAll(async () => {
    const flags = ['--trusted-proxies', '127.0.0.1', '--metrics-open', '--host', '0.0.0.0'];
    folder = await mkdtemp(join(tmpdir(), 'carillon-egress-test-'));
    server = await launchServer({ name: 'open', folder, port: await fixedPort(), flags }).ready();
    ({ port } = new URL(server.address));
  });

  afterAll(async () => {
    await server?.stop(60_000);
    await rm(folder, { recursive: true, force: true });
  });

  test('takes no job that claims to come from elsewhere', async () => {
    for (const header of ['X-Forwarded-For', 'Forwarded', 'Host']) {
      const payload = { url: 'http://127.0.0.1:1/', headers: { [header]: '203.0.113.9' } };
      const body = { name: 'forged', handler: 'http', payload };
      const answer = await callApi(server, '/api/jobs', { method: 'POST', body });
      expect(answer.status).toBe(400);
      expect(answer.body).toMatchObject({ field: `payload.headers.${header}` });
    }
  });

  test('lets no job sign in, and so no job lock anybody out or write into the audit log', async () => {
    const body = { name: 'ada', password: 'guessed by a job' };
    expect(await runOf(server, { url: `${server.address}/api/session`, body })).toMatchObject(REFUSED);
    const audit = await callApi<readonly { action: string }[]>(server, '/api/audit');
    expect(audit.body.map(({ action }) => action).filter((action) => action.startsWith('session'))).toEqual(
      [],
    );
  });

  test('lets no job read its metrics, by any address of the machine', async () => {
    expect((await fetch(`${server.address}/metrics`)).status).toBe(200);
    for (const host of [
      ...ownAddresses(),
      'localhost',
      '0x7f000001',
      '[::ffff:127.0.0.1]',
      '[64:ff9b::7f00:1]',
    ]) {
      expect([host, await runOf(server, { url: `http://${host}:${port}/metrics` })]).toMatchObject([
        host,
        REFUSED,
      ]);
    }
    const unspecified = await runOf(server, { url: `http://0.0.0.0:${port}/metrics` });
    expect(unspecified).toMatchObject({
      status: 'FAILED',
      error_message: expect.stringContaining('not allowed here'),
    });
  });

  test('has a database without a port that a job could connect to', async () => {
    const pidFile = await readFile(join(server.dataDir, 'postgres/cluster/postmaster.pid'), 'utf8');
    const [, , , , socketFolder, listenAddress] = pidFile.split('\n');
    expect({ socketFolder, listenAddress }).toEqual({
      socketFolder: join(server.dataDir, 'postgres/socket'),
      listenAddress: '',
    });
  });

  test('answers a job what it answers a stranger', async () => {
    expect(await runOf(server, { url: `${server.address}/health/live` })).toMatchObject({
      status: 'SUCCESS',
    });
  });
});

describe('several servers', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    const postgres = inject('postgresServers').at(-1) ?? expect.fail('there is no PostgreSQL to test with');
    database = await createTestDatabase(postgres.url);
  });

  afterAll(async () => {
    await endServers();
    await database?.drop();
  });

  test('let no job call one of the others or the database, unless the allow list says so', async () => {
    const folder = makeTestFolder();
    const launch = async (name: string, flags: readonly string[]) =>
      launchServer({
        ...{ name, folder, port: await fixedPort() },
        flags: ['--database-url', database.url, ...flags],
      }).ready();
    const gateway = await launch('gateway', ['--roles', 'gateway,scheduler']);
    const url = `${gateway.address}/api/session`;
    const closed = await launch('closed', ['--roles', 'dispatcher']);
    expect(await runOf(gateway, { url })).toMatchObject(REFUSED);
    const { host } = new URL(database.url);
    expect(await runOf(gateway, { url: `http://${host}/` })).toMatchObject(REFUSED);
    await closed.stop(60_000);
    await launch('opened', ['--roles', 'dispatcher', '--http-allow', new URL(gateway.address).host]);
    expect(await runOf(gateway, { url })).toMatchObject({
      status: 'FAILED',
      error_message: expect.stringContaining('the server answered 401'),
    });
  });

  test('let no job call one that only answers, on all addresses of its machine', async () => {
    // Another server could run the job that has not read of this one yet.
    await endServers();
    const folder = makeTestFolder();
    const shared = ['--database-url', database.url];
    const begin = async (name: string, flags: readonly string[]) =>
      launchServer({ name, folder, port: await fixedPort(), flags: [...shared, ...flags] }).ready();
    const gateway = await begin('answers', ['--roles', 'gateway', '--host', '0.0.0.0']);
    await begin('runs', ['--roles', 'engine']);
    const { port } = new URL(gateway.address);
    for (const host of ['127.0.0.1', ...ownAddresses()]) {
      const run = await runOf(gateway, { url: `http://${host}:${port}/api/session` });
      expect([host, run]).toMatchObject([host, REFUSED]);
    }
  });
});
