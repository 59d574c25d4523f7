/**
 * Writes a planned store into a migrated database as the engine would have left it: jobs, what waits, the history with its dead
 * letters, and the counts and groups of failures, which the production code adds up. Set-based inserts with all indexes in place.
 */
import pg from 'pg';
import { shardOf } from '../../packages/domain/src/job/job.ts';
import { plainArray, textArray } from '../../packages/server/src/postgres/array-literal.ts';
import { migrate } from '../../packages/server/src/postgres/migrate.ts';
import { handlerKey, partOf, tenantOf } from '../../packages/server/src/storage/lane.ts';
import type { EndedRecord } from '../../packages/server/src/storage/run-tally.ts';
import { RunTally } from '../../packages/server/src/storage/run-tally.ts';
import { createJobs, openEngine } from '../engine/open-engine.ts';
import { inBatches } from '../in-batches.ts';
import { makePastPartitions } from '../scale/fill-database.ts';
import { addCounts } from './add-counts.ts';
import * as sql from './fill-statements.ts';
import {
  errorEnd,
  errors,
  handlers,
  namespaces,
  type PlannedJob,
  type PlannedRun,
  type PlannedStore,
  statuses,
  workerCount,
} from './planned-store.ts';

const rowsPerBatch = 20_000;
const yearMs = 365 * 24 * 3_600_000;
const minutesKeptMs = 2 * 24 * 3_600_000;
/** Entries of the audit log that change a recurring job, beside the one that made it. */
const changesPerJob = 5;

export async function fillPageStore(options: {
  databaseUrl: string;
  plan: PlannedStore;
  abort: AbortSignal;
}): Promise<void> {
  const { databaseUrl, plan, abort } = options;
  await migrate(databaseUrl);
  await makePastPartitions(databaseUrl);
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 4 });
  try {
    await makeTemplates(databaseUrl, pool);
    await pool.query(sql.insertNamespaces, [namespaces, (plan.beginMs - 2 * 24 * 3_600_000) / 1_000]);
    await pool.query(sql.insertWorkers, [workerCount, handlers, plan.nowMs]);
    const each = (count: number, write: (from: number, to: number) => Promise<unknown>) =>
      inBatches({
        items: Array.from({ length: Math.ceil(count / rowsPerBatch) }, (_, i) => i * rowsPerBatch),
        size: 1,
        lanes: 3,
        send: async ([from]) => {
          abort.throwIfAborted();
          await write(from!, Math.min(count, from! + rowsPerBatch));
        },
      });
    await each(plan.jobs, (from, to) => insertJobs(pool, plan, [from, to]));
    await pool.query(sql.insertChanges, [changesPerJob]);
    await each(plan.runs, (from, to) => insertRuns(pool, plan, [from, to]));
    await pool.query('DROP TABLE bench_templates');
  } finally {
    await pool.end();
  }
}

/** The engine writes one job of each kind, whose columns the others copy. */
async function makeTemplates(databaseUrl: string, pool: pg.Pool): Promise<void> {
  const open = await openEngine({ databaseUrl, slots: 1, handler: () => undefined });
  try {
    const payload = { url: 'https://example.com/hook', retries: 3, text: 'x'.repeat(60) };
    const ids = await createJobs(open.engine, 3, (index) => ({
      name: 'template',
      handler: handlers[0],
      payload,
      ...[
        { scheduleType: 'CRON' as const, cronExpression: '17 3 * * *' },
        { scheduleType: 'INTERVAL' as const, interval: '24h' },
        { scheduleType: 'FUTURE' as const, scheduleTime: new Date(Date.now() + yearMs).toISOString() },
      ][index]!,
    }));
    await pool.query(sql.makeTemplates);
    for (const statement of sql.takeTemplates) await pool.query(statement, [plainArray(ids)]);
  } finally {
    await open.close();
  }
}

