/** Skipping one coming fire: who may, what it changes, what is refused, and what edits do to it. */
import { type Caller, fireTime, type JobId, type JobInput, type Refusal, SERVER } from '@carillon/domain';
import { beforeEach, describe, expect, test } from 'vitest';
import { OperationsFixture, turnsDuring } from '../operations.fixture.ts';
import { operationsAs } from '../operations.ts';

const HOUR_MS = 3_600_000;
/** What is asked for ahead. */
const SOON_MS = 4 * HOUR_MS;
const NOON = Date.UTC(2030, 0, 1, 12);
const CATCH_UP = { policy: 'all' } as const;
const at = (hours: number) => NOON + hours * HOUR_MS;

let fixture: OperationsFixture;
let jobId: JobId;
beforeEach(async () => {
  fixture = new OperationsFixture();
  jobId = (await fixture.operations.createJob({ name: 'job', cronExpression: '0 * * * *' })).jobId;
});

const ada: Caller = {
  ...{ ...SERVER, kind: 'user', id: 'u1', name: 'ada' },
  grants: [{ namespace: 'default', role: 'operator', ownOnly: false }],
};
const asAda = () => operationsAs(ada, fixture.everyones);
const skips = async () => (await fixture.storage.jobs.get(jobId))?.skips;
const refusal = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: Refusal) => error.code,
  );

/** Lets hours pass one by one, with a scheduler; answers the instants that ran, in hours. */
async function pass(hours: number): Promise<number[]> {
  const ran: number[] = [];
  for (let i = 0; i < hours; i += 1) {
    fixture.clock.advance(HOUR_MS);
    ran.push(...(await fixture.fireDue()).map((ms) => (ms - NOON) / HOUR_MS));
  }
  return ran;
}

