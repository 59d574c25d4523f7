/** Runs that last, look-ups that fail and outcomes that cannot be recorded: the same for a worker in both shapes. */
import type { Handler } from '@carillon/worker';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { SHAPES, WorkerHomeFixture } from './worker-home.fixture.ts';

const SOON = { withinMs: 60_000 };
/** What a worker with few slots may have running and not recorded, together. */
const UNRECORDED_MAX = 1_000;
/** A worker beats five times while it may be silent. */
const BEATS_PER_SILENCE = 5;

let home: WorkerHomeFixture;
let executed: number;
let running: { signal: AbortSignal; end: PromiseWithResolvers<unknown> }[];

const HANDLERS: Record<string, Handler> = {
  quick: () => {
    executed += 1;
  },
  /** Runs until the test ends it, whatever it is told. */
  deaf: ({ signal }) => {
    const end = Promise.withResolvers<unknown>();
    running.push({ signal, end });
    return end.promise;
  },
};

beforeEach(async () => {
  home = await WorkerHomeFixture.open();
  executed = 0;
  running = [];
});

afterEach(async () => {
  for (const { end } of running) end.resolve('done');
  await home.close();
});

const started = (count: number) => eventually(() => expect(running).toHaveLength(count), SOON);
const beats = () => home.members.breakage.calls.beatWorker ?? 0;

/** Until the worker has beaten for longer than it may be silent. */
async function outlastSilence(): Promise<void> {
  const until = beats() + BEATS_PER_SILENCE + 1;
  await eventually(() => expect(beats()).toBeGreaterThanOrEqual(until), SOON);
}

describe.each(SHAPES)('a worker %s', (shape) => {
  beforeEach(async () => {
    await home.start(shape, HANDLERS);
    await eventually(() => home.workerId(), SOON);
  });

  test('keeps its runs for as long as they take, by its heartbeat (hazard 15)', async () => {
    const { jobs } = await home.hand('deaf');
    await started(1);
    await outlastSilence();
    expect(running[0]!.signal.aborted).toBe(false);
    running[0]!.end.resolve('done');
    await eventually(async () => expect(await home.statuses(jobs[0]!)).toEqual(['SUCCESS']), SOON);
  });

  test('keeps its runs and its slots while look-ups fail, or hang, and its heartbeat is answered (hazard 29)', async () => {
    const { members } = home.storage;
    const failing = () => Promise.reject(new Error('timed out'));
    Object.assign(members, { cancelledRuns: failing, unreceivedRuns: failing });
    await home.hand('deaf');
    await started(1);
    await outlastSilence();
    // Until the end of the test, which waits for what was asked.
    const gate = Promise.withResolvers<never[]>();
    const hanging = () => gate.promise;
    Object.assign(members, { cancelledRuns: hanging, unknownLeases: hanging });
    await home.hand('deaf');
    await started(2);
    await outlastSilence();
    expect(running.map(({ signal }) => signal.aborted)).toEqual([false, false]);
    expect(home.freeSlots()).toEqual([2]);
    for (const { end } of running) end.resolve('done');
    await eventually(() => expect(home.freeSlots()).toEqual([4]), SOON);
    gate.resolve([]);
  });

  test('starts no more while a thousand outcomes cannot be recorded, and goes on when they can (hazard 40)', async () => {
    const gate = Promise.withResolvers<void>();
    const { leases } = home.storage;
    const settle = leases.settle.bind(leases);
    leases.settle = async (...given) => {
      await gate.promise;
      return settle(...given);
    };
    for (let handed = 0; handed < UNRECORDED_MAX; ) {
      const free = await eventually(() => {
        const [slots = 0] = home.freeSlots();
        expect(slots).toBeGreaterThan(0);
        return slots;
      }, SOON);
      await home.hand('quick', { count: free });
      handed += free;
    }
    await eventually(() => expect(executed).toBe(UNRECORDED_MAX), SOON);
    await eventually(
      () => expect(home.link.counts()).toMatchObject({ running: 0, unrecorded: executed }),
      SOON,
    );
    expect(home.freeSlots()).toEqual([0]);
    gate.resolve();
    await eventually(() => expect(home.freeSlots()).toEqual([4]), SOON);
    expect(executed).toBe(UNRECORDED_MAX);
  });

  test('is given nothing in place of handlers that do not return though they were told to stop', async () => {
    const { jobs, batch } = await home.hand('deaf', { count: 4 });
    const { workerId } = batch;
    const stuck = async () => (await home.storage.members.findWorker(workerId, home.clock.now()))?.stuck;
    await started(4);
    for (const { runId } of batch.runs) await home.storage.jobs.cancelRun(runId, home.clock.now());
    home.signals.send('cancel-requested', { runIds: batch.runs.map(({ runId }) => runId) });
    for (const job of jobs)
      await eventually(async () => expect(await home.statuses(job)).toEqual(['CANCELLED']), SOON);
    await eventually(async () => expect(await stuck()).toBe(4), SOON);
    expect(home.freeSlots()).toEqual([0]);
    running[0]!.end.resolve('late');
    await eventually(() => expect(home.freeSlots()).toEqual([1]), SOON);
    await eventually(async () => expect(await stuck()).toBe(3), SOON);
  });
});
