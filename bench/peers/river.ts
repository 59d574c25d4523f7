/**
 * river, a job queue in Go on PostgreSQL: the program in bench/peers/river does the work and keeps the ledger of what ran,
 * this side only gives it orders. Ids go over before the clock starts and come back after it has stopped, so that the way
 * between the two processes costs river nothing. Finished jobs stay in its table as history.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { BenchJob, System, SystemEnv } from '../system.ts';

const folder = fileURLToPath(new URL('./river/', import.meta.url));
/** An ignored file, built from versions pinned in go.mod and go.sum. */
const program = `${folder}dist/river`;
/** The first build fetches and compiles about twenty modules. */
const buildPatienceMs = 600_000;

type Order =
  | { readonly do: 'start'; readonly databaseUrl: string }
  | { readonly do: 'take'; readonly ids: readonly string[] }
  | { readonly do: 'submit' | 'drain' | 'tell' | 'countUnfinished' | 'countHistory' | 'stop' };

type Answer = {
  readonly ok: boolean;
  readonly reason?: string;
  readonly count: number;
  readonly ids?: readonly string[];
};

export class River implements System {
  readonly name = 'river';
  readonly version = riverVersion();
  #program: ChildProcess | undefined;
  #answers!: AsyncIterator<string>;

  async start(env: SystemEnv): Promise<void> {
    // Its input closes with this process, however it ends, and then so does the program.
    this.#program = spawn(program, { stdio: ['pipe', 'pipe', 'inherit'] });
    // A program that is gone, or never came, is noticed by the answer that does not come.
    this.#program.on('error', (error) => console.error('river:', error.message));
    this.#program.stdin!.on('error', () => {});
    this.#answers = createInterface({ input: this.#program.stdout! })[Symbol.asyncIterator]();
    await this.#order({ do: 'start', databaseUrl: env.databaseUrl });
  }

  get processIds(): readonly number[] {
    return this.#program?.pid === undefined ? [] : [this.#program.pid];
  }

  async prepare(jobs: readonly BenchJob[]): Promise<void> {
    await this.#order({ do: 'take', ids: jobs.map(({ id }) => id) });
  }

  async submit(): Promise<void> {
    await this.#order({ do: 'submit' });
  }

  async drain(): Promise<void> {
    await this.#order({ do: 'drain' });
  }

  async tellRuns(onRun: (id: string) => void): Promise<void> {
    for (const id of (await this.#order({ do: 'tell' })).ids ?? []) onRun(id);
  }

  async countUnfinished(): Promise<number> {
    return (await this.#order({ do: 'countUnfinished' })).count;
  }

  async countHistory(): Promise<number> {
    return (await this.#order({ do: 'countHistory' })).count;
  }

  async stop(): Promise<void> {
    const { exitCode, signalCode, pid } = this.#program ?? {};
    if (!this.#program || pid === undefined || exitCode !== null || signalCode !== null) return;
    await this.#order({ do: 'stop' });
    this.#program.stdin!.end();
  }

  async #order(order: Order): Promise<Answer> {
    this.#program!.stdin!.write(`${JSON.stringify(order)}\n`);
    const line = await this.#answers.next();
    if (line.done) throw new Error(`river's program ended before it could ${order.do}`);
    const answer = JSON.parse(line.value) as Answer;
    if (!answer.ok) throw new Error(`river could not ${order.do}: ${answer.reason}`);
    return answer;
  }
}

/** Where it cannot be built the reason is the answer, and river is skipped with it; null when it is built. */
export async function buildRiver(): Promise<string | null> {
  try {
    await promisify(execFile)('go', ['build', '-o', program, '.'], { cwd: folder, timeout: buildPatienceMs });
    return null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      return 'no Go on this machine: install one and put it on PATH';
    const said = (error as { stderr?: string }).stderr?.trim() || String(error);
    return `its program cannot be built (${said.split('\n').at(-1)})`;
  }
}

function riverVersion(): string {
  const pinned = /riverqueue\/river v(\S+)/.exec(readFileSync(`${folder}go.mod`, 'utf8'))?.[1];
  if (pinned === undefined) throw new Error('go.mod names no version of river');
  return pinned;
}
