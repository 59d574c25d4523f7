/** Handlers of third-party packages, by configuration, on real servers: loaded, shown, checked at submit on every server, and run. */
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, inject, test } from 'vitest';
import { callApi, runsOf } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { fixedPort } from '../support/processes.ts';
import { endServers, launchServer, type ServerProcess } from '../support/start-server-process.ts';
import { makeTestFolder } from '../support/test-folder.ts';
import { runCarillon } from './run-carillon.ts';

const EXAMPLE = join(import.meta.dirname, '../../examples/handler-plugin');
const SOON = { withinMs: 60_000 };

afterEach(endServers);

async function launch(folder: string, name: string, flags: readonly string[]): Promise<ServerProcess> {
  return launchServer({ name, folder, port: await fixedPort(), flags }).ready();
}

const create = (server: ServerProcess, payload: object) =>
  callApi<{ job_id: string; code: string; field: string; detail: string }>(server, '/api/jobs', {
    method: 'POST',
    body: { name: 'count', handler: 'count-words', payload },
  });

test('a package is loaded by configuration, with options; a broken one is named and left out; the gateway alone checks too', async () => {
  const folder = makeTestFolder();
  const database = await createTestDatabase(inject('postgresServers')[0]!.url);
  await mkdir(join(folder, 'node_modules'));
  await cp(EXAMPLE, join(folder, 'node_modules/carillon-count-words'), { recursive: true });
  await writeFile(join(folder, 'broken.mjs'), `throw new Error('this plugin is broken');`);
  const handlers = [
    './broken.mjs',
    { module: 'carillon-count-words', options: { locale: 'en' } },
    join(EXAMPLE, 'index.js'),
  ];
  const config = join(folder, 'server.json');
  await writeFile(config, JSON.stringify({ handlers }));
  const shared = ['--database-url', database.url];
  const engine = await launch(folder, 'engine', [...shared, '--roles', 'engine', '--config', config]);
  const gateway = await launch(folder, 'gateway', [...shared, '--roles', 'gateway']);

  const output = await engine.output();
  expect(output).toMatch(/"module":"\.\/broken\.mjs".*this plugin is broken.*left out/);
  expect(output).toMatch(/"handler":"count-words".*there is a handler .*count-words.* already/);

  const refused = await create(gateway, { text: 'one two', at_least: 'many' });
  expect(refused).toMatchObject({
    status: 400,
    body: {
      ...{ code: 'field_invalid', field: 'payload.at_least' },
      detail: 'payload.at_least must be of type integer.',
    },
  });
  const { body: job } = await create(gateway, { text: 'one two three' });
  await eventually(async () => {
    const { body } = await callApi(gateway, `/api/jobs/${job.job_id}/runs?include=result`);
    expect(body).toMatchObject([{ status: 'SUCCESS', result: { words: 3 } }]);
  }, SOON);
  const { body: hopeless } = await create(gateway, { text: 'one', at_least: 2 });
  await eventually(async () => {
    expect(await runsOf(gateway, hopeless.job_id)).toMatchObject([
      { status: 'FAILED', error_message: 'only 1 of 2 words', attempt_number: 1 },
    ]);
  }, SOON);

  const listed = await callApi(gateway, '/api/handlers');
  expect(listed.body).toMatchObject([
    { name: 'count-words', origin: 'plugin', workers: 1, parameters: { required: ['text'] } },
    { name: 'http', origin: 'built_in', workers: 1, parameters: { required: ['url'] } },
    { name: 'script', origin: 'built_in', workers: 1 },
  ]);
  const env = { CARILLON_URL: gateway.address, CARILLON_KEY: await gateway.adminKey() };
  const shown = await runCarillon(['handlers', 'list'], { cwd: folder, env });
  expect(shown).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/count-words +1 +plugin +Counts the words/),
  });
  const one = await runCarillon(['handlers', 'get', 'count-words'], { cwd: folder, env });
  expect(one).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/name +count-words[\s\S]*"at_least": \{/),
  });
  const none = await runCarillon(['handlers', 'get', 'nothing'], { cwd: folder, env });
  expect(none).toMatchObject({ code: 3, stderr: expect.stringContaining('carillon handlers list') });
  await endServers();
  await database.drop();
});

test('a configuration file that just lies there does not get its code run (hazard 49)', async () => {
  const folder = makeTestFolder();
  await writeFile(join(folder, 'carillon.config.json'), JSON.stringify({ handlers: ['./code.mjs'] }));
  const server = launchServer({ name: 'server', folder, port: await fixedPort() });
  expect(await server.exitWithin(60_000)).toEqual({ code: 2, signal: null });
  expect(await server.output()).toContain('only found in the current folder');
});
