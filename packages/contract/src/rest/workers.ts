/** Workers, as they are shown. */
import type { NodeId, RunId, WorkerId } from '@carillon/domain';
import { z } from 'zod';
import { answerOf, deprecated, instant, instantText } from './answer.ts';

interface WorkerFacts {
  readonly workerId: WorkerId;
  readonly nodeId: NodeId;
  readonly alive: boolean;
  readonly slots: number;
  readonly running: number;
  readonly handlers: readonly string[];
  readonly lastSeenMs: number;
  readonly name?: string | undefined;
  readonly language?: string | undefined;
  readonly version?: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly remote: boolean;
  readonly draining: boolean;
  readonly stuck: number;
  readonly lostAtMs: number | undefined;
  readonly held: number;
  readonly heldRuns: readonly RunId[];
}

export const { answer: workerAnswer, view: workerView } = answerOf<WorkerFacts>('Worker')({
  worker_id: [z.string(), (worker) => worker.workerId],
  name: [z.string().nullable().describe('What it calls itself.'), (worker) => worker.name ?? null],
  node_id: [
    z.string().describe('The server process that it is part of, or that it is connected to.'),
    (worker) => worker.nodeId,
  ],
  remote: [z.boolean().describe('A process of its own, not part of a server.'), (worker) => worker.remote],
  language: [z.string().nullable().describe('What it is written in.'), (worker) => worker.language ?? null],
  version: [z.string().nullable(), (worker) => worker.version ?? null],
  labels: [z.record(z.string(), z.string()), (worker) => ({ ...worker.labels })],
  alive: [z.boolean().describe('False: it was lost.'), (worker) => worker.alive],
  lost_at: [
    instant
      .nullable()
      .describe('When it was given up for dead; such workers are listed for an hour. null: it is not.'),
    (worker) => instantText(worker.lostAtMs),
  ],
  lost_runs: [
    z.int().describe('Of a lost one: how many runs it held, which are tried again.'),
    (worker) => worker.held,
  ],
  lost_run_ids: [z.array(z.uuid()).describe('The first 20 of them.'), (worker) => [...worker.heldRuns]],
  slots: [z.int().describe('Runs it takes at once.'), (worker) => worker.slots],
  running: [z.int().describe('Runs it holds now.'), (worker) => worker.running],
  stuck: [
    z
      .int()
      .describe('Handlers that have not returned though they were told to stop: their slots stay in use.'),
    (worker) => worker.stuck,
  ],
  draining: [
    z.boolean().describe('It takes no more runs, and ends those that it holds.'),
    (worker) => worker.draining,
  ],
  handlers: [z.array(z.string()), (worker) => [...worker.handlers]],
  last_seen_at: [instant, (worker) => instantText(worker.lastSeenMs)],
  last_seen: [deprecated(instant, 'last_seen_at'), (worker) => instantText(worker.lastSeenMs)],
});
