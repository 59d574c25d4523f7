/**
 * The command without a process of its own: the same words, streams and exit code, from the function that `main.ts` calls. Starting Node and
 * reading the sources is most of a short command, and some test files run a hundred. Signals, terminals, the time zone and the end of the
 * process are those of run-carillon.ts; `commands.test.ts` has a real process for every kind of command.
 */
import { Readable, Writable } from 'node:stream';
import type { World } from '../../packages/cli/src/cli.ts';
import { runCli } from '../../packages/cli/src/program.ts';
import type { CarillonOptions, Ended } from './run-carillon.ts';

/** They end or take over the process that they run in. */
const NEED_A_PROCESS = ['start', 'serve', 'migrate', 'worker'];
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

export function needsAProcess([command = '']: readonly string[], { program, env }: CarillonOptions): boolean {
  return program !== undefined || env?.TZ !== undefined || NEED_A_PROCESS.includes(command);
}

export async function runInProcess(args: readonly string[], options: CarillonOptions): Promise<Ended> {
  const [stdout, stderr] = [new Said(), new Said()];
  const world = {
    // As a process of run-carillon.ts has it.
    env: { PATH: process.env.PATH, HOME: options.cwd, TZ: 'UTC', ...options.env },
    cwd: options.cwd,
    stdin: Readable.from([Buffer.from(options.input ?? '')], { objectMode: false }),
    stdout,
    stderr,
  };
  const listeners = SIGNALS.map((signal) => process.listeners(signal));
  // A pipe has nothing of a terminal but its name.
  const code = await runCli(args, world as unknown as World);
  // The end of its process would remove what it listened to.
  for (const [i, signal] of SIGNALS.entries()) {
    const added = process.listeners(signal).filter((listener) => !listeners[i]?.includes(listener));
    for (const listener of added) process.off(signal, listener);
  }
  return { code, stdout: stdout.text, stderr: stderr.text };
}

class Said extends Writable {
  readonly #chunks: Buffer[] = [];

  get text(): string {
    return Buffer.concat(this.#chunks).toString();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#chunks.push(chunk);
    done();
  }
}
