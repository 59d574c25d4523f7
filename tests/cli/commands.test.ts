/** The command against a real server: what people type, what they see, what scripts get. */
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { makeCertificate } from '../../packages/server/src/gateway/listener/test-certificate.fixture.ts';
import { eventually } from '../support/eventually.ts';
import { commandsIn } from './commands-in.ts';
import { type OneServer, startOneServer } from './one-server.ts';
import { launchCarillon } from './run-carillon.ts';

const BIN = join(import.meta.dirname, '../../packages/cli/bin/carillon.mjs');
const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/;
const NOBODY = '01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f';
const SOON = { withinMs: 60_000 };

let one: OneServer;
let alive = '';

beforeAll(async () => {
  one = await startOneServer();
  alive = `${one.server.address}/health/live`;
});

afterAll(() => one?.stop());

const { run, ok, json, createJob } = commandsIn(() => one.folder);
/** For one test of each kind of command, and for exit codes: as shells start it, to its end. */
const processes = commandsIn(() => one.folder, { inProcesses: true });

describe('jobs', () => {
  test('a job is made, waited for, listed, shown and removed', async () => {
    const { run, ok, json } = processes;
    const watched = await ok(['jobs', 'create', 'hello', '--http', alive, '--wait']);
    expect(watched).toMatch(/completed .* SUCCESS/);
    expect(watched).toMatch(/^Created hello: [0-9a-f-]{36}\n/);
    const [job] = await json<{ job_id: string; name: string }[]>(['jobs', 'list', '--text', 'hello']);
    expect(job?.name).toBe('hello');
    const id = job?.job_id ?? '';
    expect(await ok(['jobs', 'list'])).toContain(id);
    expect(await ok(['jobs', 'show', id])).toMatch(/status\s+completed/);
    expect(await ok(['jobs', 'delete', id, '--yes'])).toContain(`Removed ${id}`);
    expect((await run(['jobs', 'show', id])).code).toBe(3);
  });

  test('why a job does not run, and how a run ended, is said in sentences', async () => {
    const { ok, json } = processes;
    const { job_id: id } = await json<{ job_id: string }>([
      ...['jobs', 'create', 'asked', '--cron', '0 9 1 1 *', '--http', alive],
    ]);
    expect(await ok(['jobs', 'why', id])).toMatch(/why\s+It is not due yet: it starts at/);
    await ok(['jobs', 'pause', id]);
    expect(await ok(['jobs', 'why', id])).toContain(`Resume it: carillon jobs resume ${id}`);
    await ok(['jobs', 'run', id, '--wait']);
    const [run] = await json<{ run_id: string }[]>(['runs', 'list', id]);
    expect(await ok(['runs', 'why', run!.run_id])).toMatch(/why\s+It succeeded/);
    expect(await json(['runs', 'why', run!.run_id])).toMatchObject({ state: 'succeeded', position: null });
  });

  test('waiting for one that fails fails', async () => {
    const { run } = processes;
    const { code, stdout } = await run([
      'jobs',
      'create',
      'bad',
      '--http',
      'http://127.0.0.1:1/',
      '--retries',
      '0',
      '-w',
    ]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/failed .*ECONNREFUSED/);
  });

  test('waiting for one that is cancelled fails, and a program gets its id first', async () => {
    const waiting = launchCarillon(['jobs', 'create', 'off', '--http', alive, '--in', '1h', '-w', '--json'], {
      cwd: one.folder,
    });
    const id = await eventually(() => {
      const [made = '', pending] = waiting.said.stdout.split('\n');
      expect(pending).toContain('pending');
      return (JSON.parse(made) as { job_id: string }).job_id;
    }, SOON);
    await ok(['jobs', 'cancel', id, '--yes']);
    expect((await waiting.ended).code).toBe(1);
  });

  test('a handler that nobody offers is warned of, by those who may see workers', async () => {
    const { code, stdout, stderr } = await run([
      'jobs',
      'create',
      'waits',
      '--handler',
      'nobody-offers-this',
    ]);
    expect(code, stderr).toBe(0);
    expect(stdout).toMatch(/^Created waits: /);
    expect(stderr).toContain('no worker offers the handler "nobody-offers-this" at the moment');
    const offered = await run(['jobs', 'create', 'runs', '--http', alive]);
    expect(offered.stderr).toBe('');
  });

  test.each([
    ['', '--in', '10m'],
    [', then every day at 09:00 (UTC)', '--cron', '0 9 * * *'],
    [', then every hour', '--every', '1h'],
    [', then every 1 hour 30 minutes', '--every', '5400'],
  ])('a job is told with its first run%s for %s %s, but not to programs', async (then, ...when) => {
    const create = ['jobs', 'create', `told${when[0]}`, '--http', alive, ...when];
    const told = await run([...create, '--idempotency-key', `told${when.join().replaceAll(/\W/g, '')}`]);
    expect(told.stdout).toMatch(/^Created told--\w+: [0-9a-f-]{36}\n$/);
    const [first] = /20\d\d-\d\d-\d\d \d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d)/.exec(told.stderr) ?? [];
    expect(told.stderr.split('\n')[0]).toBe(`First run: ${first}${then}`);
    expect((await run([...create, '--json'])).stderr).toBe('');
  });

  test('one that was made before under its key is not called new', async () => {
    const create = ['jobs', 'create', 'kept', '--http', alive, '--every', '1h', '--idempotency-key', 'kept'];
    await ok(create);
    const again = await run(create);
    expect(again.stdout).toMatch(/^kept was there already: [0-9a-f-]{36}\n$/);
    expect(again.stderr).toMatch(/^Next run: /);
  });

  test('one is changed, paused, resumed, run and cancelled', async () => {
    const { run, ok, json, createJob } = processes;
    const id = await createJob('nightly', '--http', alive, '--cron', '0 3 * * *', '--tz', 'Europe/Paris');
    expect(await ok(['jobs', 'update', id, '--cron', '30 3 * * *', '--if-version', '1'])).toContain(
      'version 2',
    );
    const stale = await run(['jobs', 'update', id, '--priority', 'high', '--if-version', '1']);
    expect(stale.code).toBe(1);
    expect(stale.stderr).toContain('changed meanwhile');
    await ok(['jobs', 'pause', id]);
    expect(await json(['jobs', 'show', id])).toMatchObject({
      status: 'PAUSED',
      cron_expression: '30 3 * * *',
    });
    await ok(['jobs', 'resume', id]);
    expect(await ok(['jobs', 'run', id, '--wait'])).toContain('SUCCESS');
    expect(await ok(['runs', 'list', id])).toContain('SUCCESS');
    expect(await ok(['runs', 'list', '--job', 'nightly'])).toBe(await ok(['runs', 'list', id]));
    expect((await run(['runs', 'list', id, '--job', NOBODY])).stderr).toContain('Two jobs are named');
    expect(await ok(['jobs', 'upcoming', '--within', '1d', '-n', '0'])).toContain('nightly');
    expect(await ok(['jobs', 'resume', id])).toBe(`${id} was not paused\n`);
    expect(await ok(['jobs', 'show', id])).toMatch(/^status +scheduled$/m);
    expect(await ok(['jobs', 'list', '--status', 'pending'])).toMatch(/nightly +scheduled/);
    expect(await ok(['jobs', 'cancel', id, '--yes'])).toBe(`Cancelled ${id}\n`);
    expect(await json(['jobs', 'show', id])).toMatchObject({ status: 'CANCELLED' });
    expect(await ok(['jobs', 'cancel', id, '--yes'])).toBe(`${id} was cancelled already\n`);
  });

  test('of several ids each gets its own answer', async () => {
    const id = await createJob('several', '--http', alive, '--every', '1d');
    const { code, stdout, stderr } = await run(['jobs', 'pause', id, NOBODY]);
    expect(code).toBe(3);
    expect(stdout).toContain(`Paused ${id}`);
    expect(stderr).toContain(NOBODY);
  });

  test('a file makes many, and each refusal is told', async () => {
    const file = join(one.folder, 'jobs.json');
    const jobs = [
      { name: 'one', payload: { url: alive } },
      { name: 'two', colour: 'red' },
    ];
    await writeFile(file, JSON.stringify(jobs));
    const { code, stdout } = await run(['jobs', 'create', '--file', file]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/one\s+[0-9a-f-]{36}/);
    expect(stdout).toMatch(/two .*colour/);
    const made = await json<unknown[]>(['jobs', 'create', '--file', '-'], {
      input: JSON.stringify(jobs.slice(0, 1)),
    });
    expect(made).toHaveLength(1);
  });

  test('a file sent again under its key makes nothing, and says so', async () => {
    const input = JSON.stringify([{ name: 'filed', interval: '1d', payload: { url: alive } }]);
    const create = ['jobs', 'create', '--file', '-', '--idempotency-key', 'filed'];
    expect((await run(create, { input })).stderr).toContain('1 job made, 0 refused.');
    expect((await run(create, { input })).stderr).toContain('0 jobs made, 1 was there already, 0 refused.');
  });

  test('all that match are changed, after a look', async () => {
    const { run, json, createJob } = processes;
    for (const name of ['a', 'b'])
      await createJob(
        name,
        '--http',
        alive,
        '--every',
        '1d',
        '--label',
        'team=bulk',
        '--label',
        `is=${name}`,
      );
    const bulk = ['jobs', 'bulk', 'pause', '--label', 'team=bulk'];
    expect(await json([...bulk, '--dry-run'])).toMatchObject({ matched: 2, changed: 0 });
    expect(await json([...bulk, '--label', 'is=a', '--dry-run'])).toMatchObject({ matched: 1 });
    expect((await run(['jobs', 'bulk', 'pause', '--label', 'team'])).code).toBe(2);
    expect((await run(bulk)).stderr).toContain('nobody to ask');
    expect(await json([...bulk, '--yes'])).toMatchObject({ matched: 2, changed: 2, refused: 0 });
  });
});

