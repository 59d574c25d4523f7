/** Runs whose handler nobody offers: they are given up only after nobody in the cluster has offered it for long enough (hazard 21). */
import type { Job, RunId, WorkerId } from '@carillon/domain';
import { expect, it } from 'vitest';
import { HANDLER_OFFERS_MAX, NAMESPACE_OFFERS_MAX } from '../member-store.ts';
import { newId } from './sample-job.ts';
import { BASE_MS, HOUR_MS, type MakeStorage } from './storage-under-test.ts';
import { useStorageWorld } from './storage-world.ts';

const LATER_MS = BASE_MS + HOUR_MS;

export function describeScheduleUnoffered(make: MakeStorage): void {
  const stage = useStorageWorld(make);
  const giveUp = (beforeMs: number) =>
    stage.world.storage.schedule.expireUnoffered({
      ...{ guard: stage.world.guard, nowMs: BASE_MS, beforeMs, limit: 10 },
    });

  async function offer(
    handlers: string[],
    {
      workerId = newId<WorkerId>(),
      nowMs = BASE_MS,
      namespaces,
    }: { workerId?: WorkerId; nowMs?: number; namespaces?: string[] } = {},
  ) {
    const { nodeId, bootId, storage } = stage.world;
    const worker = { workerId, nodeId, bootId, incarnation: 1, session: 0, slots: 1, handlers, namespaces };
    expect(await storage.members.registerWorker(worker, nowMs)).toBe('registered');
    return workerId;
  }

  /** Nothing is given up of what was offered at the later instant, and the run is as soon as that is too long ago. */
  async function expectCountedFromLater({ job, runId }: { job: Job; runId: RunId }): Promise<void> {
    expect(await giveUp(BASE_MS + 1)).toEqual([]);
    expect(await giveUp(LATER_MS)).toEqual([]);
    expect(await giveUp(LATER_MS + 1)).toEqual([{ jobId: job.jobId, runId }]);
  }

  it('become dead letters that say why, and no others do', async () => {
    const { world } = stage;
    const { job, runId } = await world.oneOff({ job: { handler: 'unknown' } });
    const { job: known } = await world.oneOff();
    expect(await world.runsOf(job.jobId)).toMatchObject([
      { status: 'QUEUED', waitsFor: { code: 'no_worker', handler: 'unknown' } },
    ]);
    expect(await giveUp(BASE_MS)).toEqual([]);
    expect(await giveUp(BASE_MS + 1)).toEqual([{ jobId: job.jobId, runId }]);
    expect(await world.storage.runs.deadLetter(runId)).toMatchObject({ reason: 'never_started' });
    expect(await world.pendingRuns(known)).toHaveLength(1);
  });

  it('are counted from the last beat of a worker that offered it and was lost, also when that is forgotten', async () => {
    const { world } = stage;
    const waiting = await world.oneOff({ job: { handler: 'gpu' } });
    const workerId = await offer(['gpu']);
    await world.storage.members.beatWorker(workerId, LATER_MS);
    expect(await giveUp(LATER_MS + HOUR_MS)).toEqual([]);
    await world.markDead(workerId);
    expect(await giveUp(LATER_MS)).toEqual([]);
    await world.storage.members.forgetWorkers([workerId]);
    await expectCountedFromLater(waiting);
  });

  it('are counted from the last beat of a dead worker that is not forgotten yet', async () => {
    const { world } = stage;
    const waiting = await world.oneOff({ job: { handler: 'gpu' } });
    await world.markDead(await offer(['gpu'], { nowMs: LATER_MS }));
    await expectCountedFromLater(waiting);
  });

  it('are counted from the last beat of a worker that left', async () => {
    const { world } = stage;
    const waiting = await world.oneOff({ job: { handler: 'gpu' } });
    await world.storage.members.forgetWorkers([await offer(['other', 'gpu'], { nowMs: LATER_MS })]);
    await expectCountedFromLater(waiting);
  });

  it('are counted from the latest of several workers, whichever is forgotten last', async () => {
    const { world } = stage;
    const waiting = await world.oneOff({ job: { handler: 'gpu' } });
    const [older, newer] = [await offer(['gpu']), await offer(['gpu'], { nowMs: LATER_MS })];
    const { members } = world.storage;
    await members.forgetWorkers([newer]);
    await members.forgetWorkers([older]);
    await expectCountedFromLater(waiting);
  });

  it('are counted from when a worker last offered what it offers no more', async () => {
    const { world } = stage;
    const waiting = await world.oneOff({ job: { handler: 'gpu' } });
    const { job: kept } = await world.oneOff({ job: { handler: 'cpu' } });
    const workerId = await offer(['gpu', 'cpu'], { nowMs: LATER_MS });
    await offer(['cpu'], { workerId, nowMs: LATER_MS + HOUR_MS });
    await expectCountedFromLater(waiting);
    expect(await world.pendingRuns(kept)).toHaveLength(1);
  });

  it('workers that leave at the same moment are all remembered', async () => {
    const { world } = stage;
    const names = Array.from({ length: 20 }, (_, index) => `handler-${index}`);
    for (const handler of names) await world.oneOff({ job: { handler } });
    const workers = [
      await offer(names, { nowMs: LATER_MS }),
      await offer(names.toReversed(), { nowMs: LATER_MS }),
      await offer(names.toSorted(), { nowMs: LATER_MS }),
    ];
    await Promise.all(workers.map((workerId) => world.storage.members.forgetWorkers([workerId])));
    expect(await giveUp(LATER_MS)).toEqual([]);
    expect(await giveUp(LATER_MS + 1)).toHaveLength(10);
    expect(await giveUp(LATER_MS + 1)).toHaveLength(10);
  });

  it('a worker that is bound to namespaces keeps none of another from being given up, alive or gone, and those of its own', async () => {
    const { world } = stage;
    const inside = await world.oneOff({ job: { handler: 'gpu', namespace: 'beta' } });
    const outside = await world.oneOff({ job: { handler: 'gpu', namespace: 'alpha' } });
    const workerId = await offer(['gpu'], { nowMs: LATER_MS, namespaces: ['beta', 'gamma'] });
    expect(await world.runsOf(outside.job.jobId)).toMatchObject([
      { status: 'QUEUED', waitsFor: { code: 'no_worker', handler: 'gpu' } },
    ]);
    expect(await world.runsOf(inside.job.jobId)).toMatchObject([{ waitsFor: { code: 'claimable' } }]);
    const waiting = (namespaces?: string[]) =>
      world.storage.stats.waitingNow({ nowMs: BASE_MS + 1, namespaces });
    expect((await waiting(['alpha'])).unofferedHandlers).toEqual(['gpu']);
    expect((await waiting(['beta'])).unofferedHandlers).toEqual([]);
    expect((await waiting()).unofferedHandlers).toEqual(['gpu']);
    const lost = { jobId: outside.job.jobId, runId: outside.runId };
    expect(await giveUp(LATER_MS)).toEqual([lost]);
    await world.storage.members.forgetWorkers([workerId]);
    await expectCountedFromLater(inside);
  });

  it('a worker whose namespaces have changed is remembered as having offered to those before', async () => {
    const { world } = stage;
    const waiting = await world.oneOff({ job: { handler: 'gpu', namespace: 'beta' } });
    const workerId = await offer(['gpu'], { nowMs: LATER_MS, namespaces: ['beta'] });
    await offer(['gpu'], { workerId, nowMs: LATER_MS + HOUR_MS, namespaces: ['alpha'] });
    await expectCountedFromLater(waiting);
  });

  it('so many handlers of one namespace are remembered, the latest: no more, and those of others are left alone', async () => {
    const { world } = stage;
    const { members } = world.storage;
    const names = (from: string, count: number) => Array.from({ length: count }, (_, at) => `${from}-${at}`);
    const waiting = await world.oneOff({ job: { handler: 'gpu', namespace: 'beta' } });
    const early = await world.oneOff({ job: { handler: 'early', namespace: 'alpha' } });
    const late = await world.oneOff({ job: { handler: 'late', namespace: 'alpha' } });
    const leave = async (handlers: string[], namespaces: string[], nowMs: number) =>
      members.forgetWorkers([await offer(handlers, { nowMs, namespaces })]);
    await leave(['gpu'], ['beta'], LATER_MS);
    await leave(['early'], ['alpha'], LATER_MS);
    for (let at = 1; at <= 3; at += 1)
      await leave(names(`many-${at}`, NAMESPACE_OFFERS_MAX / 2), ['alpha'], LATER_MS + at);
    await leave(['late'], ['alpha'], LATER_MS + 9);
    expect(await giveUp(LATER_MS)).toEqual([{ jobId: early.job.jobId, runId: early.runId }]);
    expect(await world.pendingRuns(late.job)).toHaveLength(1);
    expect(await world.pendingRuns(waiting.job)).toHaveLength(1);
  });

  it('of workers that are bound to no namespace a larger number of handlers is remembered, and not more either', async () => {
    const { world } = stage;
    const { members } = world.storage;
    const early = await world.oneOff({ job: { handler: 'early' } });
    const many = Array.from({ length: HANDLER_OFFERS_MAX }, (_, at) => `many-${at}`);
    await members.forgetWorkers([await offer(['early', ...many.slice(1)], { nowMs: LATER_MS })]);
    expect(await giveUp(LATER_MS)).toEqual([]);
    await members.forgetWorkers([await offer(many, { nowMs: LATER_MS + 1 })]);
    expect(await giveUp(LATER_MS)).toEqual([{ jobId: early.job.jobId, runId: early.runId }]);
  });
}
