/** The production engine over a real PostgreSQL, composed as the server composes it, with one function as its handler. */
import { randomUUID } from 'node:crypto';
import { SERVER } from '../../packages/domain/src/access/caller.ts';
import type { BootId, JobId, NodeId } from '../../packages/domain/src/ids.ts';
import type { JobInput } from '../../packages/domain/src/job/job.ts';
import { silentLog, systemClock, systemRandom } from '../../packages/foundation/src/index.ts';
import {
  composeEngine,
  ENGINE_DEFAULTS,
  type Engine,
  type EngineSettings,
} from '../../packages/server/src/compose.ts';
import { migrate } from '../../packages/server/src/postgres/migrate.ts';
import { MemorySignalBus } from '../../packages/server/src/signal-bus/memory-signal-bus.ts';
import { PostgresSignalBus } from '../../packages/server/src/signal-bus/postgres/postgres-signal-bus.ts';
import { openPostgresStorage } from '../../packages/server/src/storage/postgres/postgres-storage.ts';
import type { Handler } from '../../packages/worker/src/handler.ts';
import { inBatches } from '../in-batches.ts';

export const handlerName = 'noop';

export type OpenEngine = Awaited<ReturnType<typeof openEngine>>;

/** Not started yet. */
export async function openEngine(options: {
  databaseUrl: string;
  slots: number;
  handler: Handler;
  settings?: Partial<EngineSettings>;
  /** Other servers on the database hear of what it takes in at once, as they do of any server's. */
  tellsOthers?: boolean;
}) {
  const { databaseUrl, slots, handler, settings, tellsOthers = false } = options;
  await migrate(databaseUrl);
  const connection = { url: databaseUrl, statementTimeoutMs: 30_000, connectTimeoutMs: 5_000 };
  const storage = openPostgresStorage({ ...connection, connectionsMax: 10 });
  const common = { clock: systemClock, random: systemRandom, log: silentLog };
  const local = new MemorySignalBus({ log: silentLog });
  const shared = tellsOthers ? new PostgresSignalBus({ ...connection, ...common, local }) : undefined;
  await shared?.start();
  const engine = composeEngine({
    storage,
    handlers: new Map([[handlerName, handler]]),
    nodeId: randomUUID() as NodeId,
    incarnation: 1,
    bootId: randomUUID() as BootId,
    address: 'bench',
    settings: { ...ENGINE_DEFAULTS, ...settings, slots },
    ...common,
    signals: shared ?? local,
    onReplaced: () => undefined,
  });
  let isRunning = false;
  const stop = async () => {
    if (isRunning) await engine.stop();
    isRunning = false;
  };
  return {
    engine,
    async start() {
      isRunning = true;
      await engine.start();
    },
    stop,
    /** Stops it first, if it runs. */
    async close() {
      await stop();
      await shared?.stop();
      await storage.close();
    },
  };
}

/**
 * Through the operation that the REST interface calls, in batches; durable when it resolves. Answers the ids of the jobs, whose handler
 * is handlerName.
 */
export async function createJobs(
  { operations }: Pick<Engine, 'operations'>,
  count: number,
  jobOf: (index: number) => JobInput,
): Promise<JobId[]> {
  const jobIds = new Array<JobId>(count);
  await inBatches({
    items: Array.from({ length: count }, (_, index) => index),
    size: 1_000,
    lanes: 4,
    send: async (indexes) => {
      // Nothing is copied or looked up here: this load shares the processor with the engine that it measures.
      const answers = await operations.createJobs(SERVER, indexes.map(jobOf));
      for (let i = 0; i < answers.length; i += 1) {
        const answer = answers[i]!;
        if (answer instanceof Error) throw answer;
        jobIds[indexes[i]!] = answer.jobId;
      }
    },
  });
  return jobIds;
}
