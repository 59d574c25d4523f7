/** What people install: the tarballs, in an empty folder outside of this repository. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { VERSION } from '../../packages/cli/src/program.ts';
import { packAll } from '../../scripts/pack/pack-all.ts';
import { eventually } from '../support/eventually.ts';
import { fixedPort } from '../support/processes.ts';
import { launchCarillon, runCarillon } from './run-carillon.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');
/** A limit only ends a hang: starting unpacked files anew takes a busy machine more than a minute. */
const SOON = { withinMs: 200_000 };
const INSTALL = ['install', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts'];

let folder = '';
let tarballs: Readonly<Record<string, string>> = {};
/** With everything installed: unpacking the PostgreSQL that comes with it twice would take half of the time. */
let everything = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'carillon-packed-'));
  tarballs = await packAll(join(folder, 'tarballs'));
  everything = await projectWith('everything', Object.keys(tarballs));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** With the packages named and nothing else installed. */
async function projectWith(name: string, packages: readonly string[]): Promise<string> {
  const project = join(folder, name);
  await mkdir(project);
  await writeFile(join(project, 'package.json'), '{ "private": true, "type": "module" }\n');
  await run('npm', [...INSTALL, ...packages.map((one) => tarballs[one]!)], { cwd: project });
  return project;
}

/** Answers what the compiler complains about. */
async function typeErrors(project: string, flags: string): Promise<string> {
  const all = `--target es2024 --strict --skipLibCheck false ${flags}`.split(' ');
  return run(join(ROOT, 'node_modules/.bin/tsc'), all, { cwd: project }).then(
    () => '',
    ({ stdout }: { stdout: string }) => stdout,
  );
}

test('the command works where it is installed: help, a server, a job', async () => {
  const project = everything;
  const program = [join(project, 'node_modules/.bin/carillon')] as const;
  const carillon = (args: string[]) => runCarillon(args, { cwd: project, program });

  expect((await carillon(['--help'])).stdout).toContain('Usage: carillon');
  const version = await run('npx', ['carillon', '--version'], { cwd: project });
  expect(version.stdout.trim()).toBe(VERSION);

  const port = await fixedPort();
  const server = launchCarillon(['start', '--port', String(port), '--log-level', 'warn'], {
    cwd: project,
    program,
  });
  try {
    await eventually(() => expect(server.said.stdout, server.said.stderr).toContain('is ready'), SOON);
    const page = await fetch(`http://127.0.0.1:${port}/jobs`, { headers: { accept: 'text/html' } });
    const script = /src="\.\/(assets\/[\w-]+\.js)"/.exec(await page.text())?.[1];
    expect((await fetch(`http://127.0.0.1:${port}/${script}`)).headers.get('content-type')).toContain(
      'javascript',
    );
    const job = ['jobs', 'create', 'hello', '--http', `http://127.0.0.1:${port}/health/live`, '--wait'];
    const made = await carillon(job);
    expect(made, made.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining('SUCCESS') });
  } finally {
    server.signal('SIGTERM');
  }
  const { code, stderr } = await server.ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});

test('a program in TypeScript embeds the server: types hold, a job of the client runs its handler', async () => {
  const project = everything;
  await writeFile(
    join(project, 'use.ts'),
    `import { Carillon, isCarillonError } from '@carillon/client';
import { startEngine, type StartedEngine } from '@carillon/server';
import { startTestServer } from '@carillon/server/testing';
import { type Handler, HandlerError } from '@carillon/worker';

const greet: Handler = async ({ payload, attempt }) => {
  if (attempt === 1) throw new HandlerError('not now', { retryable: payload.again === true });
  return \`hello \${payload.name}\`;
};
export const embedded = (databaseUrl: string): Promise<StartedEngine> =>
  startEngine({ databaseUrl, handlers: { greet } });

const server = await startTestServer({ handlers: { greet } });
try {
  const carillon = new Carillon({ url: server.url, key: server.key });
  const retry = { delay_seconds: 0 };
  for (const again of [true, false]) {
    const payload = { name: 'Ada', again };
    const { job_id } = await carillon.jobs.create({ name: 'greeting', handler: 'greet', payload, retry });
    let last = '';
    for await (const { status } of carillon.watch(job_id)) last = status;
    const [run] = await carillon.jobs.runs(job_id, { include: 'result' }).toArray();
    console.log(last, run?.attempt_number, run?.result ?? run?.error_message);
  }
  await carillon.jobs.get('01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f').catch((error: unknown) => {
    if (isCarillonError(error, 'job_not_found')) console.log(error.code, error.status);
  });
} finally {
  await server.stop();
}
// @ts-expect-error: a handler is a function
void (() => startTestServer({ handlers: { greet: 'hello' } }));
// @ts-expect-error: no such code
void (() => isCarillonError(new Error('no'), 'job_lost'));
`,
  );
  const types = `--typeRoots ${join(ROOT, 'node_modules/@types')} --types node --lib es2024,esnext.disposable`;
  const compiled = await Promise.all([
    typeErrors(project, `${types} --module nodenext use.ts`),
    typeErrors(project, `${types} --module esnext --moduleResolution bundler --noEmit use.ts`),
  ]);
  expect(compiled.join('')).toBe('');
  const { stdout, stderr } = await run(process.execPath, ['use.js'], { cwd: project });
  expect({ stdout, stderr }).toEqual({
    stdout: 'completed 2 hello Ada\nfailed 1 not now\njob_not_found 404\n',
    stderr: '',
  });
});

