/** Runs that nobody can run: the command says so where their jobs are made and where they are looked at. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { commandsIn } from './commands-in.ts';
import { type OneServer, startOneServer } from './one-server.ts';

let one: OneServer;
const { run, json } = commandsIn(() => one.folder);

beforeAll(async () => {
  one = await startOneServer('--script-enabled=false');
});

afterAll(() => one?.stop());

test('a script where the server runs none: how to start it with scripts', async () => {
  await writeFile(join(one.folder, 'clean.sh'), 'true\n');
  const made = await run(['jobs', 'create', 'clean', '--script', 'clean.sh', '--job-key', 'clean']);
  expect(made.stderr).toMatch(/no worker offers the handler "script".*--script-enabled/);
  const [{ run_id: id = '' } = {}] = await json<{ run_id: string }[]>(['runs', 'list', 'clean']);
  for (const looked of [
    ['runs', 'show', id],
    ['runs', 'list', 'clean'],
    ['jobs', 'show', 'clean'],
  ]) {
    const { stdout, stderr } = await run(looked);
    expect(stdout + stderr, looked.join(' ')).toContain('--script-enabled');
  }
  // A narrow terminal cuts the column.
  expect((await run(['runs', 'list', 'clean'])).stderr).toContain('--script-enabled');
});

test('a handler that is misspelled in a file: the one that is meant, and before anything is made', async () => {
  await writeFile(join(one.folder, 'jobs.yaml'), '- {key: call, handler: htp, interval: 1d}\n');
  for (const flags of [['--dry-run'], []]) {
    const { code, stderr } = await run(['apply', '-f', 'jobs.yaml', ...flags]);
    expect(code).toBe(0);
    expect(stderr).toMatch(/no worker offers the handler "htp" at the moment.*Did you mean "http"\?/);
  }
});
