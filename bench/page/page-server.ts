/**
 * Carillon as `npm start` runs it, over a store that was filled before, with handlers that do nothing. It is told when to take in jobs at
 * a steady rate and runs them; what it ran it tells. Run with DATABASE_URL and DATA_FOLDER.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { StartedServer } from '../../packages/server/src/start-server.ts';
import type { RunContext } from '../../packages/worker/src/handler.ts';
import { answerCalls } from '../call-process.ts';
import { createJobs, type OpenEngine, openEngine } from '../engine/open-engine.ts';
import { isAllRecorded } from '../engine/store-facts.ts';
import { percentile } from '../percentile.ts';
import { startBenchServer } from '../servers/start-bench-server.ts';
import { onConnection } from '../stores.ts';
import { handlers } from './planned-store.ts';

export type PageServerCalls = typeof calls;

const { DATABASE_URL = '', DATA_FOLDER = '' } = process.env;
const batchesPerSecond = 20;
const marked = 'page';

let server: StartedServer | undefined;
/** Jobs come in through the operation that the REST interface calls, of an engine that runs nothing. */
let intake: OpenEngine | undefined;
let ran = 0;
let expected = Number.POSITIVE_INFINITY;
let allRan: (() => void) | undefined;
let firstAt = 0;
let delaysMs: number[] = [];
let isLoaded = false;
let loading: Promise<{ created: number; seconds: number }> | undefined;

const handle = ({ payload, scheduledAt }: RunContext): void => {
  // What becomes due of the filled store meanwhile is not counted.
  if (payload.mark !== marked) return;
  if (ran === 0) firstAt = performance.now();
  ran += 1;
  if (delaysMs.length < 1_000_000) delaysMs.push(Date.now() - scheduledAt.getTime());
  if (ran === expected) allRan?.();
};

async function submit(jobs: number): Promise<void> {
  intake ??= await openEngine({
    databaseUrl: DATABASE_URL,
    slots: 1,
    handler: () => undefined,
    tellsOthers: true,
  });
  await createJobs(intake.engine, jobs, () => ({
    name: 'bench',
    scheduleType: 'IMMEDIATE',
    handler: handlers[0],
    payload: { mark: marked },
  }));
}

async function keepSubmitting(perSecond: number): Promise<{ created: number; seconds: number }> {
  const startedAt = performance.now();
  let created = 0;
  for (let batches = 0; isLoaded; batches += 1) {
    await sleep(Math.max(0, startedAt + (batches * 1_000) / batchesPerSecond - performance.now()));
    await submit(perSecond / batchesPerSecond);
    created += perSecond / batchesPerSecond;
  }
  return { created, seconds: (performance.now() - startedAt) / 1_000 };
}

const calls = {
  async start({ slots }: { slots: number }): Promise<{ address: string; adminKey: string }> {
    const started = await startBenchServer({
      databaseUrl: DATABASE_URL,
      dataFolder: DATA_FOLDER,
      slots,
      // Of the last nobody runs any: its runs wait.
      handlers: new Map(handlers.slice(0, -1).map((name) => [name, handle])),
    });
    server = started.server;
    return { address: started.address, adminKey: started.adminKey };
  },

  /** From now on so many jobs come in each second, and are run. */
  async beginLoad({ perSecond }: { perSecond: number }): Promise<void> {
    ran = 0;
    delaysMs = [];
    isLoaded = true;
    loading = keepSubmitting(perSecond);
  },

  /** What came in, and what ran of it until it had all run. */
  async endLoad(_order: null) {
    isLoaded = false;
    const { created, seconds } = await loading!;
    const giveUpAtMs = performance.now() + 60_000;
    while (ran < created && performance.now() < giveUpAtMs) await sleep(20);
    const sorted = Int32Array.from(delaysMs).toSorted();
    return {
      created,
      ran,
      perSecond: created / seconds,
      p50Ms: sorted.length === 0 ? 0 : percentile(sorted, 0.5),
      p99Ms: sorted.length === 0 ? 0 : percentile(sorted, 0.99),
    };
  },

  /** While the server is down. */
  async create({ jobs }: { jobs: number }): Promise<void> {
    ran = 0;
    delaysMs = [];
    expected = jobs;
    await submit(jobs);
  },

  /** From the first start of a job that was created until all of them are recorded. The server is started meanwhile. */
  async drained(_order: null): Promise<number> {
    if (ran < expected)
      await new Promise<void>((resolve) => {
        allRan = resolve;
      });
    await onConnection(DATABASE_URL, async (client) => {
      while (!(await isAllRecorded(client))) await sleep(1);
    });
    const seconds = (performance.now() - firstAt) / 1_000;
    const perSecond = expected / seconds;
    expected = Number.POSITIVE_INFINITY;
    return perSecond;
  },

  async stop(_order: null): Promise<void> {
    await stop();
  },
};

answerCalls(calls, stop);

async function stop(): Promise<void> {
  isLoaded = false;
  await server?.stop();
  server = undefined;
  await intake?.close();
  intake = undefined;
}
