/**
 * Workers on other machines, as processes: their home dies, they die, they stand still, their stream is cut, they leave. Nothing is
 * lost, nothing runs twice at the same time, and leaving costs a run no attempt (hazards 14, 21, 22, 28, 33).
 */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { launchCarillon } from '../cli/run-carillon.ts';
import { callApi } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { StallableProxy } from '../support/stallable-proxy.ts';
import { RemoteStage, SOON } from './remote-worker/remote-stage.ts';

let stage: RemoteStage;

beforeEach(async () => {
  stage = await RemoteStage.open();
});

afterEach(() => stage.close());

it('home killed: its worker goes to the other server, the run goes on and is recorded once (hazards 9, 28)', async () => {
  const [home, other] = await Promise.all([stage.launch('home'), stage.launch('other')]);
  const key = await stage.workerKey(home);
  await stage.startWorker([home.address, other.address], { key });
  const [registered] = await stage.remoteWorkers();
  const jobId = await stage.submit(other, 10_000);
  await stage.untilCalled();
  await home.kill();
  await stage.untilSucceeded(jobId);
  expect((await stage.attempts(jobId)).map(({ epoch, executor_id }) => [epoch, executor_id])).toEqual([
    [1, registered!.worker_id],
  ]);
  expect(stage.calls()).toHaveLength(1);
  const [moved] = await stage.remoteWorkers();
  expect(moved!.worker_id).toBe(registered!.worker_id);
  expect(moved!.node_id).not.toBe(registered!.node_id);
});

it.each(['--url', 'CARILLON_URL'])(
  'carillon worker with two servers in %s goes on with the other when its own is killed (hazard 28)',
  async (where) => {
    const [home, other] = await Promise.all([stage.launch('home'), stage.launch('other')]);
    const key = await stage.workerKey(home);
    const before = await stage.remoteIds();
    const addresses = [home.address, other.address];
    const isFlag = where === '--url';
    const flags = isFlag ? addresses.flatMap((address) => ['--url', address]) : [];
    const worker = launchCarillon(['worker', '--handlers', 'http', ...flags], {
      cwd: stage.servers.folder,
      env: { CARILLON_KEY: key, ...(!isFlag && { CARILLON_URL: addresses.join(',') }) },
    });
    try {
      await stage.untilNewWorker(before);
      const [registered] = await stage.remoteWorkers();
      await home.kill();
      const moved = `connected to ${other.address} as worker ${registered!.worker_id}`;
      await eventually(() => expect(worker.said.stderr).toContain(moved), SOON);
      await eventually(async () => {
        const [now] = await stage.remoteWorkers();
        expect(now!.worker_id).toBe(registered!.worker_id);
        expect(now!.node_id).not.toBe(registered!.node_id);
      }, SOON);
      worker.signal('SIGTERM');
      expect(await worker.ended).toMatchObject({ code: 0 });
    } finally {
      worker.signal('SIGKILL');
    }
  },
);

it('a server that stops in order sends its worker to another; the run goes on (hazard 22)', async () => {
  const [home, other] = await Promise.all([stage.launch('home'), stage.launch('other')]);
  const key = await stage.workerKey(home);
  await stage.startWorker([home.address, other.address], { key });
  const jobId = await stage.submit(other, 8_000);
  await stage.untilCalled();
  expect(await home.stop(60_000)).toEqual({ code: 0, signal: null });
  await stage.untilSucceeded(jobId);
  expect((await stage.attempts(jobId)).map(({ epoch }) => epoch)).toEqual([1]);
  expect(stage.calls()).toHaveLength(1);
});

it('worker killed: its run is lost and tried again on another worker, never beside the first (hazards 14, 20)', async () => {
  const server = await stage.launch('server');
  const key = await stage.workerKey(server);
  const first = await stage.startWorker([server.address], { key });
  const jobId = await stage.submit(server, 600_000, { nextMs: 1 });
  await stage.untilCalled();
  await stage.startWorker([server.address], { key });
  first.kill('SIGKILL');
  await stage.untilSucceeded(jobId);
  const [lost, won, ...more] = await stage.attempts(jobId);
  expect(more).toEqual([]);
  expect(lost).toMatchObject({ epoch: 1, status: 'LOST', error_message: expect.stringContaining('lost') });
  expect(won).toMatchObject({ epoch: 2, status: 'SUCCESS', attempt_number: 1 });
  expect(stage.servers.receiver.overlaps()).toEqual([]);
});

it('worker frozen past the silence and thawed: its late report is stale, and its run has moved on (hazard 14)', async () => {
  const server = await stage.launch('server');
  const key = await stage.workerKey(server);
  const frozen = await stage.startWorker([server.address], { key });
  const jobId = await stage.submit(server, 4_000);
  await stage.untilCalled();
  frozen.kill('SIGSTOP');
  const heir = await stage.startWorker([server.address], { key });
  await stage.untilSucceeded(jobId);
  const before = await stage.remoteIds();
  frozen.kill('SIGCONT');
  // It comes back, and works.
  await stage.untilNewWorker(before);
  heir.kill('SIGKILL');
  await stage.untilSucceeded(await stage.submit(server, 1));
  expect((await stage.attempts(jobId)).map(({ epoch, status }) => [epoch, status])).toEqual([
    [1, 'LOST'],
    [2, 'SUCCESS'],
  ]);
});

it('stream cut: the worker dials again under the same id, and its run goes on (hazard 33)', async () => {
  const server = await stage.launch('server');
  const key = await stage.workerKey(server);
  const proxy = await new StallableProxy(server.address).start();
  try {
    await stage.startWorker([proxy.url], { key });
    const [registered] = await stage.remoteWorkers();
    const jobId = await stage.submit(server, 8_000);
    await stage.untilCalled();
    proxy.cut();
    await stage.untilSucceeded(jobId);
    expect((await stage.attempts(jobId)).map(({ epoch, executor_id }) => [epoch, executor_id])).toEqual([
      [1, registered!.worker_id],
    ]);
    expect(stage.calls()).toHaveLength(1);
  } finally {
    await proxy.stop();
  }
});

it('a worker that is stopped gives back what takes too long, and that is no attempt (hazard 22)', async () => {
  const server = await stage.launch('server');
  const key = await stage.workerKey(server);
  const leaving = await stage.startWorker([server.address], { key, drainSeconds: 1 });
  const jobId = await stage.submit(server, 600_000, { nextMs: 1 });
  await stage.untilCalled();
  leaving.kill('SIGTERM');
  const code = await new Promise((resolve) => leaving.once('exit', resolve));
  expect(code).toBe(0);
  expect(await stage.remoteWorkers()).toEqual([]);
  await stage.startWorker([server.address], { key });
  await stage.untilSucceeded(jobId);
  expect((await stage.attempts(jobId)).map(({ epoch, attempt_number }) => [epoch, attempt_number])).toEqual([
    [1, 1],
    [2, 1],
  ]);
  expect(stage.servers.receiver.overlaps()).toEqual([]);
});

it('a handler that only one worker offers is found, wherever it is connected; without one the run waits, and says why (hazard 21)', async () => {
  const [one, two] = await Promise.all([stage.launch('one'), stage.launch('two')]);
  const key = await stage.workerKey(one);
  const jobId = await stage.submit(one, 1, { handler: 'rare' });
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
  await stage.startWorker([two.address], { key, handlers: 'rare' });
  await stage.untilSucceeded(jobId);
});