describe('a skipped fire', () => {
  test('does not run; the schedule goes on, and the ledger names who skipped it', async () => {
    const job = await asAda().skipFire(jobId, { atMs: at(2) });
    expect(job).toMatchObject({ changed: true, version: 2, status: 'SCHEDULED' });
    expect(await pass(3)).toEqual([1, 3]);
    const runs = await fixture.operations.listRuns(jobId, { limit: 10 });
    const [skipped, ...others] = runs.filter(({ status }) => status === 'SKIPPED');
    expect(others).toEqual([]);
    expect(skipped).toMatchObject({ reason: 'skipped by ada', scheduledAtMs: at(2), occurrences: 1 });
    const why = await fixture.operations.whyRun(skipped!.runId);
    expect(why.reasons[0]!.text).toBe('It was skipped by ada, on 2030-01-01T12:00:00.000Z.');
  });

  test('is told once however often it is asked for, and can be taken back', async () => {
    await asAda().skipFire(jobId, { atMs: at(1) });
    expect(await fixture.operations.skipFire(jobId, { atMs: at(1) })).toMatchObject({ changed: false });
    expect(await skips()).toEqual([{ atMs: at(1), by: 'ada', skippedAtMs: NOON, nextMs: at(2) }]);
    expect(await asAda().unskipFire(jobId, { atMs: at(1) })).toMatchObject({ changed: true, version: 3 });
    expect(await asAda().unskipFire(jobId, { atMs: at(1) })).toMatchObject({ changed: false, version: 3 });
    expect(await skips()).toBeUndefined();
    expect(await pass(1)).toEqual([1]);
  });

  test('is not the next run: of the job, of lists, of what comes, and of why', async () => {
    for (const hours of [1, 2]) await asAda().skipFire(jobId, { atMs: at(hours) });
    const { operations } = fixture;
    expect(await operations.getJob(jobId)).toMatchObject({ nextRunMs: at(3), skips: [{}, {}] });
    expect((await operations.listJobs({ limit: 5 })).jobs[0]).toMatchObject({ nextRunMs: at(3) });
    const sorted = await operations.listSortedJobs({ by: 'next_run_time', descending: false, limit: 5 });
    expect(sorted.jobs[0]).toMatchObject({ nextRunMs: at(3) });
    const upcoming = await operations.listUpcoming({ withinMs: SOON_MS, limit: 10 });
    expect(upcoming.runs.map(({ runAtMs }) => runAtMs)).toEqual([at(3), at(4)]);
    const why = await operations.whyJob(jobId);
    expect(why).toMatchObject({ state: 'scheduled', estimatedStartMs: at(3) });
    expect(why.reasons.map(({ code }) => code)).toEqual(['not_due', 'fire_skipped', 'fire_skipped']);
    expect(why.reasons[1]!.text).toContain('ada skipped it on 2030-01-01T12:00:00.000Z');
    await pass(1);
    expect((await operations.getJob(jobId)).skips).toMatchObject([{ atMs: at(2), by: 'ada' }]);
  });

  test('is one of three that lists name, whatever their order; the job has all', async () => {
    for (const hours of [1, 2, 3, 4, 5]) await asAda().skipFire(jobId, { atMs: at(hours) });
    const { operations } = fixture;
    const { jobs } = await operations.listJobs({ limit: 5 });
    const sorted = await operations.listSortedJobs({ by: 'next_run_time', descending: false, limit: 5 });
    for (const [listed] of [jobs, sorted.jobs]) {
      expect(listed).toMatchObject({ nextRunMs: at(6), skips: [1, 2, 3].map((n) => ({ atMs: at(n) })) });
    }
    expect((await operations.getJob(jobId)).skips).toHaveLength(5);
  });

  test('holds up nobody in a list of many, also where it does not know the fire after it', async () => {
    const old = { by: 'ada', skippedAtMs: NOON };
    for (let n = 0; n < 5; n += 1) {
      const made = await fixture.operations.createJob({ name: `job ${n}`, cronExpression: '0 * * * *' });
      const read = (await fixture.storage.jobs.getForChange(made.jobId))!;
      await fixture.storage.jobs.apply({
        job: { ...read.job, version: 2, skips: [1, 2].map((hours) => ({ ...old, atMs: at(hours) })) },
        ...{ expectedVersion: 1, expectedStatus: 'SCHEDULED', pending: { kind: 'keep' }, nowMs: NOON },
        ...{ expectedPlannedNominalMs: read.plannedNominalMs, audit: undefined as never },
      });
    }
    // Each part of the work seems to take a slice.
    fixture.partMs = 2;
    const turns = await turnsDuring(async () => {
      const { jobs } = await fixture.operations.listJobs({ limit: 10 });
      expect(jobs.filter(({ nextRunMs }) => nextRunMs === at(3))).toHaveLength(5);
    });
    expect(turns).toBeGreaterThanOrEqual(4);
  });

  test('of a list that is cut off says that more may follow', async () => {
    await fixture.operations.createJob({ name: 'other', cronExpression: '30 * * * *' });
    await asAda().skipFire(jobId, { atMs: at(1) });
    const list = (limit: number) => fixture.operations.listUpcoming({ withinMs: SOON_MS, limit });
    expect((await list(2)).runs.map(({ runAtMs }) => runAtMs)).toEqual([at(0.5)]);
    expect((await list(2)).partial).toBe(true);
    expect(await list(10)).toMatchObject({ partial: false, runs: { length: 7 } });
  });

  test('is not made up for after an outage, whatever the policy', async () => {
    await fixture.operations.updateJob(jobId, { misfire: { policy: 'all' } });
    await asAda().skipFire(jobId, { atMs: at(2) });
    fixture.clock.advance(3 * HOUR_MS + 60_000);
    const ran = await fixture.fireDue();
    expect(ran.map((ms) => (ms - NOON) / HOUR_MS)).toEqual([1, 3]);
  });

  test('in a pause stays skipped by that person', async () => {
    await asAda().skipFire(jobId, { atMs: at(2) });
    await fixture.operations.pauseJob(jobId);
    fixture.clock.advance(3.5 * HOUR_MS);
    await fixture.operations.resumeJob(jobId);
    await fixture.fireDue();
    const runs = await fixture.operations.listRuns(jobId, { limit: 10 });
    expect(runs.map(({ reason, scheduledAtMs }) => [scheduledAtMs, reason]).toSorted()).toEqual([
      [at(1), 'paused'],
      [at(2), 'skipped by ada'],
      [at(3), 'paused'],
    ]);
  });
});

