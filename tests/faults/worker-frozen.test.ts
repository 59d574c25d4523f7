/**
 * worker-frozen: a worker that stands still (SIGSTOP) cannot stop its scripts. Its guard does, before another worker runs the job again;
 * and when it goes on, nothing of the earlier attempt counts (hazard 14).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { callApi, submitJobs } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { listProcesses } from '../support/processes.ts';
import { ServerStage } from '../support/server-stage.ts';
import type { ServerProcess } from '../support/start-server-process.ts';
import { makeTestFolder } from '../support/test-folder.ts';

const SOON = { withinMs: 120_000 };
const COMMAND = join(import.meta.dirname, '../../packages/cli/src/main.ts');
const FLAGS = ['--worker-silent-seconds', '12', '--node-ttl-seconds', '3', '--shutdown-grace-seconds', '1'];

/** Its second attempt ends by itself; the first does not, and is deaf to SIGTERM. */
const TICKS = `
trap '' TERM
for i in $(seq 100000); do
  echo "$CARILLON_EPOCH" >> "$1"
  [ "$CARILLON_EPOCH" -gt 1 ] && [ "$i" -gt 20 ] && exit 0
  sleep 0.05
done
`;

let stage: ServerStage;
let workers: ChildProcess[];
/** One line for each tick: the epoch that wrote it. */
let ticks: string;

beforeEach(async () => {
  workers = [];
  stage = await ServerStage.open();
  const folder = makeTestFolder();
  ticks = join(folder, 'ticks');
  writeFileSync(ticks, '');
  // A script of root runs as somebody else.
  chmodSync(folder, 0o755);
  chmodSync(ticks, 0o666);
});

afterEach(async () => {
  for (const worker of workers) worker.kill('SIGKILL');
  await stage.close();
});

const epochs = () => readFileSync(ticks, 'utf8').split('\n').filter(Boolean).map(Number);

async function submitTicks(server: ServerProcess): Promise<string> {
  const payload = { interpreter: 'bash', script: TICKS, args: [ticks] };
  const [jobId = ''] = await submitJobs(server, [
    { name: 'ticks', handler: 'script', payload, timeout_seconds: 600 },
  ]);
  await eventually(() => expect(epochs().length).toBeGreaterThan(5), SOON);
  return jobId;
}

interface Attempt extends Record<string, unknown> {
  readonly epoch: number;
  readonly status: string;
  readonly executor_id: string;
  readonly late_report: string | null;
}

const attempts = (jobId: string) =>
  stage.postgres.query<Attempt>(
    `SELECT epoch, status, executor_id, late_report FROM job_runs
      WHERE job_id = $1 AND status <> 'RUNNING' ORDER BY epoch`,
    [jobId],
  );

const untilSucceeded = (jobId: string) =>
  eventually(
    async () => expect((await attempts(jobId)).map(({ status }) => status)).toContain('SUCCESS'),
    SOON,
  );

/** The last tick of the first attempt came before the first one of the second: they stand in the order in which they were written. */
function expectOneAfterTheOther(): void {
  const told = epochs();
  expect(new Set(told)).toEqual(new Set([1, 2]));
  expect(told).toEqual(told.toSorted((a, b) => a - b));
}

/** What the first one reported when it went on: the kill was no end of its script, and what it says too late changes nothing. */
async function expectRefused(jobId: string, lateReports: readonly (string | null)[]): Promise<void> {
  const [lost, won, ...more] = await attempts(jobId);
  expect(more).toEqual([]);
  expect(lost).toMatchObject({ epoch: 1, status: 'LOST' });
  expect(lateReports).toContain(lost?.late_report);
  expect(won).toMatchObject({ epoch: 2, status: 'SUCCESS', late_report: null });
  expectOneAfterTheOther();
}

