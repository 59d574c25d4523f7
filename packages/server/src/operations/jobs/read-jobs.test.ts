import type { JobId } from '@carillon/domain';
import { beforeEach, expect, test } from 'vitest';
import { OperationsFixture } from '../operations.fixture.ts';

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
