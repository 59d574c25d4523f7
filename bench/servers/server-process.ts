/**
 * Carillon as `npm start` runs it, in a process that is told when to start and stop it: jobs can be made while it is down, and
 * then started by code that is warm. Run with DATABASE_URL and DATA_FOLDER.
 */
import type { StartedServer } from '../../packages/server/src/start-server.ts';
import { answerCalls } from '../call-process.ts';
import { createJobs, openEngine } from '../engine/open-engine.ts';
import { keptBytes } from '../kept-memory.ts';
import { startBenchServer } from './start-bench-server.ts';

export type ServerCalls = typeof calls;

export type JobsOrder = {
  readonly jobs: number;
  readonly handler: string;
  /** Each job has its index besides. */
  readonly payload: Readonly<Record<string, string>>;
};

const { DATABASE_URL = '', DATA_FOLDER = '' } = process.env;
let server: StartedServer | undefined;

const calls = {
  /** Through the operation that the REST interface calls, of an engine that runs nothing. */
  async create({ jobs, handler, payload }: JobsOrder): Promise<void> {
    const open = await openEngine({ databaseUrl: DATABASE_URL, slots: 1, handler: () => undefined });
    try {
      await createJobs(open.engine, jobs, (index) => ({
        ...{ name: 'bench', scheduleType: 'IMMEDIATE', handler },
        payload: { ...payload, index },
      }));
    } finally {
      await open.close();
    }
  },

  async start({ slots }: { slots: number }): Promise<{ address: string; adminKey: string }> {
    const started = await startBenchServer({
      databaseUrl: DATABASE_URL,
      dataFolder: DATA_FOLDER,
      slots,
    });
    server = started.server;
    return { address: started.address, adminKey: started.adminKey };
  },

  async kept(_order: null): Promise<number> {
    return keptBytes();
  },

  stop,
};

answerCalls(calls, stop);

async function stop(): Promise<void> {
  await server?.stop();
  server = undefined;
}