async function insertJobs(pool: pg.Pool, plan: PlannedStore, [from, to]: readonly [number, number]) {
  const jobs = Array.from({ length: to - from }, (_, i) => plan.job(from + i));
  const shards = jobs.map(({ jobId }) => shardOf(jobId));
  await pool.query(sql.insertJobs, [
    plainArray(jobs.map(({ jobId }) => jobId)),
    textArray(jobs.map(({ name }) => name)),
    plainArray(jobs.map(({ kind }, i) => (isRecurring(kind) ? (from + i) % 2 : 2))),
    textArray(jobs.map(({ kind }) => statusOf(kind))),
    textArray(jobs.map(({ namespace }) => namespaces[namespace]!)),
    textArray(jobs.map(({ handler }) => handlers[handler]!)),
    textArray(jobs.map(({ userId }) => userId)),
    textArray(jobs.map(({ labels }) => labels && JSON.stringify(labels))),
    plainArray(jobs.map(({ createdMs }) => createdMs)),
    plainArray(shards),
    plainArray(jobs.map((job, i) => instantOf(job, from + i, plan))),
    plainArray(shards.map(partOf)),
    plainArray(jobs.map(({ handler }) => handlerKey(handlers[handler]!))),
    plainArray(jobs.map(({ namespace, userId }) => tenantOf({ namespace: namespaces[namespace]!, userId }))),
    textArray(jobs.map(({ kind }, i) => (isRecurring(kind) ? `sync/${from + i}` : undefined))),
  ]);
}

/** When it starts next; of the past: it waits for a handler that nobody offers. Of a job that ended: when it was made. */
function instantOf({ kind, handler, createdMs }: PlannedJob, index: number, plan: PlannedStore): number {
  const share = ((index * 2_654_435_761) % 2 ** 32) / 2 ** 32;
  if (isRecurring(kind)) return Math.floor(plan.nowMs + 600_000 + share * 24 * 3_600_000);
  if (kind !== 'future') return createdMs;
  return Math.floor(
    handlers[handler] === 'rare' ? plan.nowMs - share * 3_600_000 : plan.nowMs + 3_600_000 + share * yearMs,
  );
}

function isRecurring(kind: PlannedJob['kind']): boolean {
  return kind === 'recurring' || kind === 'paused';
}

function statusOf(kind: PlannedJob['kind']): string {
  return kind === 'paused' ? 'PAUSED' : kind === 'cancelled' ? 'CANCELLED' : 'SCHEDULED';
}

async function insertRuns(pool: pg.Pool, plan: PlannedStore, [from, to]: readonly [number, number]) {
  const runs = Array.from({ length: to - from }, (_, i) => plan.run(from + i));
  const jobs = runs.map(({ job }) => plan.job(job));
  const tally = new RunTally();
  for (const [i, run] of runs.entries()) tally.addRecord(recordOf(run, jobs[i]!, from + i));
  const dead = runs.flatMap((run, i) => (run.isDead ? [{ ...run, n: from + i, jobId: jobs[i]!.jobId }] : []));
  await Promise.all([
    pool.query(sql.insertRuns, [
      plainArray(runs.map(({ runId }) => runId)),
      plainArray(jobs.map(({ jobId }) => jobId)),
      plainArray(runs.map(({ status }) => status + 1)),
      plainArray(runs.map(({ attempt }) => attempt)),
      plainArray(runs.map(({ worker }) => worker)),
      plainArray(runs.map(({ startedMs }) => startedMs)),
      plainArray(runs.map(({ delayMs }) => delayMs)),
      plainArray(runs.map(({ durationMs }) => durationMs)),
      plainArray(runs.map(({ error }) => error + 1)),
      statuses,
      errors,
      from,
    ]),
    pool.query(sql.insertLetters, [
      plainArray(dead.map(({ runId }) => runId)),
      plainArray(dead.map(({ jobId }) => jobId)),
      textArray(dead.map(({ error, n }) => errors[error]! + errorEnd(n))),
      plainArray(dead.map(({ startedMs, durationMs }) => startedMs + durationMs)),
      // One in ten was not handled yet.
      plainArray(dead.map(({ n }) => (isHandled(n) ? 1 : 0))),
    ]),
  ]);
  await addCounts(pool, tally, {
    minutesFromMs: plan.nowMs - minutesKeptMs,
    lastMs: Math.max(...runs.map(({ startedMs, durationMs }) => startedMs + durationMs)),
  });
}

export function isHandled(n: number): boolean {
  return n % 10 !== 1;
}

function recordOf(run: PlannedRun, job: PlannedJob, n: number): EndedRecord {
  const { startedMs, durationMs, delayMs, error } = run;
  const status = statuses[run.status]!;
  const hasStarted = status !== 'SKIPPED';
  return {
    namespace: namespaces[job.namespace]!,
    handler: handlers[job.handler]!,
    jobId: job.jobId,
    runId: run.runId,
    recordedAtMs: startedMs + durationMs,
    status,
    isRetried: run.isRetried,
    delayMs: run.attempt === 1 ? delayMs : undefined,
    startedAtMs: hasStarted ? startedMs : undefined,
    endedAtMs: hasStarted ? startedMs + durationMs : undefined,
    error: error < 0 ? undefined : errors[error]! + errorEnd(n),
    occurrences: 1,
  };
}