test('a worker installs from its tarball and those it needs, and works for a server', async () => {
  const project = await projectWith('worker', [
    '@carillon/worker',
    '@carillon/domain',
    '@carillon/foundation',
  ]);
  await writeFile(
    join(project, 'use.ts'),
    `import { createWorker } from '@carillon/worker';

const worker = createWorker({
  servers: [process.env.CARILLON_URL ?? ''],
  key: process.env.CARILLON_KEY ?? '',
  slots: 2,
  onConnected: ({ server }) => console.log('connected to', server),
});
worker.handle('greet', ({ payload }) => \`hello \${payload.name}\`);
await worker.run();
// @ts-expect-error: a worker has slots
void (() => createWorker({ servers: [], key: '' }));
`,
  );
  const types = `--typeRoots ${join(ROOT, 'node_modules/@types')} --types node --lib es2024,esnext.disposable`;
  expect(await typeErrors(project, `${types} --module nodenext use.ts`)).toBe('');

  const home = join(everything, 'home');
  await mkdir(home);
  const program = [join(everything, 'node_modules/.bin/carillon')] as const;
  const url = `http://127.0.0.1:${await fixedPort()}`;
  const carillon = (args: string[]) =>
    runCarillon(args, { cwd: home, program, env: { CARILLON_URL: url, CARILLON_DATA: '.carillon' } });
  const server = launchCarillon(['start', '--port', new URL(url).port, '--log-level', 'warn'], {
    ...{ cwd: home, program },
  });
  const ended = [server.ended];
  try {
    await eventually(() => expect(server.said.stdout, server.said.stderr).toContain('is ready'), SOON);
    const made = await carillon([
      'keys',
      'create',
      'greeters',
      '--worker',
      '--handlers',
      'greet',
      '-o',
      'json',
    ]);
    const { key } = JSON.parse(made.stdout) as { key: string };
    const worker = launchCarillon(['use.js'], {
      ...{ cwd: project, program: [process.execPath], env: { CARILLON_URL: url, CARILLON_KEY: key } },
    });
    ended.push(worker.ended);
    try {
      await eventually(() => expect(worker.said.stdout, worker.said.stderr).toContain('connected to'), SOON);
      const job = ['jobs', 'create', 'hello', '--handler', 'greet', '--payload', '{"name": "Ada"}', '--wait'];
      const run = await carillon(job);
      expect(run, run.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining('SUCCESS') });
      const shown = await carillon(['runs', 'show', 'hello', '-o', 'json']);
      expect(shown, shown.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining('hello Ada') });
    } finally {
      worker.signal('SIGTERM');
      // Else it says that its server has gone.
      await worker.ended;
    }
  } finally {
    server.signal('SIGTERM');
  }
  expect((await Promise.all(ended)).map(({ code, stderr }) => [code, stderr])).toEqual([
    [0, ''],
    [0, ''],
  ]);
});

test('the client installs alone, with types that hold and nothing it depends on', async () => {
  const project = await projectWith('client', ['@carillon/client']);
  expect(await readdir(join(project, 'node_modules/@carillon'))).toEqual(['client']);
  const lock = JSON.parse(await readFile(join(project, 'package-lock.json'), 'utf8')) as { packages: object };
  expect(Object.keys(lock.packages)).toEqual(['', 'node_modules/@carillon/client']);

  await writeFile(
    join(project, 'use.ts'),
    `import { Carillon, CarillonError, type ListedJob } from '@carillon/client';
const carillon = new Carillon({ url: 'http://127.0.0.1:1', retriesMax: 0 });
export const names = async (jobs: AsyncIterable<ListedJob>): Promise<string[]> => {
  const found: string[] = [];
  for await (const job of jobs) found.push(job.name);
  return found;
};
try {
  await names(carillon.jobs.list({ status: 'failed' }));
} catch (error) {
  console.log(error instanceof CarillonError && error.code);
}
// @ts-expect-error: a job needs a name
void (() => carillon.jobs.create({ payload: {} }));
`,
  );
  const browser = '--lib es2024,dom,dom.asynciterable --types ';
  expect(await typeErrors(project, `--module nodenext ${browser} use.ts`)).toBe('');
  expect((await run(process.execPath, ['use.js'], { cwd: project })).stdout).toBe('unreachable\n');
});

test('every tarball holds its licence, its page, what it exports, and neither sources nor tests', async () => {
  for (const [name, tarball] of Object.entries(tarballs)) {
    const { stdout } = await run('tar', ['-tzf', tarball]);
    const files = stdout.trim().split('\n');
    const strays = files.filter((path) =>
      /\.(test|fixture|conformance)\.|conformance|(?<!\.d)\.ts$/.test(path),
    );
    expect(strays, name).toEqual([]);
    expect(files, name).toEqual(expect.arrayContaining(['package/LICENSE', 'package/README.md']));
    const manifest = JSON.parse((await run('tar', ['-xzOf', tarball, 'package/package.json'])).stdout) as {
      private?: boolean;
      version: string;
      license: string;
      description: string;
      engines: { node: string };
      exports?: Record<string, Record<string, string>>;
      dependencies?: Record<string, string>;
    };
    expect(manifest, name).toMatchObject({ version: VERSION, license: 'Apache-2.0' });
    expect(manifest.private, name).toBeUndefined();
    expect(manifest.description, name).toMatch(/\.$/);
    expect(manifest.engines.node, name).toMatch(/^>=/);
    const targets = Object.values(manifest.exports ?? {}).flatMap((target) => Object.values(target));
    const missing = targets.filter((path) => !files.includes(path.replace('./', 'package/')));
    expect(missing, name).toEqual([]);
    // The command is one file to install; libraries need each other in their own version.
    for (const [other, wanted] of Object.entries(manifest.dependencies ?? {}))
      if (other.startsWith('@carillon/'))
        expect(wanted, `${name}: ${other}`).toBe(name === 'carillon' ? '' : VERSION);
  }
});