describe('runs and dead letters', () => {
  test('a run tells its log, is done again, and a dead letter sent round', async () => {
    const { run, ok, json, createJob } = processes;
    const id = await createJob('dead', '--http', 'http://127.0.0.1:1/', '--retries', '0');
    const letter = await eventually(async () => {
      const [found] = await json<{ run_id: string; job_id: string }[]>(['dlq', 'list', '--job', id]);
      return found ?? expect.fail('not dead yet');
    }, SOON);
    expect(await ok(['dlq', 'show', letter.run_id])).toContain('ECONNREFUSED');
    const failed = ['runs', 'list', '--status', 'failed', '--since', '1h'];
    expect(await ok(failed)).toMatch(/FAILED +dead +default +.*ECONNREFUSED/);
    expect(await json([...failed, id, '--error', 'econnrefused'])).toMatchObject([
      { run_id: letter.run_id, job_name: 'dead', namespace: 'default' },
    ]);
    for (const noun of ['runs', 'jobs', 'dlq']) {
      const typo = await run([noun, 'list', '--namespace', 'defualt']);
      expect([typo.code, typo.stderr]).toEqual([3, expect.stringContaining('There is no namespace defualt')]);
    }
    expect(await ok(['runs', 'logs', '-f', letter.run_id])).toMatch(/attempt 1 ended: FAILED/);
    expect(await ok(['runs', 'show', letter.run_id])).toMatch(/status\s+FAILED/);
    expect((await run(['runs', 'rerun', letter.run_id, '--wait'])).code).toBe(1);
    expect(await ok(['dlq', 'redrive', letter.run_id])).toMatch(UUID);
    const named = await run(['dlq', 'redrive', letter.run_id, NOBODY]);
    expect(named.code).toBe(3);
    expect(named.stdout).toContain(`${letter.run_id} was sent round again before`);
    expect(named.stderr).toContain(`There is no dead letter ${NOBODY}.`);
    expect(await json(['dlq', 'redrive', '--job', id, '--dry-run'])).toMatchObject({ dry_run: true });
  });
});

