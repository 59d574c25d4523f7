/** Who is said to have done something: people by their names, and keys that belong to nobody as keys, whatever they are called. */
import { ADMIN_KEY_ID, type Caller, type JobId, type RunId, SERVER } from '@carillon/domain';
import { expect, test } from 'vitest';
import { OperationsFixture } from './operations.fixture.ts';
import { operationsAs } from './operations.ts';

const HOUR_MS = 3_600_000;
const grants = SERVER.grants;
const keyOfNobody: Caller = {
  ...{ ...SERVER, kind: 'key', id: 'k1', name: 'grace', grants },
  credential: { kind: 'key', id: 'k1', name: 'grace', expiresAtMs: undefined },
};
const person: Caller = { ...keyOfNobody, userId: 'u1', userName: 'grace' };

test.each([
  ['a key of nobody', keyOfNobody, 'key grace'],
  ['a person with a key', person, 'grace'],
  ['the admin key', { ...SERVER, kind: 'key', id: ADMIN_KEY_ID, name: 'admin key' } as Caller, 'admin key'],
  ['the server', SERVER, 'server'],
])('%s is named wherever it is said who did something', async (_, caller, name) => {
  const fixture = new OperationsFixture();
  const { operations } = fixture;
  const asked = operationsAs(caller, fixture.everyones);

  const { jobId } = await operations.createJob({ name: 'hourly', frequency: 'hourly' });
  const { nextRunMs } = await operations.getJob(jobId);
  await asked.skipFire(jobId, { atMs: nextRunMs! });
  expect((await operations.getJob(jobId)).skips).toMatchObject([{ by: name }]);
  const { fires } = await operations.previewSchedule({ schedule: {}, jobId, count: 1 });
  expect(fires).toMatchObject([{ skippedBy: name }]);
  const why = await operations.whyJob(jobId);
  expect(why.reasons.at(-1)?.text).toContain(`: ${name} skipped it`);
  fixture.clock.advance(2 * HOUR_MS);
  await fixture.fireDue();
  const runs = await operations.listRuns(jobId, { limit: 9 });
  expect(runs.find(({ status }) => status === 'SKIPPED')).toMatchObject({ reason: `skipped by ${name}` });
  await operations.cancelJob(jobId);

  const dead = await deadLetter(fixture);
  const redriven = await asked.redriveDeadLetter(dead.runId);
  expect(await operations.getRun(redriven.runId)).toMatchObject({ requestedBy: name });
  expect((await operations.getRun(dead.runId)).repeats).toMatchObject([{ requestedBy: name }]);
  const again = await asked.rerunRun(dead.runId);
  expect(await operations.getRun(again.runId)).toMatchObject({ requestedBy: name });
  await asked.cancelRun(again.runId);
  expect(await operations.getRun(again.runId)).toMatchObject({ cancelledBy: name });
  await asked.cancelJob(dead.jobId);
  expect(await operations.getRun(redriven.runId)).toMatchObject({ cancelledBy: name });

  const secret = { namespace: 'default', name: 'token' };
  await asked.setSecret(secret, 'a value of a secret');
  expect(await operations.getSecret(secret)).toMatchObject({ createdBy: name, updatedBy: name });
});

async function deadLetter(fixture: OperationsFixture): Promise<{ jobId: JobId; runId: RunId }> {
  const { jobId } = await fixture.operations.createJob({ name: 'failing', frequency: 'yearly' });
  const { runId } = await fixture.operations.runJobNow(jobId);
  const next = { kind: 'dead', reason: 'retries_exhausted' } as const;
  await fixture.settle(await fixture.claimDue(), { status: 'FAILED', next });
  return { jobId, runId };
}
