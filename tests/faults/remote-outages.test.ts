/**
 * Workers on other machines while what they depend on is away: cut off from every server, a home that restarts, stands still or dies
 * between the claim and the hand-over, a database that is down. The times are those of workers.md, with a silence of 6 s instead of 15:
 * a worker stops its runs before the silence is over, and nobody else has them before that (hazards 9, 14, 22, 28, 33).
 */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { callApi } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { StallableProxy } from '../support/stallable-proxy.ts';
import { flags, RemoteStage, SOON } from './remote-worker/remote-stage.ts';

/** Longer than any test waits: only a worker that stops by itself ends it. */
const ENDLESS_MS = 600_000;

let stage: RemoteStage;
let proxies: StallableProxy[];

beforeEach(async () => {
  proxies = [];
  stage = await RemoteStage.open();
});

afterEach(async () => {
  await Promise.all(proxies.map((proxy) => proxy.stop()));
  await stage.close();
});

async function through(address: string): Promise<StallableProxy> {
  const proxy = await new StallableProxy(address).start();
  proxies.push(proxy);
  return proxy;
}

const untilStopped = () => eventually(() => expect(stage.servers.receiver.inProgress).toEqual([]), SOON);

it('partition: a worker that is cut off stops its run by itself before another one is given it, and starts over (hazards 14, 33)', async () => {
  const server = await stage.launch('server');
  const key = await stage.workerKey(server);
  const proxy = await through(server.address);
  await stage.startWorker([proxy.url], { key });
  const jobId = await stage.submit(server, ENDLESS_MS, { nextMs: 1 });
  await stage.untilCalled();
  const [cutOff] = await stage.remoteIds();
  await stage.startWorker([server.address], { key });
  proxy.stall();
  await stage.untilSucceeded(jobId);
  const [first, second, ...more] = stage.calls();
  expect(more).toEqual([]);
  expect(first!.answered).toBe(false);
  expect(first!.endedAt).toBeLessThanOrEqual(second!.startedAt);
  expect(await stage.attempts(jobId)).toMatchObject([
    { epoch: 1, status: 'LOST', executor_id: cutOff, error_message: expect.stringContaining('lost') },
    { epoch: 2, status: 'SUCCESS' },
  ]);
  const before = await stage.remoteIds();
  expect(before).not.toContain(cutOff);
  proxy.recover();
  await stage.untilNewWorker(before);
});

it('database outage: the worker stops what it runs, takes nothing, and goes on when the database is back (hazard 28)', async () => {
  const server = await stage.launch('server');
  const key = await stage.workerKey(server);
  await stage.startWorker([server.address], { key });
  const jobId = await stage.submit(server, ENDLESS_MS, { nextMs: 1 });
  await stage.untilCalled();
  await stage.servers.postgres.stop();
  await untilStopped();
  expect(stage.calls()).toMatchObject([{ answered: false }]);
  await stage.servers.postgres.start();
  await server.ready();
  await stage.untilSucceeded(jobId);
  await stage.untilSucceeded(await stage.submit(server, 1));
  expect(stage.servers.receiver.overlaps()).toEqual([]);
  expect(stage.servers.receiver.repeatedEpochs()).toEqual([]);
});

it('node restart: the node that comes back leaves remote workers alone; the run goes on and is recorded once (hazard 22)', async () => {
  // The worker outlives the restart, however long that takes.
  const home = await stage.servers.member('home', flags({ silentSeconds: 120 }));
  const key = await stage.workerKey(home.process);
  await stage.startWorker([home.process.address], { key });
  const [before] = await stage.remoteWorkers();
  const jobId = await stage.submit(home.process, 3_000);
  await stage.untilCalled();
  await home.kill(0);
  await home.process.ready();
  await stage.untilSucceeded(jobId);
  const [after, ...others] = await stage.remoteWorkers();
  expect(others).toEqual([]);
  expect(after).toMatchObject({ worker_id: before!.worker_id, node_id: before!.node_id });
  expect(after!.session).toBeGreaterThan(before!.session);
  expect((await stage.attempts(jobId)).map(({ epoch, status }) => [epoch, status])).toEqual([[1, 'SUCCESS']]);
  expect(stage.calls()).toHaveLength(1);
});

it('home dies after the claim: what was never handed over is given back by the next home, and costs no attempt (hazard 9)', async () => {
  // Time enough for the claim while the worker stands still.
  const patient = flags({ silentSeconds: 12 });
  const [home, other] = await Promise.all([
    stage.servers.launch('home', patient),
    stage.servers.launch('other', patient),
  ]);
  const key = await stage.workerKey(home);
  const proxy = await through(home.address);
  const worker = await stage.startWorker([proxy.url, other.address], { key });
  const [workerId] = await stage.remoteIds();
  proxy.stall();
  worker.kill('SIGSTOP');
  const jobId = await stage.submit(other, 1);
  await eventually(async () => {
    const leases = await stage.servers.postgres.query('SELECT FROM leases WHERE worker_id = $1', [workerId]);
    expect(leases).toHaveLength(1);
  }, SOON);
  await home.kill();
  proxy.cut();
  worker.kill('SIGCONT');
  await stage.untilSucceeded(jobId);
  expect(await stage.attempts(jobId)).toMatchObject([
    { epoch: 1, attempt_number: 1, error_message: expect.stringContaining('never reached') },
    { epoch: 2, attempt_number: 1, status: 'SUCCESS', executor_id: workerId },
  ]);
  expect(stage.calls()).toHaveLength(1);
});

it('home frozen: when it goes on, the worker that has moved keeps its id, its run and its drain (hazards 14, 22)', async () => {
  const [home, other] = await Promise.all([stage.launch('home'), stage.launch('other')]);
  const key = await stage.workerKey(home);
  await stage.startWorker([home.address, other.address], { key });
  const [registered] = await stage.remoteWorkers();
  const path = `/api/workers/${encodeURIComponent(registered!.worker_id)}`;
  expect((await callApi(home, `${path}/drain`, { method: 'POST', body: {} })).status).toBe(200);
  home.signal('SIGSTOP');
  await eventually(async () => {
    const [moved] = await stage.remoteWorkers();
    expect(moved).toMatchObject({ worker_id: registered!.worker_id, draining: true });
    expect(moved!.node_id).not.toBe(registered!.node_id);
  }, SOON);
  home.signal('SIGCONT');
  await eventually(
    async () => expect(await home.output()).toContain('the stream of a worker has ended'),
    SOON,
  );
  const [first] = await stage.remoteWorkers();
  expect(first).toMatchObject({ worker_id: registered!.worker_id, draining: true });
  const jobId = await stage.submit(other, 1);
  expect((await callApi(other, `${path}/undrain`, { method: 'POST', body: {} })).status).toBe(200);
  await stage.untilSucceeded(jobId);
  expect(await stage.attempts(jobId)).toMatchObject([{ epoch: 1, executor_id: registered!.worker_id }]);
  expect(await stage.remoteIds()).toEqual([registered!.worker_id]);
});