describe('following', () => {
  test('events come as they happen, one JSON object a line, and Ctrl-C ends them', async () => {
    const following = launchCarillon(['events', '-f', '--json', '--type', 'job.created'], {
      cwd: one.folder,
    });
    await eventually(async () => {
      await createJob('seen', '--http', alive, '--every', '1d');
      expect(following.said.stdout).toContain('"seen"');
    }, SOON);
    following.signal('SIGINT');
    const { code, stdout } = await following.ended;
    expect(code).toBe(130);
    for (const line of stdout.trim().split('\n')) {
      expect(JSON.parse(line)).toMatchObject({ specversion: '1.0', type: 'io.carillon.job.created' });
    }
  });

  test('what has happened is shown like the end of a log, the newest last', async () => {
    const { run, ok, createJob } = processes;
    for (const name of ['first', 'second', 'third']) await createJob(name, '--http', alive, '--every', '1d');
    const names = async (...args: string[]) =>
      (await ok(['events', '--json', '--type', 'job.created', ...args]))
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { data: { name: string } }).data.name);
    await eventually(async () => expect(await names('-n', '3')).toEqual(['first', 'second', 'third']), SOON);
    expect(await names('-n', '1')).toEqual(['third']);
    expect((await names('--since', '1h')).slice(-2)).toEqual(['second', 'third']);
    expect((await names('-n', '0')).slice(-3)).toEqual(['first', 'second', 'third']);
    expect((await run(['events', '--since', 'yesterday'])).code).toBe(2);
    const none = await run(['events', '--since', '2100-01-01']);
    expect(none).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('No events match') });
  });

  test('a watched job is left alone by Ctrl-C', async () => {
    const id = await createJob('watched', '--http', alive, '--every', '1d');
    const watching = launchCarillon(['jobs', 'show', id, '--watch'], { cwd: one.folder });
    await eventually(() => expect(watching.said.stdout).toContain('scheduled'), SOON);
    watching.signal('SIGINT');
    expect((await watching.ended).code).toBe(130);
    expect(await json(['jobs', 'show', id])).toMatchObject({ status: 'SCHEDULED' });
  });
});