describe('edits', () => {
  test('of other fields keep a skip', async () => {
    await asAda().skipFire(jobId, { atMs: at(2) });
    await fixture.operations.updateJob(jobId, { name: 'renamed', timeoutSeconds: 5 });
    expect(await skips()).toHaveLength(1);
    expect(await pass(3)).toEqual([1, 3]);
  });

  test('of the schedule keep it only where that still fires then', async () => {
    for (const hours of [1, 2]) await asAda().skipFire(jobId, { atMs: at(hours) });
    await fixture.operations.updateJob(jobId, { cronExpression: '0 */2 * * *' });
    expect((await skips())?.map(({ atMs }) => atMs)).toEqual([at(2)]);
    await fixture.operations.updateJob(jobId, { cronExpression: '30 * * * *' });
    expect(await skips()).toBeUndefined();
  });

  test('of the schedule keep the skip of a fire that waits for its share of the spread', async () => {
    const { operations, storage, clock } = fixture;
    await operations.updateJob(jobId, { spreadSeconds: 3_000 });
    const { schedule } = (await storage.jobs.get(jobId))!;
    const fireMs = fireTime({ schedule, jobId, nominalMs: at(1) });
    await asAda().skipFire(jobId, { atMs: at(1) });
    clock.advance(fireMs - 1 - clock.now());
    expect(clock.now()).toBeGreaterThan(at(1));
    await operations.updateJob(jobId, { cronExpression: '0 */2 * * *' });
    clock.advance(1);
    expect(await fixture.cursors(clock.now())).toHaveLength(1);
    expect(await fixture.fireDue()).toEqual([]);
    expect(await fixture.operations.listRuns(jobId, { limit: 10 })).toMatchObject([
      { reason: 'skipped by ada', scheduledAtMs: at(1) },
    ]);
  });

  test.each([
    ['an edit', (input: JobInput) => fixture.operations.updateJob(jobId, input)],
    [
      'a definition that is applied',
      (input: JobInput) =>
        fixture.operations.applyJob({ key: 'key', input: { name: 'job', misfire: CATCH_UP, ...input } }),
    ],
  ])('of the schedule in a pause keep the skip of a fire that passed in it: %s', async (_, edit) => {
    const { operations, clock } = fixture;
    await operations.updateJob(jobId, { key: 'key', misfire: CATCH_UP });
    for (const hours of [1, 2]) await asAda().skipFire(jobId, { atMs: at(hours) });
    await operations.pauseJob(jobId);
    clock.advance(2.25 * HOUR_MS);
    // Off the new rule, the first stands until it is judged; the second is of both rules.
    await edit({ cronExpression: '0 2,14,15 * * *' });
    expect((await skips())?.map(({ atMs }) => atMs)).toEqual([at(1), at(2)]);
    await operations.resumeJob(jobId);
    expect(await pass(1)).toEqual([3]);
  });
});

describe('what is refused', () => {
  test('instants that are no coming fire, jobs that run once, and jobs that are over', async () => {
    const { operations } = fixture;
    expect(await refusal(operations.skipFire(jobId, { atMs: at(1) + 1 }))).toBe('fire_not_found');
    expect(await refusal(operations.skipFire(jobId, { atMs: at(0) }))).toBe('fire_passed');
    expect(await refusal(operations.unskipFire(jobId, { atMs: at(-1) }))).toBe('fire_passed');
    const once = await operations.createJob({ name: 'once', scheduleTime: '2030-01-02T00:00:00Z' });
    expect(await refusal(operations.skipFire(once.jobId, { atMs: Date.UTC(2030, 0, 2) }))).toBe(
      'job_not_recurring',
    );
    await operations.cancelJob(jobId);
    expect(await refusal(operations.skipFire(jobId, { atMs: at(1) }))).toBe('job_cancelled');
  });

  test('another version than the one that was named, and callers without the permission', async () => {
    expect(await refusal(fixture.operations.skipFire(jobId, { atMs: at(1), ifVersion: [7] }))).toBe(
      'version_mismatch',
    );
    const viewer = { ...ada, grants: [{ namespace: 'default', role: 'viewer', ownOnly: false }] } as const;
    const looking = operationsAs(viewer, fixture.everyones);
    expect(await refusal(looking.skipFire(jobId, { atMs: at(1) }))).toBe('forbidden');
  });
});

test('it is on record: in the audit log, in the versions of the job, and as an event', async () => {
  await asAda().skipFire(jobId, { atMs: at(1) });
  await asAda().unskipFire(jobId, { atMs: at(1) });
  const { versions } = await fixture.operations.listVersions(jobId, { limit: 10 });
  expect(versions.map(({ action, actor, version }) => [action, actor.name, version]).slice(0, 2)).toEqual([
    ['jobs.unskip', 'ada', 3],
    ['jobs.skip', 'ada', 2],
  ]);
  const one = ['2030-01-01T13:00:00.000Z'];
  expect(versions[0]!.changes).toEqual([{ field: 'skips', before: one, after: null }]);
  expect(versions[1]!.changes).toEqual([{ field: 'skips', before: null, after: one }]);
  const { events } = await fixture.storage.events.read({ generation: 0, seq: 0 } as never, 100);
  expect(events.filter(({ kind }) => kind === 'job.updated')).toHaveLength(2);
});

test('the record of one names that instant alone, however many there are; that of an edit, what it drops', async () => {
  for (const hours of [1, 2, 3]) await asAda().skipFire(jobId, { atMs: at(hours) });
  await fixture.operations.updateJob(jobId, { cronExpression: '0 */2 * * *' });
  const { versions } = await fixture.operations.listVersions(jobId, { limit: 10 });
  const skipped = versions.map(({ changes }) => changes.find(({ field }) => field === 'skips'));
  const [one, two, three] = [13, 14, 15].map((hour) => `2030-01-01T${hour}:00:00.000Z`);
  expect(skipped.slice(0, 4)).toEqual([
    { field: 'skips', before: [one, three], after: null },
    { field: 'skips', before: null, after: [three] },
    { field: 'skips', before: null, after: [two] },
    { field: 'skips', before: null, after: [one] },
  ]);
});
