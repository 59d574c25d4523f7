/** Fires that a person has skipped, as the owner of the shard fires them: also when it changes hands, and when it looked earlier. */
import type { Job } from '@carillon/domain';
import { expect, test } from 'vitest';
import { BASE_MS, MINUTE_MS } from '../storage/conformance/storage-under-test.ts';
import { nominalsOf, SchedulerStage } from './scheduler-stage.fixture.ts';

const skip = (stage: SchedulerStage, job: Job, minutes: readonly number[]) =>
  stage.role.world.change(
    job.jobId,
    {
      skips: minutes.map((minute) => ({
        ...{ atMs: BASE_MS + minute * MINUTE_MS, by: 'ada', skippedAtMs: BASE_MS },
      })),
    },
    { kind: 'keep' },
    stage.role.clock.now(),
  );

async function started(stage: SchedulerStage, minute: number): Promise<number[]> {
  const runs = await stage.at(minute * MINUTE_MS);
  for (const run of runs) await stage.finish(run);
  return nominalsOf(runs).map((ms) => ms / MINUTE_MS);
}

const skippedOf = async (stage: SchedulerStage, job: Job) =>
  (await stage.runsOf(job.jobId))
    .filter(({ status }) => status === 'SKIPPED')
    .map(({ reason, scheduledAtMs }) => [reason, (scheduledAtMs - BASE_MS) / MINUTE_MS])
    .toSorted();

test('a fire that is skipped after the scheduler has read it ahead does not run', async () => {
  const stage = await SchedulerStage.set();
  const job = await stage.role.world.recurring({ atMs: BASE_MS + MINUTE_MS });
  // The scheduler knows the cursor from here on.
  await stage.rest();
  await skip(stage, job, [1, 3]);
  for (const [minute, expected] of [
    [1, []],
    [2, [2]],
    [3, []],
    [4, [4]],
  ] as const)
    expect(await started(stage, minute)).toEqual(expected);
  expect(await skippedOf(stage, job)).toEqual([
    ['skipped by ada', 1],
    ['skipped by ada', 3],
  ]);
});

test('a skip that is taken back in time runs', async () => {
  const stage = await SchedulerStage.set();
  const job = await stage.role.world.recurring({ atMs: BASE_MS + MINUTE_MS });
  await skip(stage, job, [1]);
  await stage.rest();
  await skip(stage, job, []);
  expect(await started(stage, 1)).toEqual([1]);
  expect(await skippedOf(stage, job)).toEqual([]);
});

test('hazard 9: of two schedulers that both think they own the shard, one records the skip, once', async () => {
  const stage = await SchedulerStage.set();
  const { world, clock } = stage.role;
  const job = await world.recurring({ atMs: BASE_MS + MINUTE_MS });
  await skip(stage, job, [1]);
  const [first, second] = [stage.create(), stage.create()];
  await stage.rest(first);
  await stage.rest(second);
  clock.advance(MINUTE_MS);
  await Promise.all([first.runOnce(), second.runOnce()]);
  await stage.rest(first);
  await stage.rest(second);
  expect(await stage.take()).toEqual([]);
  expect(await skippedOf(stage, job)).toEqual([['skipped by ada', 1]]);
});

test('the next owner of the shard knows the skips', async () => {
  const stage = await SchedulerStage.set();
  const { world } = stage.role;
  const job = await world.recurring({ atMs: BASE_MS + MINUTE_MS });
  await skip(stage, job, [2]);
  expect(await started(stage, 1)).toEqual([1]);
  world.guard = await world.changeHands();
  const heir = stage.create();
  stage.role.clock.advance(MINUTE_MS);
  await stage.rest(heir);
  stage.role.clock.advance(MINUTE_MS);
  await stage.rest(heir);
  expect(nominalsOf(await stage.take()).map((ms) => ms / MINUTE_MS)).toEqual([3]);
  expect(await skippedOf(stage, job)).toEqual([['skipped by ada', 2]]);
});
