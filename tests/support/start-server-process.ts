/**
 * Carillon as a process of its own, the way people start it, to be killed, stopped and started again by tests. Whatever a
 * test does, nothing it started outlives it: processes end with the test process, and `endServers` collects the rest.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { COMPILE_CACHE } from './compile-cache.ts';
import { eventually } from './eventually.ts';
import { signalProcess } from './processes.ts';

const MAIN = join(import.meta.dirname, '../../packages/server/src/main.ts');
const LOG_LINES_SHOWN = 40;

export interface ServerProcessOptions {
  readonly name: string;
  /** Holds the data folder and the log of this server; the same folder again is the same server again. */
  readonly folder: string;
  readonly port: number;
  readonly flags?: readonly string[];
  /** https: the flags name a certificate that this process trusts. */
  readonly scheme?: 'http' | 'https';
}

export interface ServerExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

const started = new Set<ServerProcess>();

export class ServerProcess {
  readonly name: string;
  readonly dataDir: string;
  readonly address: string;
  readonly pid: number;
  readonly exited: Promise<ServerExit>;
  readonly #child: ChildProcess;
  readonly #logFile: string;
  #hasExited = false;

  constructor({ name, folder, port, flags = [], scheme = 'http' }: ServerProcessOptions) {
    this.name = name;
    this.dataDir = join(folder, name);
    this.address = `${scheme}://127.0.0.1:${port}`;
    this.#logFile = join(folder, `${name}.log`);
    const log = openSync(this.#logFile, 'a');
    this.#child = spawn(
      process.execPath,
      [
        '--disable-warning=ExperimentalWarning',
        MAIN,
        '--port',
        String(port),
        '--data',
        this.dataDir,
        ...flags,
      ],
      {
        cwd: folder,
        // The fourth descriptor closes with this process: a killed test run leaves no servers behind.
        env: { PATH: process.env.PATH, HOME: process.env.HOME, CARILLON_PARENT_FD: '3', ...COMPILE_CACHE },
        stdio: ['ignore', log, log, 'pipe'],
      },
    );
    closeSync(log);
    this.pid = this.#child.pid ?? 0;
    this.exited = new Promise((resolve) => {
      this.#child.once('exit', (code, signal) => {
        this.#hasExited = true;
        started.delete(this);
        resolve({ code, signal });
      });
    });
    started.add(this);
  }

  get hasExited(): boolean {
    return this.#hasExited;
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.#hasExited) signalProcess(this.pid, signal);
  }

  /** kill -9, also of a stopped one; resolves when it is gone. */
  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.exited;
  }

  /** The clean way, bounded. */
  async stop(withinMs: number): Promise<ServerExit> {
    this.signal('SIGTERM');
    return this.exitWithin(withinMs);
  }

  async exitWithin(withinMs: number): Promise<ServerExit> {
    await eventually(
      () => {
        if (!this.#hasExited) throw new Error(`${this.name} (process ${this.pid}) has not ended`);
      },
      { withinMs },
    );
    return this.exited;
  }

  /** Everything it wrote since its folder was made, earlier processes included. */
  async output(): Promise<string> {
    return readFile(this.#logFile, 'utf8').catch(() => '');
  }

  async adminKey(): Promise<string> {
    return (await readFile(join(this.dataDir, 'admin.key'), 'utf8')).trim();
  }

  async readiness(): Promise<{ status: number; reasons: readonly string[] }> {
    const response = await fetch(`${this.address}/health/ready`, { signal: AbortSignal.timeout(60_000) });
    const body = (await response.json()) as { reasons?: readonly string[] };
    return { status: response.status, reasons: body.reasons ?? [] };
  }

  /** Resolves when it takes jobs; a server that ended instead is shown with its last words. */
  async ready(withinMs = 120_000): Promise<this> {
    const waiting = eventually(
      async () => {
        if (this.#hasExited) return;
        const { status, reasons } = await this.readiness();
        if (status !== 200) throw new Error(`not ready: ${reasons.join('; ')}`);
      },
      { withinMs },
    );
    await waiting.catch(async (error: Error) => {
      throw new Error(`${this.name}: ${error.message}\n${await this.lastWords()}`);
    });
    if (this.#hasExited) throw new Error(`${this.name} ended before it was ready\n${await this.lastWords()}`);
    return this;
  }

  async lastWords(): Promise<string> {
    const lines = (await this.output()).trimEnd().split('\n').slice(-LOG_LINES_SHOWN);
    return lines.map((line) => `  ${this.name}| ${line.slice(0, 400)}`).join('\n');
  }
}

export function launchServer(options: ServerProcessOptions): ServerProcess {
  return new ServerProcess(options);
}

/** For afterEach and afterAll: kills what a failed test left running. */
export async function endServers(): Promise<void> {
  await Promise.all([...started].map((server) => server.kill()));
}
