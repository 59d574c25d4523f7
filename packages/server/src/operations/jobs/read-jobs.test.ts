import { type Caller, type JobId, SERVER } from '@carillon/domain';
import { beforeEach, expect, test } from 'vitest';
import type { OperationPorts } from '../operation-ports.ts';
import { OperationsFixture } from '../operations.fixture.ts';
import { jobReading } from './read-jobs.ts';

let fixture: OperationsFixture;
beforeEach(() => {
  fixture = new OperationsFixture();
});

async function create(input: Parameters<OperationsFixture['operations']['createJob']>[0]): Promise<JobId> {
  return (await fixture.operations.createJob(input)).jobId;
}

test('jobs are filtered, newest first, also over several types', async () => {
  const once = await create({ name: 'once', userId: 'u1' });
  const cron = await create({ name: 'cron', cronExpression: '0 9 * * *' });
  const rhythm = await create({ name: 'rhythm', interval: '1m', priority: 'high' });
  const ids = async (query: object) => {
    const found = await fixture.operations.listJobs({ limit: 10, ...query });
    return found.jobs.map(({ job }) => job.jobId);
  };
  expect(await ids({})).toEqual([rhythm, cron, once]);
  expect(await ids({ scheduleTypes: ['CRON', 'INTERVAL'] })).toEqual([rhythm, cron]);
  expect(await ids({ scheduleTypes: ['CRON', 'INTERVAL'], offset: 1 })).toEqual([cron]);
  expect(await ids({ scheduleTypes: ['INTERVAL'] })).toEqual([rhythm]);
  expect(await ids({ userId: 'u1' })).toEqual([once]);
  expect(await ids({ priority: 'high', statuses: ['SCHEDULED'] })).toEqual([rhythm]);
  expect(await ids({ afterJobId: rhythm, limit: 1 })).toEqual([cron]);
  const deep = ids({ scheduleTypes: ['CRON', 'INTERVAL'], offset: 20_000 });
  await expect(deep).rejects.toMatchObject({ code: 'field_invalid', field: 'page' });
});

test('what fires next costs one question to a schedule for each entry that is answered, however many could fire', async () => {
  for (let i = 0; i < 200; i += 1) await create({ name: `job ${i}`, interval: '1s' });
  let asked = 0;
  const slices = {
    async run<T>(part: () => T): Promise<T> {
      asked += 1;
      return part();
    },
  };
  const { clock, storage, accounts } = fixture;
  const reading = jobReading({ clock, storage, accounts, slices } as unknown as OperationPorts);
  const weekMs = 7 * 86_400_000;
  const { runs } = await reading.listUpcoming(SERVER, { withinMs: weekMs, limit: 1_000 });
  expect(runs).toHaveLength(1_000);
  // 200 of each of the first five seconds, in order.
  expect(runs.map(({ runAtMs }) => runAtMs)).toEqual(
    runs.map(({ runAtMs }) => runAtMs).toSorted((a, b) => a - b),
  );
  expect(runs.at(-1)!.runAtMs - runs[0]!.runAtMs).toBe(4_000);
  expect(asked).toBeLessThan(1_000);
});

test('a job that has ended is never shown with a run that goes on', async () => {
  const jobId = await create({ name: 'fast' });
  const batch = await fixture.claimDue();
  const { runs } = fixture.storage;
  const latestOfJob = runs.latestOfJob.bind(runs);
  let looks = 0;
  // The run ends right after it was read.
  runs.latestOfJob = async (...args) => {
    looks += 1;
    const run = await latestOfJob(...args);
    if (looks === 1) await fixture.settle(batch, { status: 'SUCCESS', next: { kind: 'finish' } });
    return run;
  };
  expect(await fixture.operations.getJobStatus(jobId)).toMatchObject({
    status: 'COMPLETED',
    latestRun: { status: 'SUCCESS' },
  });
  expect(looks).toBe(2);
});

test('whoever sees a job is told the name of its owner, without being allowed to list users', async () => {
  const ada = await fixture.operations.createUser({ name: 'ada', grants: [] });
  await create({ name: 'hers', key: 'hers', userId: ada.userId, interval: '1m' });
  await create({ name: 'of a program', userId: 'u003', interval: '1m' });
  await create({ name: 'of nobody', interval: '1m' });
  const viewer = {
    ...SERVER,
    grants: [{ namespace: 'default', role: 'viewer', ownOnly: false }],
  } satisfies Caller;
  const { everyones } = fixture;
  await expect(everyones.listUsers(viewer, { limit: 1 })).rejects.toMatchObject({ code: 'forbidden' });
  let asked = 0;
  const { userNames } = fixture.accounts;
  fixture.accounts.userNames = (ids) => {
    asked += 1;
    return userNames.call(fixture.accounts, ids);
  };
  const listed = await everyones.listJobs(viewer, { limit: 10 });
  expect(listed.jobs.map(({ owner }) => owner)).toEqual([
    { name: undefined },
    { name: undefined },
    { name: 'ada' },
  ]);
  expect(asked).toBe(1);
  const sorted = await everyones.listSortedJobs(viewer, { limit: 10, by: 'name', descending: false });
  expect(sorted.jobs[0]).toMatchObject({ job: { name: 'hers' }, owner: { name: 'ada' } });
  const { jobId } = listed.jobs[2]!.job;
  expect(await everyones.getJob(viewer, jobId)).toMatchObject({ owner: { name: 'ada' } });
  expect(await everyones.getJobByKey(viewer, { namespace: 'default', key: 'hers' })).toMatchObject({
    owner: { name: 'ada' },
  });
});
