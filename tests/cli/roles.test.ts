/** One installation of several processes: one answers requests, the others run the jobs, together or each its part. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { Carillon } from '../../packages/client/src/index.ts';
import { eventually } from '../support/eventually.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { fixedPort } from '../support/processes.ts';
import { endServers, launchServer, type ServerProcess } from '../support/start-server-process.ts';
import { makeTestFolder } from '../support/test-folder.ts';
import { runCarillon } from './run-carillon.ts';

const SOON = { withinMs: 120_000 };
let database: TestDatabase;

beforeAll(async () => {
  const server = inject('postgresServers').at(-1) ?? expect.fail('there is no PostgreSQL to test with');
  database = await createTestDatabase(server.url);
});

afterAll(async () => {
  await endServers();
  await database?.drop();
});

test.each([{ roles: ['engine'] }, { roles: ['scheduler', 'dispatcher'] }])(
  'a gateway takes what $roles run',
  async ({ roles }) => {
    const folder = makeTestFolder();
    const launch = async (role: string): Promise<ServerProcess> =>
      launchServer({
        name: role,
        folder,
        port: await fixedPort(),
        flags: ['--roles', role, '--database-url', database.url],
      }).ready();
    const gateway = await launch('gateway');
    const carillon = new Carillon({ url: gateway.address, key: await gateway.adminKey() });
    const alive = `${gateway.address}/health/live`;
    const once = await carillon.jobs.create({ name: 'apart', payload: { url: alive } });
    const often = await carillon.jobs.create({ name: 'often', interval: '1s', payload: { url: alive } });
    expect(await carillon.workers.list().toArray()).toEqual([]);
    expect(await carillon.jobs.status(once.job_id)).toMatchObject({ status: 'pending' });

    const engines = await Promise.all(roles.map(launch));
    const seen: string[] = [];
    for await (const { status } of carillon.watch(once.job_id)) seen.push(status);
    expect(seen.at(-1)).toBe('completed');
    await eventually(async () => {
      const runs = await carillon.jobs.runs(often.job_id).toArray();
      expect(runs.filter(({ status }) => status === 'SUCCESS').length).toBeGreaterThan(1);
    }, SOON);
    await carillon.jobs.cancel(often.job_id);
    for (const engine of engines) {
      expect((await fetch(`${engine.address}/api/jobs`)).status).toBe(404);
      expect(await engine.stop(60_000)).toMatchObject({ code: 0 });
    }
    expect(await gateway.stop(60_000)).toMatchObject({ code: 0 });
  },
);

test.each([
  [['serve'], 2, /needs --roles/],
  [['serve', '--roles', 'worker'], 2, /one of gateway, reads, writes, engine, scheduler, dispatcher/],
  [['serve', '--roles', 'gateway', '--port', '0'], 1, /--database-url/],
  [['migrate'], 2, /--database-url/],
  [['start', '--data', '/dev/null/x'], 1, /^carillon: the data folder \/dev\/null\/x cannot be used: .*\n$/],
  [['migrate', '--database-url', 'postgres://127.0.0.1:1/none'], 1, /cannot be migrated/],
])('%j is refused in words', async (args, exitCode, words) => {
  const folder = makeTestFolder();
  const { code, stderr } = await runCarillon(args, { cwd: folder, env: { HOME: join(folder, 'home') } });
  expect(code, stderr).toBe(exitCode);
  expect(stderr).toMatch(words);
});

test('a database that is up to date is left alone', async () => {
  const { code, stdout } = await runCarillon(['migrate', '--database-url', database.url], {
    cwd: makeTestFolder(),
  });
  expect(stdout).toContain('up to date');
  expect(code).toBe(0);
});
