/** What holds for a worker holds in both shapes: in the process of its server, and at the end of a stream. */
import { type Caller, SERVER, WORKER_SCOPES } from '@carillon/domain';
import type { Handler } from '@carillon/worker';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { SHAPES, WorkerHomeFixture } from './worker-home.fixture.ts';

const SOON = { withinMs: 60_000 };

let home: WorkerHomeFixture;
let executed: number;
/** Signals of handlers that run, and the ways to end them. */
let running: { signal: AbortSignal; end: PromiseWithResolvers<unknown> }[];

const HANDLERS: Record<string, Handler> = {
  quick: ({ payload }) => {
    executed += 1;
    return payload;
  },
  failing: () => {
    throw new Error('it went wrong');
  },
  /** Runs until the test ends it, or until it is told to stop. */
  long: ({ signal }) => {
    const end = Promise.withResolvers<unknown>();
    running.push({ signal, end });
    signal.addEventListener('abort', () => end.reject(signal.reason as Error));
    return end.promise;
  },
};

const started = (count = 1) => eventually(() => expect(running).toHaveLength(count), SOON);
const registered = () => eventually(() => home.workerId(), SOON);

beforeEach(async () => {
  home = await WorkerHomeFixture.open();
  executed = 0;
  running = [];
});

afterEach(async () => {
  for (const { end } of running) end.resolve('done');
  await home.close();
});

describe.each(SHAPES)('a worker %s', (shape) => {
  test('runs what it is handed, and its outcomes are recorded', async () => {
    await home.start(shape, HANDLERS);
    await registered();
    const { jobs } = await home.hand('quick', { count: 4 });
    await eventually(async () => {
      for (const job of jobs) expect(await home.statuses(job)).toEqual(['SUCCESS']);
    }, SOON);
    expect(executed).toBe(4);
    await eventually(() => expect(home.freeSlots()).toEqual([4]), SOON);
  });

  test('tells why a run failed', async () => {
    await home.start(shape, HANDLERS);
    await registered();
    const { jobs } = await home.hand('failing');
    await eventually(async () => {
      const views = await home.world.runsOf(jobs[0]!.jobId, home.clock.now());
      expect(views.map(({ status, error }) => [status, error])).toContainEqual(['FAILED', 'it went wrong']);
    }, SOON);
  });

  test('has a slot less for every run that goes on', async () => {
    await home.start(shape, HANDLERS);
    await registered();
    await home.hand('long');
    await started();
    expect(home.freeSlots()).toEqual([3]);
    running[0]!.end.resolve('done');
    await eventually(() => expect(home.freeSlots()).toEqual([4]), SOON);
  });

  test('that is drained ends what it runs, takes nothing more, and takes runs again when it is undrained (hazard 22)', async () => {
    await home.start(shape, HANDLERS);
    const workerId = await registered();
    const { jobs } = await home.hand('long');
    await started();
    await home.storage.members.drainWorker(workerId, true);
    home.signals.send('workers-asked', {});
    await eventually(() => expect(home.freeSlots()).toEqual([0]), SOON);
    expect(running[0]!.signal.aborted).toBe(false);
    running[0]!.end.resolve('done');
    await eventually(async () => expect(await home.statuses(jobs[0]!)).toEqual(['SUCCESS']), SOON);
    expect(home.freeSlots()).toEqual([0]);
    await home.storage.members.drainWorker(workerId, false);
    // Without the signal: its next beat tells it.
    await eventually(() => expect(home.freeSlots()).toEqual([4]), SOON);
  });

  test('that was marked dead while it drains still drains under its new id, until it is undrained (hazard 22)', async () => {
    await home.start(shape, HANDLERS);
    const workerId = await registered();
    await home.storage.members.drainWorker(workerId, true);
    // It has learned it when it is marked dead: the link knows from the same answer of the storage.
    await eventually(() => expect(home.freeSlots()).toEqual([0]), SOON);
    const beaten = (home.members.breakage.calls.beatWorker ?? 0) + 2;
    await eventually(() => expect(home.members.breakage.calls.beatWorker).toBeGreaterThan(beaten), SOON);
    await home.world.markDead(workerId);
    const next = await eventually(async () => {
      const found = await home.storage.members.workersOffering('quick');
      expect(found).toMatchObject([{ draining: true }]);
      return found[0]!.workerId;
    }, SOON);
    expect(next).not.toBe(workerId);
    await home.storage.members.drainWorker(next, false);
    await eventually(() => expect(home.freeSlots()).toEqual([4]), SOON);
  });

  test('stops a run that is cancelled at once, and beats a late success (hazard 18)', async () => {
    await home.start(shape, HANDLERS);
    await registered();
    const { jobs, batch } = await home.hand('long');
    await started();
    const { runId } = batch.runs[0]!;
    await home.storage.jobs.cancelRun(runId, home.clock.now());
    home.signals.send('cancel-requested', { runIds: [runId] });
    await eventually(() => expect(running[0]!.signal.aborted).toBe(true), SOON);
    await eventually(async () => expect(await home.statuses(jobs[0]!)).toEqual(['CANCELLED']), SOON);
  });

  test('is told what to stop, should the signal be lost (hazard 18)', async () => {
    await home.start(shape, HANDLERS);
    await registered();
    const { jobs, batch } = await home.hand('long');
    await started();
    await home.storage.jobs.cancelRun(batch.runs[0]!.runId, home.clock.now());
    await eventually(async () => expect(await home.statuses(jobs[0]!)).toEqual(['CANCELLED']), SOON);
  });

  test('stops by itself when no beat is answered, and gives back without costing an attempt (hazards 14, 22, 33)', async () => {
    await home.start(shape, HANDLERS);
    await registered();
    const { jobs } = await home.hand('long');
    await started();
    home.members.breakage.down = true;
    await eventually(() => expect(running[0]!.signal.aborted).toBe(true), SOON);
    home.members.breakage.down = false;
    await eventually(
      async () => expect(await home.world.pendingRuns(jobs[0]!)).toMatchObject([{ attempt: 1 }]),
      SOON,
    );
    await eventually(() => expect(home.freeSlots()).toEqual([4]), SOON);
  });

  test('that was given up for dead stops its runs and comes back under a new id (hazard 14)', async () => {
    await home.start(shape, HANDLERS);
    const before = await registered();
    await home.hand('long');
    await started();
    await home.world.markDead(before);
    await eventually(() => expect(running[0]!.signal.aborted).toBe(true), SOON);
    await eventually(() => expect(home.workerId()).not.toBe(before), SOON);
    const { jobs } = await home.hand('quick');
    await eventually(async () => expect(await home.statuses(jobs[0]!)).toEqual(['SUCCESS']), SOON);
  });

  test('gives back a lease that never arrived', async () => {
    await home.start(shape, HANDLERS);
    await registered();
    const { jobs } = await home.claim('quick');
    await eventually(
      async () => expect(await home.world.pendingRuns(jobs[0]!)).toMatchObject([{ attempt: 1 }]),
      SOON,
    );
    expect(executed).toBe(0);
    expect(home.warnings.filter((text) => text.includes('never arrived'))).toHaveLength(1);
  });

  test('does not start a lease that arrives after it was given back: it is somebody else’s by then', async () => {
    await home.start(shape, HANDLERS);
    await registered();
    const { jobs, batch } = await home.claim('long');
    await eventually(
      async () => expect(await home.world.pendingRuns(jobs[0]!)).toMatchObject([{ attempt: 1 }]),
      SOON,
    );
    home.link.reserve(batch.workerId, 1);
    home.link.hand(batch);
    // What is handed over later is started later.
    const later = await home.hand('quick');
    await eventually(async () => expect(await home.statuses(later.jobs[0]!)).toEqual(['SUCCESS']), SOON);
    expect(running).toEqual([]);
    await eventually(() => expect(home.freeSlots()).toEqual([4]), SOON);
  });

  test('tells an outcome whose answer was lost again, and it is recorded once', async () => {
    await home.start(shape, HANDLERS);
    await registered();
    home.leases.breakage.deaf = true;
    const { jobs } = await home.hand('quick');
    await eventually(() => expect(home.leases.breakage.calls.settle ?? 0).toBeGreaterThan(0), SOON);
    home.leases.breakage.deaf = false;
    await eventually(() => expect(home.freeSlots()).toEqual([4]), SOON);
    expect(await home.statuses(jobs[0]!)).toEqual(['SUCCESS']);
    expect(await home.storage.leases.leasedBy([home.workerId()])).toEqual([]);
  });

  test('that stops takes nothing new, lets its runs end, and is forgotten', async () => {
    const stop = await home.start(shape, HANDLERS);
    const workerId = await registered();
    const { jobs } = await home.hand('long');
    await started();
    const stopped = stop();
    await eventually(() => expect(home.freeSlots().every((free) => free === 0)).toBe(true), SOON);
    running[0]!.end.resolve('done');
    await stopped;
    expect(await home.statuses(jobs[0]!)).toEqual(['SUCCESS']);
    await eventually(async () => {
      const workers = await home.storage.members.workers();
      expect(workers.map((worker) => worker.workerId)).not.toContain(workerId);
    }, SOON);
  });

  test('that stops gives back what does not end in time, at no cost of an attempt (hazard 22)', async () => {
    const stop = await home.start(shape, HANDLERS, { drainMs: 100 });
    await registered();
    const { jobs } = await home.hand('long');
    await started();
    await stop();
    expect(await home.world.pendingRuns(jobs[0]!)).toMatchObject([{ attempt: 1 }]);
  });
});

