import { silentLog } from '@carillon/foundation';
import { beforeEach, describe, expect, test } from 'vitest';
import type { ProgressReport, RunStateStore } from '../storage/run-state-store.ts';
import { StorageUnavailable } from '../storage/storage.ts';
import { RoleStage, turns } from '../testing/role-stage.fixture.ts';
import { ProgressWriter } from './progress-writer.ts';

let stage: RoleStage;
let written: (readonly ProgressReport[])[];
let isDown: boolean;
/** What a statement waits for before it changes anything. */
let gate: Promise<void> | undefined;
/** A message that fails the statement it is in. */
const POISON = 'poison';
let writer: ProgressWriter;

beforeEach(async () => {
  stage = await RoleStage.set();
  [written, isDown, gate] = [[], false, undefined];
  const { runState } = stage.storage;
  const store: RunStateStore = {
    saveCheckpoints: (saved, nowMs) => runState.saveCheckpoints(saved, nowMs),
    checkpoint: (runId) => runState.checkpoint(runId),
    async showProgress(reports, nowMs) {
      written.push(reports);
      await gate;
      if (isDown) throw new StorageUnavailable('away');
      if (reports.some(({ message }) => message === POISON)) throw new Error('out of range');
      return runState.showProgress(reports, nowMs);
    },
  };
  writer = new ProgressWriter({ store, signals: stage.signals, clock: stage.clock, log: silentLog });
});

async function claimed({ shown = true } = {}) {
  const { job } = await stage.world.oneOff();
  const run = await stage.world.claimOne(job);
  const show = () =>
    stage.storage.leases.showRunning([{ ...run, startedAtMs: stage.clock.now() }], stage.clock.now());
  if (shown) await show();
  const progress = async () =>
    (await stage.storage.runs.attempts(run.runId, stage.clock.now()))[0]?.progress?.percent;
  return { run, show, progress };
}

describe('progress', () => {
  test('of all runs is written once a second, the last of each', async () => {
    const [a, b] = [await claimed(), await claimed()];
    for (let percent = 0; percent <= 50; percent += 1) writer.tell(a.run, { percent });
    writer.tell(b.run, { percent: 7, message: 'half\0 way' });
    await turns();
    expect(written).toEqual([]);
    await stage.advance(1_000);
    expect(written.map((reports) => reports.map(({ percent, message }) => [percent, message]))).toEqual([
      [
        [50, undefined],
        [7, 'half way'],
      ],
    ]);
    expect([await a.progress(), await b.progress()]).toEqual([50, 7]);
    await stage.advance(10_000);
    expect(written).toHaveLength(1);
  });

  test('that a run told last is written before its end', async () => {
    const { run, progress } = await claimed();
    writer.tell(run, { percent: 100 });
    await writer.close(run);
    expect(await progress()).toBe(100);
    expect(writer.close(run)).toBeUndefined();
  });

  test('that a run told last stays, also while what it told before is still being written', async () => {
    const { run, progress } = await claimed();
    const slow = Promise.withResolvers<void>();
    gate = slow.promise;
    writer.tell(run, { percent: 98 });
    await stage.advance(1_000);
    gate = undefined;
    writer.tell(run, { percent: 100 });
    const closed = writer.close(run);
    await turns();
    slow.resolve();
    await closed;
    await turns();
    expect(await progress()).toBe(100);
  });

  test('that is being written is waited for before the end of its run', async () => {
    const { run, progress } = await claimed();
    const slow = Promise.withResolvers<void>();
    gate = slow.promise;
    writer.tell(run, { percent: 100 });
    await stage.advance(1_000);
    const closed = writer.close(run)!;
    expect(await Promise.race([closed.then(() => 'closed'), turns().then(() => 'waits')])).toBe('waits');
    slow.resolve();
    await closed;
    expect(await progress()).toBe(100);
  });

  test('of a run that is not shown yet is written when it is', async () => {
    const { run, show, progress } = await claimed({ shown: false });
    writer.tell(run, { percent: 7 });
    await stage.advance(1_000);
    expect(await progress()).toBeUndefined();
    await show();
    await stage.advance(1_000);
    expect(await progress()).toBe(7);
  });

  test('of a run that has ended is given up', async () => {
    const { run } = await claimed();
    await stage.world.settle(run);
    writer.tell(run, { percent: 7 });
    for (let i = 0; i < 10; i += 1) await stage.advance(1_000);
    expect(written.length).toBeLessThan(5);
  });

  test('that the storage refuses is dropped, and that of the other runs is written', async () => {
    const runs = [await claimed(), await claimed(), await claimed()];
    for (const [i, { run }] of runs.entries())
      writer.tell(run, { percent: 7, message: i === 1 ? POISON : 'fine' });
    await stage.advance(1_000);
    expect(await Promise.all(runs.map(({ progress }) => progress()))).toEqual([7, undefined, 7]);
    expect(writer.waitingCount).toBe(0);
  });

  test('that cannot be written is dropped, and later progress is written', async () => {
    const { run, progress } = await claimed();
    isDown = true;
    writer.tell(run, { percent: 7 });
    await stage.advance(1_000);
    isDown = false;
    await stage.advance(5_000);
    expect(await progress()).toBeUndefined();
    writer.tell(run, { percent: 9 });
    await stage.advance(1_000);
    expect(await progress()).toBe(9);
  });
});
