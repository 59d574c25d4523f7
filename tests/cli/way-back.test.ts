/** What somebody meets who types a command as they would guess it: each answer names what to do. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { commandsIn } from './commands-in.ts';
import { type OneServer, startOneServer } from './one-server.ts';

/** Some of them wait for runs. */
const MANY_COMMANDS = { timeout: 600_000 };
const SOON = { withinMs: 60_000 };
const PASSWORD = 'correct horse battery staple';

let one: OneServer;
let alive = '';
const { run, ok, json } = commandsIn(() => one.folder);

beforeAll(async () => {
  one = await startOneServer();
  alive = `${one.server.address}/health/live`;
  for (const name of ['billing', 'sales']) await ok(['namespaces', 'create', name]);
  await ok(['users', 'create', 'ada', '--grant', 'editor@billing'], { input: `${PASSWORD}\n` });
});

afterAll(() => one?.stop());

async function signedIn(): Promise<{ HOME: string }> {
  const HOME = await mkdtemp(join(tmpdir(), 'carillon-way-back-'));
  onTestFinished(() => rm(HOME, { recursive: true, force: true }));
  const login = ['login', '--url', one.server.address, '--name', 'ada'];
  await ok(login, { env: { HOME }, input: `${PASSWORD}\n` });
  return { HOME };
}

test(
  'after a logout, a context that stays is named with its server and the way back',
  MANY_COMMANDS,
  async () => {
    const env = await signedIn();
    const { context } = await json<{ context: string }>(['context', 'show'], { env });
    await ok(['context', 'add', context, '--namespace', 'billing'], { env });
    const left = await run(['logout'], { env });
    expect(left.stderr).toContain(`go on using the context ${context} (${one.server.address})`);
    const refused = await run(['jobs', 'list'], { env });
    expect(refused.code).toBe(4);
    expect(refused.stderr).toContain(
      `not signed in at ${one.server.address}, which comes from the context ${context}`,
    );
    expect(refused.stderr).toContain(`carillon login --context ${context}`);
    expect(refused.stderr).toContain(`carillon context remove ${context}`);
    await ok(['context', 'remove', context, '--yes'], { env });
    await ok(['jobs', 'list'], { env });
    const added = await run(['context', 'add', 'first', '--url', one.server.address], { env });
    expect(added.stderr).toContain('it is the current context');
  },
);

test(
  '--namespace tells apart jobs with one key, wherever a job or its run is named',
  MANY_COMMANDS,
  async () => {
    const make = (...more: string[]) =>
      json<{ job_id: string }>([
        'jobs',
        'create',
        'Bills',
        '--job-key',
        'bills',
        '--http',
        alive,
        '--every',
        '1d',
        ...more,
      ]);
    const [here] = [await make('--namespace', 'billing'), await make('--namespace', 'sales')];
    const unclear = await run(['jobs', 'pause', 'bills']);
    expect(unclear).toMatchObject({ code: 2, stderr: expect.stringContaining('--namespace') });
    const there = ['--namespace', 'billing'];
    for (const command of ['show', 'pause', 'resume'])
      expect(await ok(['jobs', command, 'bills', ...there])).toContain(here.job_id);
    const { run_id: id } = await json<{ run_id: string }>(['jobs', 'run', 'bills', ...there]);
    await eventually(async () => expect(await ok(['runs', 'show', 'bills', ...there])).toContain(id), SOON);
    const near = await run(['jobs', 'show', 'bill', ...there]);
    expect(near).toMatchObject({ code: 3, stderr: expect.stringContaining('Did you mean "bills"?') });
  },
);

test(
  'a namespace that ada has no rights in reads the same whether it is there or not',
  MANY_COMMANDS,
  async () => {
    const env = await signedIn();
    const create = (namespace: string) =>
      run(['jobs', 'create', 'x', '--http', alive, '--every', '1d', '--namespace', namespace], { env });
    for (const name of ['bilng', 'sales']) {
      const { code, stderr } = await create(name);
      expect(code).toBe(4);
      expect(stderr).toContain(`There is no namespace ${name}, or ada has no rights in it`);
    }
  },
);