describe('a worker with a worker key', () => {
  const caller = {
    ...{ ...SERVER, kind: 'key', id: 'key', name: 'key', scopes: WORKER_SCOPES, offers: ['quick', 'long'] },
    grants: [{ namespace: 'media', role: 'admin', ownOnly: false }],
  } as Caller;

  test('is given runs of the namespaces of the key alone, and is shown as it calls itself', async () => {
    const { address } = await home.listen({ caller });
    const { quick } = HANDLERS;
    await home.startRemote([address], { quick: quick! });
    const workerId = await registered();
    expect(home.link.workers()).toMatchObject([{ workerId, handlers: ['quick'], namespaces: ['media'] }]);
    const listed = await home.storage.members.findWorker(workerId, home.clock.now());
    expect(listed).toMatchObject({ language: 'typescript', session: 1, slots: 4, draining: false });
    expect(listed?.name).not.toBe('');
    const { members } = home.storage;
    expect(await members.workersOffering('quick', ['media'])).toHaveLength(1);
    expect(await members.workersOffering('quick', ['other'])).toEqual([]);
  });

  test('is refused when it offers a handler that the key does not name', async () => {
    const { address, sessions } = await home.listen({ caller });
    await home.startRemote([address], HANDLERS);
    const { quick } = HANDLERS;
    await home.startRemote([address], { quick: quick! });
    await registered();
    expect(sessions.count).toBe(1);
    expect(home.link.workers().map(({ handlers }) => handlers)).toEqual([['quick']]);
  });
});
