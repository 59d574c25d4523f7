import { type ChildProcess, spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { isRunning } from '../../packages/server/src/postgres/embedded/postmaster-file.ts';
import { eventually } from '../support/eventually.ts';

const ROOT = join(import.meta.dirname, '../..');
const WAIT = { withinMs: 60_000 };

// Stands in for the server: says its pid, counts what reaches it in a file, and ends a moment later with a code of its own.
const STAND_IN = `
import { appendFileSync } from 'node:fs';
import { stopWithParent } from './parent-watch.ts';
const note = process.argv[2] as string;
const stop = (why: string): void => {
  appendFileSync(note, why + '\\n');
  setTimeout(() => process.exit(7), 300);
};
process.on('SIGINT', () => stop('SIGINT'));
process.on('SIGTERM', () => stop('SIGTERM'));
stopWithParent(() => stop('parent gone'));
if (process.argv[3] === 'exit') process.exit(Number(process.argv[4]));
setInterval(() => {}, 1000);
console.log(process.pid);
`;

let clone = '';
let note = '';
// Every process of a test, the server included: one left running would hold the output of the whole test run open.
let started: number[] = [];

beforeEach(async () => {
  clone = await mkdtemp(join(tmpdir(), 'carillon-bootstrap-'));
  note = join(clone, 'note');
  started = [];
  await writeFile(note, '');
  for (const name of ['bootstrap.mjs', 'scripts/bootstrap', 'packages/server/src/parent-watch.ts']) {
    await cp(join(ROOT, name), join(clone, name), { recursive: true });
  }
  await writeFile(join(clone, 'packages/server/src/main.ts'), STAND_IN);
  // Nothing to install: an empty project whose record of a finished installation says so.
  await writeFile(
    join(clone, 'package.json'),
    JSON.stringify({ private: true, type: 'module', scripts: { start: 'node bootstrap.mjs start' } }),
  );
  await writeFile(join(clone, 'package-lock.json'), JSON.stringify({ lockfileVersion: 3, packages: {} }));
  await mkdir(join(clone, 'node_modules'));
  await writeFile(join(clone, 'node_modules/.package-lock.json'), JSON.stringify({ packages: {} }));
  await symlink(process.execPath, join(clone, 'node'));
});

afterEach(async () => {
  for (const pid of started) kill(pid);
  await rm(clone, { recursive: true, force: true });
});

function launch(
  command: string,
  args: readonly string[],
): { child: ChildProcess; exit: Promise<number | string | null> } {
  const env: NodeJS.ProcessEnv = { ...process.env, PATH: `${clone}:${process.env.PATH}` };
  delete env.npm_lifecycle_event;
  const child = spawn(command, args, { cwd: clone, env, stdio: ['ignore', 'pipe', 'inherit'] });
  if (child.pid) started.push(child.pid);
  return {
    child,
    exit: new Promise((resolve) => child.on('exit', (code, signal) => resolve(code ?? signal))),
  };
}

const bootstrap = (...args: string[]) => launch(process.execPath, ['bootstrap.mjs', 'start', note, ...args]);

async function serverPid(child: ChildProcess): Promise<number> {
  if (!child.stdout) throw new Error('no output to read');
  for await (const line of createInterface({ input: child.stdout })) {
    if (!/^\d+$/.test(line)) continue;
    started.push(Number(line));
    return Number(line);
  }
  throw new Error('it ended before the server was up');
}

async function untilGone(pid: number): Promise<void> {
  await eventually(async () => expect(await isRunning(pid), `process ${pid} runs`).toBe(false), WAIT);
}

const reached = async () => (await readFile(note, 'utf8')).trim().split('\n');

it('the exit code of the server is the exit code of the command', async () => {
  expect(await bootstrap('exit', '0').exit).toBe(0);
  expect(await bootstrap('exit', '42').exit).toBe(42);
});

it.each(['SIGTERM', 'SIGINT'] as const)(
  '%s reaches the server once, however often it is sent in one moment',
  async (signal) => {
    const { child, exit } = bootstrap();
    await serverPid(child);
    child.kill(signal);
    child.kill(signal);
    expect(await exit).toBe(7);
    expect(await reached()).toEqual([signal]);
  },
);

it('the server stops by itself when the bootstrap is killed', async () => {
  const { child } = bootstrap();
  const pid = await serverPid(child);
  child.kill('SIGKILL');
  await untilGone(pid);
  expect(await reached()).toEqual(['parent gone']);
});

it('the server stops when npm is killed', async () => {
  const { child } = launch('npm', ['start', '--silent', '--', note]);
  const pid = await serverPid(child);
  child.kill('SIGKILL');
  await untilGone(pid);
  expect(await reached()).toEqual(['SIGTERM']);
});

it('an unknown command is answered with the known ones', async () => {
  const { exit } = launch(process.execPath, ['bootstrap.mjs', 'fly']);
  expect(await exit).toBe(2);
});

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
