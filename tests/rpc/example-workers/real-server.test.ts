/**
 * Workers in TypeScript, Python and Go against a server as people start it: the same cases for each, with real processes that are
 * stopped and killed, and a network that is cut (hazards 14, 18, 22, 33).
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { OutcomeKind, Verdict } from '../../../packages/worker/src/protocol/index.ts';
import { callApi, submitJobs } from '../../support/api-client.ts';
import { eventually } from '../../support/eventually.ts';
import { fixedPort } from '../../support/processes.ts';
import { endServers, launchServer, type ServerProcess } from '../../support/start-server-process.ts';
import { makeTestFolder } from '../../support/test-folder.ts';
import { CuttableProxy } from './cuttable-proxy.ts';
import { findWorkers, isLeftOut, nameOf, programOf } from './find-workers.ts';
import { RawWorker } from './raw-worker.ts';
import { endWorkers, WorkerProcess, type WorkerProcessOptions } from './worker-process.ts';

interface RunView {
  readonly run_id: string;
  readonly status: string;
  readonly attempt_number: number;
  readonly worker_id?: string;
  readonly error_message?: string | null;
  readonly result?: unknown;
  readonly progress?: { readonly percent: number } | null;
}

const LIMIT = { withinMs: 180_000 };
const LONG = { handler: 'wait', payload: { ms: 600_000 } };

let server: ServerProcess;
let port: number;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'carillon-workers-'));
  port = await fixedPort();
  const flags = ['--worker-silent-seconds', '6'];
  server = await launchServer({ name: 'server', folder, port, flags }).ready();
});
afterEach(endWorkers);
afterAll(async () => {
  await endServers();
  rmSync(folder, { recursive: true, force: true });
});

async function submit(job: object): Promise<string> {
  const [jobId = ''] = await submitJobs(server, [{ name: 'job of a worker', max_retries: 0, ...job }]);
  return jobId;
}

async function runOf(jobId: string): Promise<RunView> {
  const { body } = await callApi<readonly RunView[]>(server, `/api/jobs/${jobId}/runs?include=result`);
  if (!body[0]) throw new Error('the job has no run');
  return body[0];
}

/** The newest run of the job, once it has the status. */
async function runWith(jobId: string, status: string): Promise<RunView> {
  return eventually(async () => {
    const run = await runOf(jobId);
    if (run.status !== status)
      throw new Error(`the run is ${run.status}, not ${status}: ${run.error_message}`);
    return run;
  }, LIMIT);
}

test('an end and a checkpoint of an earlier epoch are refused, and unknown fields are ignored (hazard 14)', async () => {
  const handler = 'by-hand';
  const raw = new RawWorker({ server: server.address, key: await server.adminKey(), handler });
  onTestFinished(() => raw.close());
  const jobId = await submit({ handler });
  const end = (leaseId: string, epoch: number, outcomes: { position: number; kind: number }[] = []) =>
    raw.say({
      ended: [
        {
          ...{ leaseId, positions: [0], epochs: [epoch], outcomes },
          ...{ startedAtMs: [0n], endedAtMs: [BigInt(Date.now())] },
        },
      ],
    });
  const [first] = await raw.all('assigns', 1);
  expect(first?.epochs).toEqual([1]);
  // Given back, it is handed out again, with a later epoch.
  end(first!.leaseId, 1, [{ position: 0, kind: OutcomeKind.RETURNED }]);
  const [, second] = await raw.all('assigns', 2);
  expect(second?.epochs).toEqual([2]);
  end(first!.leaseId, 1);
  end(second!.leaseId, 1);
  const checkpoint = { leaseId: second!.leaseId, position: 0, value: '7' };
  raw.say({ checkpoints: [{ ...checkpoint, sequence: 1, epoch: 1 }] });
  raw.say({ checkpoints: [{ ...checkpoint, sequence: 2, epoch: 2 }] });
  const answers = await raw.all('checkpointAnswers', 2);
  expect(answers.map(({ sequence, error }) => [sequence, error === ''])).toEqual([
    [1, false],
    [2, true],
  ]);
  const stale = (await raw.all('settled', 3)).slice(1);
  expect(stale.map(({ verdicts }) => verdicts)).toEqual([[Verdict.STALE], [Verdict.STALE]]);
  expect(['CLAIMED', 'RUNNING']).toContain((await runOf(jobId)).status);
  end(second!.leaseId, 2);
  await runWith(jobId, 'SUCCESS');
});

