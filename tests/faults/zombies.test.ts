/**
 * Servers that are alive and cut off: paused, on a dead network, or leaving. Their runs go to the others, what they say too
 * late is refused and kept on record, and leaving costs a run no attempt (hazards 14, 22, 33).
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { submitJobs } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import type { OwnPostgres } from '../support/own-postgres.ts';
import type { Receiver } from '../support/receiver.ts';
import { ServerStage } from '../support/server-stage.ts';
import { StallableProxy } from '../support/stallable-proxy.ts';
import { endServers, type ServerProcess } from '../support/start-server-process.ts';

const SOON = { withinMs: 120_000 };
const JOBS_MAX = 30;
const FLAGS = ['--worker-silent-seconds', '4', '--node-ttl-seconds', '3', '--shutdown-grace-seconds', '1'];

let stage: ServerStage;
let receiver: Receiver;
let postgres: OwnPostgres;
/** Of the job that a test is about. */
let tag: string;

beforeEach(async () => {
  stage = await ServerStage.open();
  ({ receiver, postgres } = stage);
});

afterEach(() => stage.close());

const launch = (name: string, databaseUrl = postgres.url) =>
  stage.launch(name, ['--database-url', databaseUrl, ...FLAGS]);

/** Submits jobs one by one until one runs on the server, for shards decide where; answers its id. */
async function startJobOn(server: ServerProcess, durationMs: number): Promise<string> {
  const node = await nodeOf(server);
  for (let i = 0; i < JOBS_MAX; i += 1) {
    const [jobId = ''] = await submitJobs(server, [
      { name: `long ${i}`, payload: { url: receiver.url(durationMs, `job-${i}`) } },
    ]);
    await eventually(() => expect(receiver.tagged(`job-${i}`)).toHaveLength(1), SOON);
    tag = `job-${i}`;
    const held = await postgres.query(
      'SELECT FROM leases WHERE $1::uuid = ANY(job_ids) AND worker_id LIKE $2',
      [jobId, `${node}.%`],
    );
    if (held.length === 1) return jobId;
  }
  throw new Error(`none of ${JOBS_MAX} jobs ran on ${server.name}`);
}

interface Attempt extends Record<string, unknown> {
  readonly epoch: number;
  readonly status: string;
  readonly attempt_number: number;
  readonly executor_id: string;
  readonly error_message: string | null;
  readonly late_report: string | null;
}

const attempts = (jobId: string) =>
  postgres.query<Attempt>(
    `SELECT epoch, status, attempt_number, executor_id, error_message, late_report FROM job_runs
      WHERE job_id = $1 AND status <> 'RUNNING' ORDER BY epoch`,
    [jobId],
  );

async function untilSucceeded(jobId: string): Promise<void> {
  await eventually(async () => {
    expect((await attempts(jobId)).map(({ status }) => status)).toContain('SUCCESS');
  }, SOON);
}

const calls = () => receiver.tagged(tag);

const nodeOf = async (server: ServerProcess) =>
  (await readFile(join(server.dataDir, 'node.id'), 'utf8')).trim();

it('a paused server loses its run to another; what it reports when it goes on is refused and kept on record', async () => {
  const [zombie, heir] = await Promise.all([launch('zombie'), launch('heir')]);
  const jobId = await startJobOn(zombie, 8_000);
  zombie.signal('SIGSTOP');
  await untilSucceeded(jobId);
  expect((await attempts(jobId))[0]?.late_report).toBeNull();
  zombie.signal('SIGCONT');

  await eventually(
    async () => expect((await attempts(jobId))[0]?.late_report).toMatch(/^(SUCCESS|RETURNED)$/),
    SOON,
  );
  const [lost, won, ...more] = await attempts(jobId);
  expect(more).toEqual([]);
  expect(lost).toMatchObject({
    epoch: 1,
    status: 'LOST',
    error_message: expect.stringContaining('was lost'),
  });
  expect(lost?.executor_id).toContain(await nodeOf(zombie));
  expect(won).toMatchObject({ epoch: 2, status: 'SUCCESS', attempt_number: 1, late_report: null });
  expect(won?.executor_id).toContain(await nodeOf(heir));
  expect(calls().map(({ epoch }) => epoch)).toEqual([1, 2]);

  // And the zombie is a full member again, under a new name.
  await zombie.ready();
  await submitJobs(zombie, [{ name: 'next', payload: { url: receiver.url(1, 'next') } }]);
  await eventually(
    () => expect(receiver.tagged('next').map(({ answered }) => answered)).toEqual([true]),
    SOON,
  );
});

it('a server behind a dead network stops its run before another starts it', async () => {
  const proxy = await new StallableProxy(postgres.url).start();
  const [island] = await Promise.all([launch('island', proxy.url), launch('mainland')]);
  const jobId = await startJobOn(island, 10_000);
  proxy.stall();
  await eventually(() => expect(calls()).toHaveLength(2), SOON);
  const [first, second] = calls();
  expect(first?.answered).toBe(false);
  expect(first?.endedAt).toBeLessThan(second?.startedAt ?? 0);
  await untilSucceeded(jobId);
  proxy.recover();
  await island.ready();
  expect((await attempts(jobId)).map(({ epoch, status }) => [epoch, status])).toEqual([
    [1, 'LOST'],
    [2, 'SUCCESS'],
  ]);
  await endServers();
  await proxy.stop();
});

it('a server that is stopped during a long job gives it back, and that is no attempt', async () => {
  const [leaving] = await Promise.all([launch('leaving'), launch('staying')]);
  const jobId = await startJobOn(leaving, 8_000);
  expect(await leaving.stop(60_000)).toEqual({ code: 0, signal: null });
  const [given] = await attempts(jobId);
  expect(given).toMatchObject({ epoch: 1, status: 'RETURNED', attempt_number: 1 });
  expect(given?.error_message).toContain('the server was shut down');

  await untilSucceeded(jobId);
  expect((await attempts(jobId))[1]).toMatchObject({ epoch: 2, status: 'SUCCESS', attempt_number: 1 });
  expect(calls().map(({ epoch, attempt }) => [epoch, attempt])).toEqual([
    [1, 1],
    [2, 1],
  ]);
  expect(receiver.overlaps()).toEqual([]);
});
