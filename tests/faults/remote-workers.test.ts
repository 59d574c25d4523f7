/**
 * Workers on other machines, as processes: their home dies, they die, they stand still, their stream is cut, they leave. Nothing is
 * lost, nothing runs twice at the same time, and leaving costs a run no attempt (hazards 14, 21, 22, 28, 33).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { callApi, submitJobs } from '../support/api-client.ts';
import { COMPILE_CACHE } from '../support/compile-cache.ts';
import { eventually } from '../support/eventually.ts';
import { ServerStage } from '../support/server-stage.ts';
import { StallableProxy } from '../support/stallable-proxy.ts';
import type { ServerProcess } from '../support/start-server-process.ts';

const SOON = { withinMs: 120_000 };
const PROGRAM = join(import.meta.dirname, 'remote-worker/worker-program.ts');
const FLAGS = ['--worker-silent-seconds', '6', '--node-ttl-seconds', '3', '--shutdown-grace-seconds', '1'];

let stage: ServerStage;
let workers: ChildProcess[];

beforeEach(async () => {
  workers = [];
  stage = await ServerStage.open();
});

afterEach(async () => {
  for (const worker of workers) worker.kill('SIGKILL');
  await stage.close();
});

const launch = (name: string) => stage.launch(name, FLAGS);

/** The key of one server opens the others too: all have the same API keys, and each its own admin key. */
async function workerKey(server: ServerProcess): Promise<string> {
  const { status, body } = await callApi<{ key: string }>(server, '/api/keys', {
    method: 'POST',
    body: { name: 'worker', grants: [{ namespace: '*', role: 'admin' }], scopes: ['workers.connect'] },
  });
  expect(status, JSON.stringify(body)).toBe(201);
  return body.key;
}

interface WorkerOptions {
  readonly key: string;
  readonly drainSeconds?: number;
  readonly handlers?: string;
}

/** Resolves when the cluster knows it. */
async function startWorker(servers: readonly string[], options: WorkerOptions): Promise<ChildProcess> {
  const { key, drainSeconds = 30, handlers = 'remote' } = options;
  const before = await remoteIds();
  const worker = spawn(
    process.execPath,
    [
      '--disable-warning=ExperimentalWarning',
      PROGRAM,
      servers.join(','),
      key,
      String(drainSeconds),
      handlers,
    ],
    {
      cwd: stage.folder,
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...COMPILE_CACHE },
      stdio: ['pipe', 'inherit', 'inherit'],
    },
  );
  workers.push(worker);
  await eventually(async () => {
    expect((await remoteIds()).filter((workerId) => !before.includes(workerId))).toHaveLength(1);
  }, SOON);
  return worker;
}

const remoteWorkers = () =>
  stage.postgres.query<{ worker_id: string; node_id: string }>(
    `SELECT worker_id, node_id::text FROM workers WHERE worker_id LIKE '%@%' AND NOT dead ORDER BY worker_id`,
  );

const remoteIds = async () => (await remoteWorkers()).map(({ worker_id: workerId }) => workerId);

interface Attempt extends Record<string, unknown> {
  readonly epoch: number;
  readonly status: string;
  readonly attempt_number: number;
  readonly executor_id: string;
  readonly error_message: string | null;
}

const attempts = (jobId: string) =>
  stage.postgres.query<Attempt>(
    `SELECT epoch, status, attempt_number, executor_id, error_message FROM job_runs
      WHERE job_id = $1 AND status <> 'RUNNING' ORDER BY epoch`,
    [jobId],
  );

const untilSucceeded = (jobId: string) =>
  eventually(
    async () => expect((await attempts(jobId)).map(({ status }) => status)).toContain('SUCCESS'),
    SOON,
  );

async function submit(server: ServerProcess, durationMs: number, handler = 'remote'): Promise<string> {
  const payload = { url: stage.receiver.url(durationMs, 'remote') };
  const [jobId = ''] = await submitJobs(server, [{ name: 'far away', handler, payload }]);
  return jobId;
}

const calls = () => stage.receiver.tagged('remote');
const untilCalled = (times = 1) => eventually(() => expect(calls()).toHaveLength(times), SOON);

it('home killed: its worker goes to the other server, the run goes on and is recorded once (hazards 9, 28)', async () => {
  const [home, other] = await Promise.all([launch('home'), launch('other')]);
  const key = await workerKey(home);
  await startWorker([home.address, other.address], { key });
  const [registered] = await remoteWorkers();
  const jobId = await submit(other, 10_000);
  await untilCalled();
  await home.kill();
  await untilSucceeded(jobId);
  expect((await attempts(jobId)).map(({ epoch, executor_id }) => [epoch, executor_id])).toEqual([
    [1, registered!.worker_id],
  ]);
  expect(calls()).toHaveLength(1);
  const [moved] = await remoteWorkers();
  expect(moved!.worker_id).toBe(registered!.worker_id);
  expect(moved!.node_id).not.toBe(registered!.node_id);
});

