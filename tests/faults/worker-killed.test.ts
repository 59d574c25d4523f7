/**
 * worker-killed: kill -9 of whatever runs a script, a server or a worker on another machine, in the middle of the example of
 * docs/scripts.md. Its processes end with it, and the next attempt goes on from the checkpoint (C7, hazards 14, 20, 35).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { callApi, submitJobs } from '../support/api-client.ts';
import { COMPILE_CACHE } from '../support/compile-cache.ts';
import { eventually } from '../support/eventually.ts';
import { listProcesses } from '../support/processes.ts';
import { ServerStage } from '../support/server-stage.ts';
import type { ServerProcess } from '../support/start-server-process.ts';

const SOON = { withinMs: 120_000 };
const ROOT = join(import.meta.dirname, '../..');
const COMMAND = join(ROOT, 'packages/cli/src/main.ts');
const FLAGS = ['--worker-silent-seconds', '6', '--node-ttl-seconds', '3'];
const MARK = `8001.${process.pid}`;

const PAGE = readFileSync(join(ROOT, 'docs/scripts.md'), 'utf8');
const [, EXAMPLE = ''] = /<!-- resume -->\n```bash\n([\s\S]+?)```/.exec(PAGE) ?? [];
/** The first attempt does not get beyond its third step. */
const STEP = 'sleep 0.1';
const SCRIPT = EXAMPLE.replace(
  STEP,
  `if [ "$CARILLON_EPOCH.$i" = 1.4 ]; then setsid sleep ${MARK} & sleep ${MARK}; fi`,
);

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

const sleepers = async () =>
  (await listProcesses()).filter(({ command }) => command === `sleep ${MARK}`).length;

/** Resolves when it has saved its third checkpoint and waits. */
async function submit(server: ServerProcess): Promise<string> {
  const payload = { interpreter: 'bash', script: SCRIPT };
  const [jobId = ''] = await submitJobs(server, [
    { name: 'steps', handler: 'script', payload, timeout_seconds: 600, max_retries: 0 },
  ]);
  await eventually(async () => {
    expect(await sleepers()).toBe(2);
    const [saved] = await stage.postgres.query<{ data: string }>('SELECT data::text FROM checkpoints');
    expect(saved?.data).toBe('3');
  }, SOON);
  return jobId;
}

async function expectResumed(server: ServerProcess, jobId: string): Promise<void> {
  const attempts = () =>
    stage.postgres.query<{ status: string; attempt_number: number }>(
      `SELECT status, attempt_number FROM job_runs WHERE job_id = $1 AND status <> 'RUNNING' ORDER BY epoch`,
      [jobId],
    );
  await eventually(async () => expect(await attempts()).toHaveLength(2), SOON);
  // It had no retry: a worker that is lost costs none.
  expect(await attempts()).toMatchObject([
    { status: 'LOST', attempt_number: 1 },
    { status: 'SUCCESS', attempt_number: 1 },
  ]);
  const { body } = await callApi<readonly { run_id: string; result: unknown }[]>(
    server,
    `/api/jobs/${jobId}/runs?include=result`,
  );
  expect(body[0]?.result).toEqual({ steps: 20 });
  const log = await fetch(`${server.address}/api/runs/${body[0]?.run_id}/logs`, {
    headers: { authorization: `Bearer ${await server.adminKey()}`, accept: 'text/plain' },
  });
  // Nothing before the checkpoint is done again. The log of the first attempt may lie at a server that is gone.
  const steps = (await log.text()).match(/step \d+/g)?.map((step) => Number(step.slice(5)));
  expect(steps?.slice(-17)).toEqual(Array.from({ length: 17 }, (_, i) => i + 4));
  expect([[], [1, 2, 3]]).toContainEqual(steps?.slice(0, -17).filter((step) => step <= 3));
}

it('worker-killed: a worker of its own is killed with -9', async () => {
  expect(EXAMPLE).toContain(STEP);
  const server = await stage.launch('server', [...FLAGS, '--script-enabled=false']);
  const { body } = await callApi<{ key: string }>(server, '/api/keys', {
    method: 'POST',
    body: { name: 'worker', worker: { handlers: ['script'], namespaces: ['default'] } },
  });
  const startWorker = () => {
    const args = ['worker', '--url', server.address, '--handlers', 'script', '--slots', '2'];
    const worker = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', COMMAND, ...args], {
      cwd: stage.folder,
      env: { PATH: process.env.PATH, HOME: stage.folder, CARILLON_KEY: body.key, ...COMPILE_CACHE },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    workers.push(worker);
    return worker;
  };
  const first = startWorker();
  const jobId = await submit(server);
  first.kill('SIGKILL');
  await eventually(async () => expect(await sleepers()).toBe(0), SOON);
  startWorker();
  await expectResumed(server, jobId);
});

it('worker-killed: a server that runs it is killed with -9', async () => {
  const first = await stage.launch('first', FLAGS);
  const jobId = await submit(first);
  await first.kill();
  await eventually(async () => expect(await sleepers()).toBe(0), SOON);
  await expectResumed(await stage.launch('second', FLAGS), jobId);
});