describe.each(await findWorkers())('$language', (found) => {
  describe.skipIf(isLeftOut(found))(nameOf(found), () => {
    // Where nothing may be left out, the reason is told before anything is started for nothing.
    beforeAll(() => void programOf(found));

    const launch = async (options: Partial<WorkerProcessOptions> = {}) =>
      new WorkerProcess({
        ...{ program: programOf(found), folder: makeTestFolder(), servers: [`127.0.0.1:${port}`] },
        ...{ key: await server.adminKey(), ...options },
      });

    test('runs jobs, and tells final failures from those that are tried again', async () => {
      await launch();
      const echo = await submit({ handler: 'echo', payload: { text: 'hello' } });
      const payload = { message: 'no', retryable: false };
      const final = await submit({ handler: 'fail', payload, max_retries: 3 });
      const retried = await submit({
        handler: 'fail',
        payload: { message: 'not yet' },
        ...{ max_retries: 1, retry: { strategy: 'fixed', delay_seconds: 0, jitter: false } },
      });
      expect(await runWith(echo, 'SUCCESS')).toMatchObject({ result: { text: 'hello' }, attempt_number: 1 });
      expect(await runWith(final, 'FAILED')).toMatchObject({ error_message: 'no', attempt_number: 1 });
      await eventually(
        async () =>
          expect(await runOf(retried)).toMatchObject({
            status: 'FAILED',
            error_message: 'not yet',
            attempt_number: 2,
          }),
        LIMIT,
      );
    });

    test('executes all of more runs than it has slots', async () => {
      await launch({ slots: 2 });
      const short = { name: 'short', handler: 'wait', payload: { ms: 50 }, max_retries: 0 };
      const jobs = await submitJobs(
        server,
        Array.from({ length: 12 }, () => short),
      );
      for (const jobId of jobs) await runWith(jobId, 'SUCCESS');
    });

    test('ends what is cancelled as CANCELLED, and what takes too long as TIMED_OUT', async () => {
      await launch();
      const cancelled = await submit(LONG);
      const slow = await submit({ ...LONG, timeout_seconds: 1 });
      const { run_id: runId } = await runWith(cancelled, 'RUNNING');
      await callApi(server, `/api/runs/${runId}/cancel`, { method: 'POST' });
      await runWith(cancelled, 'CANCELLED');
      await runWith(slow, 'TIMED_OUT');
    });

    test('keeps what it runs while the network is cut, and its server hears of the end', async () => {
      const proxy = await new CuttableProxy(port).start();
      await launch({ servers: [proxy.address] });
      const jobId = await submit({ handler: 'wait', payload: { ms: 2_000 } });
      const before = await runWith(jobId, 'RUNNING');
      proxy.cut();
      proxy.mend();
      const after = await runWith(jobId, 'SUCCESS');
      expect(after).toMatchObject({ run_id: before.run_id, worker_id: before.worker_id, attempt_number: 1 });
      await eventually(() => expect(proxy.connections).toBeGreaterThan(1), LIMIT);
      await endWorkers();
      await proxy.stop();
    });

    test('gives back on SIGTERM what the next worker then does, without using up an attempt', async () => {
      const first = await launch({ name: 'first', args: ['--drain-seconds', '0.1'] });
      const jobId = await submit({ handler: 'wait', payload: { ms: 3_000 } });
      const before = await runWith(jobId, 'RUNNING');
      first.signal('SIGTERM');
      expect(await first.exited).toBe(0);
      await launch({ name: 'second' });
      const after = await runWith(jobId, 'SUCCESS');
      expect(after.attempt_number).toBe(1);
      expect(after.worker_id).not.toBe(before.worker_id);
    });

    test('is killed in the middle: the next worker goes on from the checkpoint', async () => {
      const first = await launch({ name: 'first' });
      const jobId = await submit({ handler: 'count', payload: { to: 20, step_ms: 300 } });
      // Progress is told after the checkpoint is durable.
      await eventually(async () => expect((await runOf(jobId)).progress?.percent).toBeGreaterThan(0), LIMIT);
      first.signal('SIGKILL');
      await first.exited;
      await launch({ name: 'second' });
      const { result } = (await runWith(jobId, 'SUCCESS')) as {
        result: { counted: number; started_at: number };
      };
      expect(result.counted).toBe(20);
      expect(result.started_at).toBeGreaterThan(0);
    });
    test('is killed in the middle: the next worker runs the job again', async () => {
      const first = await launch({ name: 'first' });
      const jobId = await submit({ handler: 'count', payload: { to: 8, step_ms: 500 } });
      await runWith(jobId, 'RUNNING');
      first.signal('SIGKILL');
      await first.exited;
      await launch({ name: 'second' });
      expect(await runWith(jobId, 'SUCCESS')).toMatchObject({ result: { counted: 8 } });
    });
  });
});