it('a server that stops in order sends its worker to another; the run goes on (hazard 22)', async () => {
  const [home, other] = await Promise.all([launch('home'), launch('other')]);
  const key = await workerKey(home);
  await startWorker([home.address, other.address], { key });
  const jobId = await submit(other, 8_000);
  await untilCalled();
  expect(await home.stop(60_000)).toEqual({ code: 0, signal: null });
  await untilSucceeded(jobId);
  expect((await attempts(jobId)).map(({ epoch }) => epoch)).toEqual([1]);
  expect(calls()).toHaveLength(1);
});

it('worker killed: its run is lost and tried again on another worker, never beside the first (hazards 14, 20)', async () => {
  const server = await launch('server');
  const key = await workerKey(server);
  const first = await startWorker([server.address], { key });
  const jobId = await submit(server, 6_000);
  await untilCalled();
  await startWorker([server.address], { key });
  first.kill('SIGKILL');
  await untilSucceeded(jobId);
  const [lost, won, ...more] = await attempts(jobId);
  expect(more).toEqual([]);
  expect(lost).toMatchObject({ epoch: 1, status: 'LOST', error_message: expect.stringContaining('lost') });
  expect(won).toMatchObject({ epoch: 2, status: 'SUCCESS', attempt_number: 1 });
  expect(stage.receiver.overlaps()).toEqual([]);
});

it('worker frozen past the silence and thawed: its late report is stale, and its run has moved on (hazard 14)', async () => {
  const server = await launch('server');
  const key = await workerKey(server);
  const frozen = await startWorker([server.address], { key });
  const jobId = await submit(server, 4_000);
  await untilCalled();
  frozen.kill('SIGSTOP');
  const heir = await startWorker([server.address], { key });
  await untilSucceeded(jobId);
  const before = await remoteIds();
  frozen.kill('SIGCONT');
  // It comes back, and works.
  await eventually(async () => {
    expect((await remoteIds()).filter((workerId) => !before.includes(workerId))).toHaveLength(1);
  }, SOON);
  heir.kill('SIGKILL');
  await untilSucceeded(await submit(server, 1));
  expect((await attempts(jobId)).map(({ epoch, status }) => [epoch, status])).toEqual([
    [1, 'LOST'],
    [2, 'SUCCESS'],
  ]);
});

it('stream cut: the worker dials again under the same id, and its run goes on (hazard 33)', async () => {
  const server = await launch('server');
  const key = await workerKey(server);
  const proxy = await new StallableProxy(server.address).start();
  try {
    await startWorker([proxy.url], { key });
    const [registered] = await remoteWorkers();
    const jobId = await submit(server, 8_000);
    await untilCalled();
    proxy.cut();
    await untilSucceeded(jobId);
    expect((await attempts(jobId)).map(({ epoch, executor_id }) => [epoch, executor_id])).toEqual([
      [1, registered!.worker_id],
    ]);
    expect(calls()).toHaveLength(1);
  } finally {
    await proxy.stop();
  }
});

it('a worker that is stopped gives back what takes too long, and that is no attempt (hazard 22)', async () => {
  const server = await launch('server');
  const key = await workerKey(server);
  const leaving = await startWorker([server.address], { key, drainSeconds: 1 });
  const jobId = await submit(server, 6_000);
  await untilCalled();
  leaving.kill('SIGTERM');
  const code = await new Promise((resolve) => leaving.once('exit', resolve));
  expect(code).toBe(0);
  expect(await remoteWorkers()).toEqual([]);
  await startWorker([server.address], { key });
  await untilSucceeded(jobId);
  expect((await attempts(jobId)).map(({ epoch, attempt_number }) => [epoch, attempt_number])).toEqual([
    [1, 1],
    [2, 1],
  ]);
  expect(stage.receiver.overlaps()).toEqual([]);
});

it('a handler that only one worker offers is found, wherever it is connected; without one the run waits, and says why (hazard 21)', async () => {
  const [one, two] = await Promise.all([launch('one'), launch('two')]);
  const key = await workerKey(one);
  const jobId = await submit(one, 1, 'rare');
  const waiting = async () => {
    const { body } = await callApi<readonly { status: string; reason?: string }[]>(
      one,
      `/api/jobs/${jobId}/runs`,
    );
    return body;
  };
  await eventually(async () => {
    expect(await waiting()).toMatchObject([
      { status: 'QUEUED', reason: 'no worker offers the handler "rare"' },
    ]);
  }, SOON);
  await startWorker([two.address], { key, handlers: 'rare' });
  await untilSucceeded(jobId);
});