/** What the script took of the machine has come from the other worker to the record of its attempt. */
async function expectUsage(server: ServerProcess, jobId: string): Promise<void> {
  const [run] = await stage.postgres.query<{ run_id: string }>(
    'SELECT run_id FROM job_runs WHERE job_id = $1 AND epoch = 2',
    [jobId],
  );
  const { body } = await callApi<Record<string, unknown>>(server, `/api/runs/${run?.run_id}`);
  expect(body).toMatchObject({ peak_memory_bytes: expect.any(Number), cpu_seconds: expect.any(Number) });
}

const remoteIds = async () => {
  const rows = await stage.postgres.query<{ worker_id: string }>(
    `SELECT worker_id FROM workers WHERE worker_id LIKE '%@%' AND NOT dead`,
  );
  return rows.map(({ worker_id: id }) => id);
};

/** Resolves when the server has a worker that it did not have before. */
async function anotherWorker(start: () => void): Promise<void> {
  const before = await remoteIds();
  start();
  await eventually(async () => {
    expect((await remoteIds()).filter((id) => !before.includes(id))).toHaveLength(1);
  }, SOON);
}

async function startWorker(server: ServerProcess, key: string): Promise<ChildProcess> {
  await anotherWorker(() => {
    const args = ['worker', '--url', server.address, '--key', key, '--handlers', 'script', '--slots', '2'];
    const worker = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', COMMAND, ...args], {
      cwd: stage.folder,
      env: { PATH: process.env.PATH, HOME: stage.folder },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    workers.push(worker);
  });
  return workers.at(-1)!;
}

const guardsOf = async (pid: number) =>
  (await listProcesses()).filter(
    ({ parentPid, command }) => parentPid === pid && command.startsWith('carillon-guard'),
  );

it('worker-frozen: the script of a worker that stands still ends before another worker starts it (hazard 14)', async () => {
  const server = await stage.launch('server', [...FLAGS, '--script-enabled=false']);
  const { body } = await callApi<{ key: string }>(server, '/api/keys', {
    method: 'POST',
    body: { name: 'worker', worker: { handlers: ['script'], namespaces: ['default'] } },
  });
  const frozen = await startWorker(server, body.key);
  const jobId = await submitTicks(server);
  const heir = await startWorker(server, body.key);
  expect(await guardsOf(frozen.pid!)).toHaveLength(1);
  frozen.kill('SIGSTOP');
  await untilSucceeded(jobId);
  expectOneAfterTheOther();
  await anotherWorker(() => frozen.kill('SIGCONT'));
  // It works again, and has told by then all that it had to tell.
  heir.kill('SIGKILL');
  const [next = ''] = await submitJobs(server, [
    { name: 'next', handler: 'script', payload: { interpreter: 'sh', script: 'exit 0' } },
  ]);
  await untilSucceeded(next);
  await expectUsage(server, jobId);
  await expectRefused(jobId, [null, 'RETURNED']);

  // And no guard outlives its worker.
  const guards = await guardsOf(frozen.pid!);
  expect(guards).toHaveLength(1);
  frozen.kill('SIGKILL');
  await eventually(async () => {
    const running = (await listProcesses()).map(({ pid }) => pid);
    expect(guards.filter(({ pid }) => running.includes(pid))).toEqual([]);
  }, SOON);
});

it('worker-frozen: the same for a server that stands still with its own worker', async () => {
  const servers = await Promise.all(['first', 'second'].map((name) => stage.launch(name, FLAGS)));
  const jobId = await submitTicks(servers[0]!);
  const nodes = await Promise.all(
    servers.map(async ({ dataDir }) => (await readFile(join(dataDir, 'node.id'), 'utf8')).trim()),
  );
  const [lease] = await stage.postgres.query<{ worker_id: string }>(
    'SELECT worker_id FROM leases WHERE $1::uuid = ANY(job_ids)',
    [jobId],
  );
  const frozen = servers[nodes.findIndex((node) => lease?.worker_id.startsWith(`${node}.`))]!;
  frozen.signal('SIGSTOP');
  await untilSucceeded(jobId);
  expectOneAfterTheOther();
  frozen.signal('SIGCONT');
  await eventually(async () => expect((await attempts(jobId))[0]?.late_report).not.toBeNull(), SOON);
  await expectRefused(jobId, ['RETURNED']);
});
