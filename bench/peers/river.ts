/**
 * river, a job queue in Go on PostgreSQL: the program in bench/peers/river does the work and keeps the ledger of what ran,
 * this side only gives it orders. Ids go over before the clock starts and come back after it has stopped, so that the way
 * between the two processes costs river nothing. Finished jobs stay in its table as history.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { BenchJob, System, SystemEnv } from '../system.ts';
import { riverProgram, riverVersion } from './build-river.ts';

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
  readonly keepsHistory = true;
  #program: ChildProcess | undefined;
  #answers!: AsyncIterator<string>;

  async start(env: SystemEnv): Promise<void> {
    // Its input closes with this process, however it ends, and then so does the program.
    this.#program = spawn(riverProgram, { stdio: ['pipe', 'pipe', 'inherit'] });
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
