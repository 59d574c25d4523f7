/** The real `carillon` command as a process of its own, the way shells and scripts see it. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { COMPILE_CACHE } from '../support/compile-cache.ts';

const MAIN = join(import.meta.dirname, '../../packages/cli/src/main.ts');
const RUN_MS_MAX = 240_000;

export interface CarillonOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Its standard input; left out: empty. */
  readonly input?: string;
  /** Instead of the sources of this repository. */
  readonly program?: readonly [string, ...string[]];
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningCarillon {
  /** What it has said so far. */
  readonly said: { stdout: string; stderr: string };
  readonly ended: Promise<Ended>;
  signal(signal: NodeJS.Signals): void;
}

export function launchCarillon(args: readonly string[], options: CarillonOptions): RunningCarillon {
  const [command, ...before] = options.program ?? [process.execPath, MAIN];
  const child = spawn(command, [...before, ...args], {
    cwd: options.cwd,
    // A home of its own: a login of whoever runs the tests must not be found, and none left behind.
    env: {
      ...{ PATH: process.env.PATH, HOME: options.cwd, TZ: 'UTC', CARILLON_PARENT_FD: '3' },
      ...COMPILE_CACHE,
      ...options.env,
    },
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  });
  const said = { stdout: '', stderr: '' };
  child.stdout?.on('data', (chunk) => {
    said.stdout += String(chunk);
  });
  child.stderr?.on('data', (chunk) => {
    said.stderr += String(chunk);
  });
  child.stdin?.on('error', () => undefined).end(options.input ?? '');
  const timer = setTimeout(() => child.kill('SIGKILL'), RUN_MS_MAX);
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ code, ...said });
    });
  });
  return { said, ended, signal: (signal) => child.kill(signal) };
}

export function runCarillon(args: readonly string[], options: CarillonOptions): Promise<Ended> {
  return launchCarillon(args, options).ended;
}
