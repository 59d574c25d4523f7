/**
 * Carillon as `npm start` runs it, in a process that is told when to start and stop it: jobs can be made while it is down, and
 * then started by code that is warm. Run with DATABASE_URL and DATA_FOLDER.
 */
import { readFileSync } from 'node:fs';
import { silentLog } from '../../packages/foundation/src/index.ts';
import { loadConfig } from '../../packages/server/src/config/load-config.ts';
import { type StartedServer, startServer } from '../../packages/server/src/start-server.ts';
import { answerCalls } from '../call-process.ts';
import { createJobs, openEngine } from '../engine/open-engine.ts';
import { keptBytes } from '../kept-memory.ts';

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
    const flags = ['--database-url', DATABASE_URL, '--data', DATA_FOLDER, '--port', '0'];
    // The bench is one caller with one key: what is measured is the server, not its patience with one caller.
    const patience = ['--rate-limit-key-per-second', '0', '--rate-limit-address-per-second', '0'];
    const loaded = loadConfig({
      argv: [...flags, ...patience, '--executor-slots', String(slots)],
      env: {},
      cwd: DATA_FOLDER,
    });
    if (loaded.kind !== 'run') throw new Error('the flags of the bench are not understood');
    server = await startServer({
      config: loaded.config,
      log: silentLog,
      onReplaced: () => process.exit(1),
    });
    return { address: server.address, adminKey: readFileSync(server.adminKeyFile, 'utf8').trim() };
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
