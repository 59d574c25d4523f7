/** What people install: the tarballs, in an empty folder outside of this repository. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { VERSION } from '../../packages/cli/src/program.ts';
import { packClient } from '../../scripts/pack/pack-client.ts';
import { packProgram } from '../../scripts/pack/pack-program.ts';
import { eventually } from '../support/eventually.ts';
import { fixedPort } from '../support/processes.ts';
import { launchCarillon, runCarillon } from './run-carillon.ts';

const run = promisify(execFile);
const TSC = join(import.meta.dirname, '../../node_modules/.bin/tsc');
const INSTALL = ['install', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts'];

let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'carillon-packed-'));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

async function emptyProject(name: string): Promise<string> {
  const project = join(folder, name);
  await mkdir(project);
  await writeFile(join(project, 'package.json'), '{ "private": true, "type": "module" }\n');
  return project;
}

test('the command works where it is installed: help, a server, a job', async () => {
  const project = await emptyProject('program');
  const tarball = await packProgram(folder);
  await run('npm', [...INSTALL, tarball], { cwd: project });
  const program = [join(project, 'node_modules/.bin/carillon')] as const;
  const carillon = (args: string[]) => runCarillon(args, { cwd: project, program });

  const help = await run('npx', ['carillon', '--help'], { cwd: project });
  expect(help.stdout).toContain('Usage: carillon');
  const version = await run('npx', ['carillon', '--version'], { cwd: project });
  expect(version.stdout.trim()).toBe(VERSION);
  const installed = await readdir(join(project, 'node_modules/carillon'), { recursive: true });
  expect(installed.filter((path) => /\.(test|fixture|conformance)\.|(?<!\.d)\.ts$/.test(path))).toEqual([]);

  const port = await fixedPort();
  const server = launchCarillon(['start', '--port', String(port), '--log-level', 'warn'], {
    cwd: project,
    program,
  });
  try {
    await eventually(() => expect(server.said.stdout, server.said.stderr).toContain('is ready'), {
      withinMs: 60_000,
    });
    const job = ['jobs', 'create', 'hello', '--http', `http://127.0.0.1:${port}/health/live`, '--wait'];
    const made = await carillon(job);
    expect(made, made.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining('SUCCESS') });
  } finally {
    server.signal('SIGTERM');
  }
  const { code, stderr } = await server.ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});

test('the client installs alone, with types that hold and nothing it depends on', async () => {
  const project = await emptyProject('client');
  await run('npm', [...INSTALL, await packClient(folder)], { cwd: project });
  expect(await readdir(join(project, 'node_modules/@carillon'))).toEqual(['client']);
  const lock = JSON.parse(await readFile(join(project, 'package-lock.json'), 'utf8')) as { packages: object };
  expect(Object.keys(lock.packages)).toEqual(['', 'node_modules/@carillon/client']);

  await writeFile(
    join(project, 'use.ts'),
    `import { Carillon, CarillonError, type Job } from '@carillon/client';
const carillon = new Carillon({ url: 'http://127.0.0.1:1', retriesMax: 0 });
export const names = async (jobs: AsyncIterable<Job>): Promise<string[]> => {
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
  const flags =
    '--target es2024 --lib es2024,dom,dom.asynciterable --module nodenext --strict --skipLibCheck false';
  await run(TSC, [...flags.split(' '), '--types', '', 'use.ts'], { cwd: project });
  expect((await run(process.execPath, ['use.js'], { cwd: project })).stdout).toBe('unreachable\n');
});
