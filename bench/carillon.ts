/**
 * Carillon as the bench's subject: the production engine in this process, with its full history. Jobs come in through the
 * same operation that the REST interface calls; the handler is a function, as the peers' are.
 */
import pg from 'pg';
import { createJobs, handlerName, type OpenEngine, openEngine } from './engine/open-engine.ts';
import { countSucceeded, countUnfinished } from './engine/store-facts.ts';
import type { BenchJob, System, SystemEnv } from './system.ts';

const slots = 2_000;

export class Carillon implements System {
  readonly name = 'carillon';
  readonly version = '0.1.0';
  #pool!: pg.Pool;
  #open!: OpenEngine;
  #onRun: (id: string) => void = () => undefined;

  async start(env: SystemEnv): Promise<void> {
    this.#pool = new pg.Pool({ connectionString: env.databaseUrl, max: 1 });
    this.#pool.on('error', () => undefined);
    this.#open = await openEngine({
      databaseUrl: env.databaseUrl,
      slots,
      handler: (context) => this.#onRun(context.payload.id as string),
    });
  }

  async submit(jobs: readonly BenchJob[]): Promise<void> {
    await createJobs(this.#open.engine, jobs.length, (index) => ({
      name: 'bench',
      scheduleType: 'IMMEDIATE',
      handler: handlerName,
      payload: { id: jobs[index]!.id },
    }));
  }

  async drain(onRun: (id: string) => void, total: number): Promise<void> {
    let ran = 0;
    const all = new Promise<void>((resolve) => {
      this.#onRun = (id) => {
        onRun(id);
        ran += 1;
        if (ran === total) resolve();
      };
    });
    await this.#open.start();
    await all;
    await this.#recorded();
  }

  /** All handlers have run; the last outcomes are on their way into the store. */
  async #recorded(): Promise<void> {
    const giveUpAtMs = performance.now() + 10_000;
    while ((await this.countUnfinished()) > 0)
      if (performance.now() > giveUpAtMs) throw new Error('outcomes were not recorded');
  }

  countUnfinished(): Promise<number> {
    return countUnfinished(this.#pool);
  }

  countHistory(): Promise<number> {
    return countSucceeded(this.#pool);
  }

  async stop(): Promise<void> {
    await this.#open?.close();
    await this.#pool?.end();
  }
}
