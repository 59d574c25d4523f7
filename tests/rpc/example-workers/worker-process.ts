/** The example workers as people start them: a process with the address of a server and a key. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { COMPILE_CACHE } from '../../support/compile-cache.ts';
import { eventually } from '../../support/eventually.ts';
import { processTree, signalProcess } from '../../support/processes.ts';

/** How a worker of a language is started: the program, and what comes before its own arguments. */
export type WorkerProgram = readonly [program: string, ...args: string[]];

export interface WorkerProcessOptions {
  readonly program: WorkerProgram;
  readonly folder: string;
  readonly servers: readonly string[];
  readonly key: string;
  readonly slots?: number;
  readonly name?: string;
  readonly args?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

const started = new Set<WorkerProcess>();

export class WorkerProcess {
  readonly pid: number;
  readonly exited: Promise<number | null>;
  readonly #child: ChildProcess;
  readonly #logFile: string;

  constructor({
    program,
    folder,
    servers,
    key,
    slots = 4,
    name = 'worker',
    args = [],
    environment = {},
  }: WorkerProcessOptions) {
    this.#logFile = join(folder, `${name}.log`);
    const log = openSync(this.#logFile, 'a');
    const [command, ...before] = program;
    const own = ['--slots', String(slots), '--name', name, ...servers.flatMap((url) => ['--url', url])];
    this.#child = spawn(command, [...before, ...own, ...args], {
      cwd: folder,
      // The key stands in the environment: arguments can be read by everybody on the machine.
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        CARILLON_KEY: key,
        PYTHONDONTWRITEBYTECODE: '1',
        ...COMPILE_CACHE,
        ...environment,
      },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    this.pid = this.#child.pid ?? 0;
    started.add(this);
    this.exited = new Promise((resolve) => {
      this.#child.once('exit', (code) => {
        started.delete(this);
        resolve(code);
      });
    });
  }

  signal(signal: NodeJS.Signals): void {
    if (this.#child.exitCode === null && this.#child.signalCode === null) signalProcess(this.pid, signal);
  }

  /** The worker, and the processes of its runs. */
  tree(): Promise<number[]> {
    return processTree(this.pid);
  }

  output(): Promise<string> {
    return readFile(this.#logFile, 'utf8');
  }
}

/** For afterEach: nothing that a test started outlives it. */
export async function endWorkers(): Promise<void> {
  const left = [...started];
  for (const worker of left) worker.signal('SIGKILL');
  await Promise.all(left.map((worker) => worker.exited));
}

export async function gone(pids: readonly number[]): Promise<void> {
  await eventually(
    async () => {
      const alive = (await Promise.all(pids.map(isAlive))).filter(Boolean);
      if (alive.length > 0) throw new Error(`${alive.length} processes are left`);
    },
    { withinMs: 60_000 },
  );
}

async function isAlive(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (status !== undefined) return !/\) Z /.test(status);
  try {
    process.kill(pid, 0);
    return process.platform !== 'linux';
  } catch {
    return false;
  }
}