describe('how it answers', () => {
  test('commands of every kind are processes that end by themselves, with their exit code', async () => {
    const { run, ok, json, createJob } = processes;
    const password = 'correct horse battery staple';
    const env = { HOME: join(one.folder, 'olga') };
    const id = await createJob('of olga', '--http', alive, '--every', '1d', '--job-key', 'of-olga');
    await ok(['namespaces', 'create', 'kinds']);
    await ok(['users', 'create', 'olga', '--grant', 'viewer@default'], { input: `${password}\n` });
    await ok(['login', '--url', one.server.address, '--name', 'olga'], { env, input: `${password}\n` });
    expect(await ok(['whoami'], { env })).toContain('olga');
    expect((await run(['users', 'list'], { env })).code).toBe(4);
    expect(await ok(['context', 'list'], { env })).toContain(one.server.address);
    await ok(['password'], { env, input: `${password}\n${password} again\n` });
    await ok(['logout'], { env });
    for (const noun of ['users', 'keys', 'namespaces', 'sessions', 'handlers']) await ok([noun, 'list']);
    await ok(['signing-keys', 'list', 'default']);
    expect(await ok(['secrets', 'set', 'kind'], { input: 'a value of some length' })).toContain('version 1');
    const { key_id: keyId } = await json<{ key_id: string }>(['keys', 'create', 'kind', '--role', 'viewer']);
    await ok(['keys', 'revoke', keyId, '--yes']);
    expect(await ok(['audit', '--subject', 'kind'])).toContain('secrets.set');
    const exported = await ok(['export', '--namespace', 'default']);
    expect(exported).toContain('key: of-olga');
    expect((await run(['diff', '-f', '-'], { input: exported })).code).toBe(0);
    await ok(['apply', '-f', '-', '--dry-run'], { input: exported });
    await ok(['import', 'crontab', '-', '--dry-run'], { input: `0 9 * * * curl ${alive}\n` });
    await ok(['jobs', 'skip', id]);
    expect(await ok(['jobs', 'logs', id])).toBe('');
    expect((await run(['runs', 'result', NOBODY])).code).toBe(3);
    expect((await run(['runs', 'cancel', NOBODY, '--yes'])).code).toBe(3);
    expect(await ok(['completion', 'bash'])).toContain('carillon');
  });

  test('the file behind `npx carillon` runs the command, with its exit codes', async () => {
    const program = [process.execPath, BIN] as const;
    expect(await ok(['--version'], { program })).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect(await json(['status'], { program })).toMatchObject({ ready: true });
    expect((await run(['jobs', 'show', NOBODY], { program })).code).toBe(3);
  });

  test.each(['start', 'serve'])('%s --help names the command and shows its examples', async (name) => {
    const help = await ok([name, '--help']);
    expect(help).toContain(`Usage: carillon ${name} `);
    expect(help).toMatch(new RegExp(`Examples:\\n  carillon ${name}`));
    expect(help).toContain('--port <number>');
  });

  test('status and workers tell how the server is doing', async () => {
    const { ok, json } = processes;
    expect(await json(['status'])).toMatchObject({ ready: true, workers: 1 });
    expect(await ok(['workers'])).toMatch(/yes .*http/);
    expect(await ok(['preview', '0 9 * * 1-5', '--tz', 'Europe/Paris'])).toContain('Europe/Paris');
  });

  test.each([
    ['what makes no sense', ['jobs', 'lst'], 2, /Did you mean list/],
    ['a near word', ['jobs', 'creat'], 2, /Did you mean create\? `carillon jobs --help`/],
    ['what is not there', ['jobs', 'show', NOBODY], 3, /carillon jobs list/],
    ['a key for nobody knows whom', ['jobs', 'list', '--key', 'ck_no'], 2, /--url http/],
    ['nobody there', ['jobs', 'list', '--url', 'http://127.0.0.1:1'], 5, /cannot be reached/],
    ['nothing to run', ['jobs', 'create', 'x'], 2, /Say what it runs: --http, --script or --handler/],
    [
      'a value that the server refuses',
      ['jobs', 'create', 'x', '--http', 'http://127.0.0.1:1/', '--cron', 'x'],
      2,
      /cron_expression \(--cron\): .*\n.*5 fields/,
    ],
  ])('%s has an exit code of its own, and says what to do', async (_, args, exitCode, words) => {
    const { code, stderr, stdout } = await processes.run(args);
    expect(code, stderr).toBe(exitCode);
    expect(stderr).toMatch(words);
    expect(stdout).toBe('');
  });

  test('a wrong key has an exit code of its own', async () => {
    const { code, stderr } = await processes.run([
      ...['jobs', 'list', '--url', one.server.address, '--key', 'ck_no'],
    ]);
    expect(code, stderr).toBe(4);
    expect(stderr).toContain('carillon login');
  });

  test.each([
    ['help', 'jobs', 'create'],
    ['jobs', 'help', 'create'],
    ['jobs', 'create', '--help'],
  ])('%s %s %s shows the help of the command', async (...words) => {
    expect(await ok(words)).toContain('Usage: carillon jobs create');
  });

  test('a certificate that is not trusted here is told with what to do', async () => {
    const certificate = makeCertificate();
    const [cert, key] = [readFileSync(certificate.certFile), readFileSync(certificate.keyFile)];
    certificate.remove();
    const server = createServer({ cert, key });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const { code, stderr } = await processes.run(['jobs', 'list', '--url', `https://127.0.0.1:${port}`]);
    expect(code).toBe(5);
    expect(stderr).toMatch(/certificate is not from an authority.*\n.*NODE_EXTRA_CA_CERTS/);
  });

  test('with --json an error is JSON too', async () => {
    const usage = await run(['jobs', 'lst', '--json']);
    expect(JSON.parse(usage.stderr)).toMatchObject({ error: { code: 'usage' } });
    const { stderr } = await run(['jobs', 'show', NOBODY, '--json']);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'job_not_found', status: 404 } });
  });

  test('times are those of the machine, or UTC when asked for', async () => {
    const id = await createJob('timed', '--http', alive, '--at', '2030-07-01T12:00:00Z');
    const env = { TZ: 'America/New_York' };
    expect(await ok(['jobs', 'show', id], { env })).toContain('2030-07-01 08:00:00-04:00');
    expect(await ok(['jobs', 'list', '--text', 'timed'], { env })).toContain('2030-07-01 08:00:00-04:00');
    expect(await ok(['jobs', 'show', id, '--utc'], { env })).toContain('2030-07-01 12:00:00Z');
  });

  test('a folder without a server says how to get one', async () => {
    const { code, stderr } = await run(['jobs', 'list', '--data', 'elsewhere']);
    expect(code).toBe(5);
    expect(stderr).toContain('carillon start');
  });
});