test('a dead letter is called by the key or name of its job', MANY_COMMANDS, async () => {
  const made = ['jobs', 'create', 'f404', '--http', 'http://127.0.0.1:1/', '--retries', '0'];
  await run([...made, '--wait']);
  await eventually(async () => expect(await json(['dlq', 'list'])).toHaveLength(1), SOON);
  const [letter] = await json<{ run_id: string }[]>(['dlq', 'list']);
  expect(await ok(['dlq', 'show', 'f404'])).toContain(letter?.run_id);
  expect(await ok(['dlq', 'redrive', 'f404'])).toContain(`Sent ${letter?.run_id} round again`);
});

test('a key that may not read keys rotates itself by its name', MANY_COMMANDS, async () => {
  const { key } = await json<{ key: string }>([
    'keys',
    'create',
    'robot',
    '--role',
    'editor',
    '--namespace',
    'billing',
  ]);
  const env = { CARILLON_KEY: key, CARILLON_URL: one.server.address };
  expect((await run(['keys', 'rotate', 'another'], { env })).code).toBe(4);
  const { key: next } = await json<{ key: string }>(['keys', 'rotate', 'robot'], { env });
  expect(next).not.toBe(key);
  const two = async () => json<{ key_id: string }>(['keys', 'create', 'twin']);
  const ids = [(await two()).key_id, (await two()).key_id];
  const { stderr } = await run(['keys', 'rename', 'twin', 'other']);
  for (const id of ids) expect(stderr).toContain(id);
});

test(
  'a set with jobs in a namespace that no file names says so when it is pruned',
  MANY_COMMANDS,
  async () => {
    const job = (key: string) => `  - {key: ${key}, interval: 1d, handler: nobody}\n`;
    await writeFile(
      join(one.folder, 'two.yaml'),
      `namespace: sales\nset: mine\njobs:\n${job('gone')}---\nnamespace: billing\njobs:\n${job('kept')}`,
    );
    await ok(['apply', '-f', 'two.yaml']);
    await writeFile(join(one.folder, 'one.yaml'), `namespace: billing\nset: mine\njobs:\n${job('kept')}`);
    const { stdout, stderr } = await run(['apply', '-f', 'one.yaml', '--prune', '--yes']);
    expect(stdout + stderr).toContain('Nothing changes');
    expect(stderr).toContain('also has 1 job in the namespace sales');
    await writeFile(join(one.folder, 'none.yaml'), 'namespace: sales\nset: mine\njobs: []\n');
    const pruned = await run(['apply', '-f', 'one.yaml', '-f', 'none.yaml', '--prune', '--yes']);
    expect(pruned.stdout).toMatch(/removed +gone/);
    expect(pruned.stderr).not.toContain('also has');
    expect((await run(['apply', 'one.yaml'])).stderr).toContain('carillon apply -f one.yaml');
  },
);

test('an import refuses before it makes anything what its plan shows as refused', MANY_COMMANDS, async () => {
  const input = `61 * * * * curl ${alive}\n`;
  const load = ['import', 'crontab', '-', '--tz', 'UTC'];
  for (const flag of ['--dry-run', '--yes']) {
    const { code, stdout, stderr } = await run([...load, flag], { input });
    expect(code).toBe(1);
    expect(stdout).toMatch(/ refused/);
    expect(stdout).not.toMatch(/ yes /);
    expect(stderr).toContain(`line 1 ${flag === '--yes' ? 'was' : 'would be'} refused: `);
    expect(stdout.includes('0 jobs made, 1 refused.')).toBe(flag === '--yes');
  }
});

test('a list of failed runs says that it leaves out what took too long', MANY_COMMANDS, async () => {
  expect((await run(['runs', 'list', '--status', 'failed'])).stderr).toContain('failed,timed_out');
  expect((await run(['runs', 'list', '--status', 'failed,timed_out'])).stderr).not.toContain('too long');
  expect((await run(['runs', 'list', '--since', 'yesterday'])).stderr).toContain('how long ago, such as 15m');
});
