import { type JobDefinition, type JobId, payloadOf, SERVER } from '@carillon/domain';
import { beforeEach, describe, expect, test } from 'vitest';
import { OperationsFixture } from '../operations.fixture.ts';

let fixture: OperationsFixture;
beforeEach(() => {
  fixture = new OperationsFixture();
});

const refusal = (asked: Promise<unknown>) =>
  asked.then(
    () => undefined,
    (error: { code?: string }) => error.code,
  );

type Input = Parameters<OperationsFixture['operations']['createJob']>[0];

const create = async (input: Input): Promise<JobId> => (await fixture.operations.createJob(input)).jobId;
const stored = async (jobId: JobId) => (await fixture.storage.jobs.get(jobId))!;

function definitionOf(job: JobDefinition): object {
  const { version: _v, updatedAtMs: _u, ...rest } = job as JobDefinition & Record<string, unknown>;
  return { ...rest, payload: payloadOf(job) };
}

const FIRST: Input = {
  ...{ name: 'report', key: 'report', handler: 'default', priority: 'low', overlap: 'skip' },
  ...{ interval: '90m', scheduleTime: '2029-12-31T22:13:14.567Z', timeZone: 'Europe/Paris' },
  ...{ startAt: null, endAt: '2040-01-01T00:00:00Z', spreadSeconds: 0.25 },
  ...{ daylightSaving: { gap: 'skip', overlap: 'both' }, timeoutSeconds: 0.123, startTimeoutSeconds: 60 },
  ...{ misfire: { policy: 'all', maxRuns: 3, windowSeconds: 61 }, maxConcurrency: 4, userId: 'ada' },
  ...{ maxRetries: 7, retry: { strategy: 'fixed', delaySeconds: 2, deadlineSeconds: 600 } },
  ...{ labels: { my_team: 'Ops', start_at: 'x' }, resources: { gpu_seconds: 2 } },
  ...{ payload: { my_field: 1, start_at: 'tomorrow', nested: { wait_seconds: 3 }, none: null } },
};

const OTHERS: [string, Input][] = [
  ['a cron rule', { name: 'other', cronExpression: '0 9 * * 1-5', timeZone: 'UTC', endAt: null }],
  ['a calendar', { frequency: 'monthly', scheduleTime: '2030-01-31T09:00:00Z' }],
  ['one time', { scheduleType: 'FUTURE', scheduleTime: '2031-01-01T00:00:00Z' }],
  [
    'every other field',
    {
      ...{ key: null, priority: null, overlap: null, timeoutSeconds: null, startTimeoutSeconds: null },
      ...{ misfire: null, maxConcurrency: null, userId: null, maxRetries: null, retry: null },
      ...{ labels: null, resources: null, payload: null, spreadSeconds: null, daylightSaving: null },
    },
  ],
];

describe('an earlier version', () => {
  test.each(OTHERS)('comes back exactly, and so does the later one: after %s', async (_, change) => {
    const jobId = await create(FIRST);
    const first = await stored(jobId);
    await fixture.operations.updateJob(jobId, change);
    const second = await stored(jobId);
    const restored = await fixture.operations.restoreJob(jobId, { version: 1 });
    expect(restored).toMatchObject({ outcome: 'restored', notRecorded: [], before: { version: 2 } });
    expect(definitionOf(await stored(jobId))).toEqual(definitionOf(first));
    expect((await stored(jobId)).version).toBe(3);
    await fixture.operations.restoreJob(jobId, { version: 2 });
    expect(definitionOf(await stored(jobId))).toEqual(definitionOf(second));
  });

  test('is found behind several changes, pauses and runs that people asked for', async () => {
    const jobId = await create({ name: 'one', interval: '1h', handler: 'default' });
    for (const name of ['two', 'three', 'four']) {
      await fixture.operations.updateJob(jobId, { name });
      await fixture.operations.runJobNow(jobId, {});
    }
    await fixture.operations.pauseJob(jobId);
    for (let i = 0; i < 210; i += 1) await fixture.operations.runJobNow(jobId, {});
    await fixture.operations.restoreJob(jobId, { version: 2 });
    expect(await stored(jobId)).toMatchObject({ name: 'two', version: 6, status: 'PAUSED' });
  });

  test('is a new one of its own, which the list of versions and the audit log call so', async () => {
    const jobId = await create({ name: 'one', interval: '1h', handler: 'default' });
    await fixture.operations.updateJob(jobId, { name: 'two' });
    await fixture.operations.restoreJob(jobId, { version: 1 });
    const { versions } = await fixture.operations.listVersions(jobId, { limit: 1 });
    expect(versions).toMatchObject([
      {
        ...{ version: 3, restoredVersion: 1, action: 'jobs.restore' },
        changes: [{ field: 'name', before: 'two', after: 'one' }],
      },
    ]);
    const [entry] = await fixture.audit.ofSubject({ subjectId: jobId, limit: 1 });
    expect(JSON.parse(entry!.after!)).toEqual({ name: 'one', restored_version: 1, version: 3 });
  });

  test('is found among large ones part by part, and their list ends early and goes on', async () => {
    const jobId = await create({ name: 'one', interval: '1h', handler: 'default' });
    for (let i = 0; i < 30; i += 1)
      await fixture.operations.updateJob(jobId, { payload: { text: `${i}`.repeat(80_000) } });
    const seen: (number | undefined)[] = [];
    let [answers, beforeId] = [0, undefined as number | undefined];
    do {
      const { versions, next } = await fixture.operations.listVersions(jobId, { limit: 100, beforeId });
      seen.push(...versions.map(({ version }) => version));
      [answers, beforeId] = [answers + 1, next];
    } while (beforeId !== undefined && answers < 100);
    expect(answers).toBeGreaterThan(1);
    expect(seen).toEqual(Array.from({ length: 31 }, (_, i) => 31 - i));
    const found = await fixture.operations.restoreJob(jobId, { version: 2, dryRun: true });
    expect(found.job.payload).toBe(JSON.stringify({ text: '0'.repeat(80_000) }));
  });

  test('gives no entry of a list the credential of another', async () => {
    const payload = {
      to: [
        { id: 1, token: 'first' },
        { id: 2, token: 'second' },
      ],
    };
    const jobId = await create({ name: 'one', interval: '1h', handler: 'default', payload });
    await fixture.operations.updateJob(jobId, { payload: { to: [{ id: 2, token: 'second' }] } });
    const { job, notRecorded } = await fixture.operations.restoreJob(jobId, { version: 1, dryRun: true });
    expect(JSON.parse(job.payload)).toEqual({ to: [{ id: 1 }, { id: 2 }] });
    expect(notRecorded).toHaveLength(2);
  });

  test('is only looked at in a dry run', async () => {
    const jobId = await create({ name: 'one', interval: '1h', handler: 'default' });
    await fixture.operations.updateJob(jobId, { name: 'two' });
    const found = await fixture.operations.restoreJob(jobId, { version: 1, dryRun: true });
    expect(found).toMatchObject({ outcome: 'restored', before: { name: 'two' }, job: { name: 'one' } });
    expect(await stored(jobId)).toMatchObject({ name: 'two', version: 2 });
  });

  test('that the job has already changes nothing', async () => {
    const jobId = await create({ name: 'one', interval: '1h', handler: 'default' });
    expect(await fixture.operations.restoreJob(jobId, { version: 1 })).toMatchObject({
      outcome: 'unchanged',
    });
    await fixture.operations.pauseJob(jobId);
    await fixture.operations.restoreJob(jobId, { version: 1 });
    expect(await stored(jobId)).toMatchObject({ version: 2, status: 'PAUSED' });
  });

  test('with another schedule is planned by it', async () => {
    const jobId = await create({ name: 'job', cronExpression: '0 15 * * *', handler: 'default' });
    await fixture.operations.updateJob(jobId, { cronExpression: '0 18 * * *' });
    await fixture.operations.restoreJob(jobId, { version: 1 });
    expect(await fixture.cursorOf(jobId)).toMatchObject({ nominalAtMs: Date.UTC(2030, 0, 1, 15) });
  });
});

describe('credentials, which versions do not keep,', () => {
  const withToken = (token: string | undefined, page: number) => ({
    url: `https://example.org/?page=${page}`,
    headers: { accept: 'text/plain', ...(token !== undefined && { authorization: token }) },
  });

  test('stay as the job has them now, and are named', async () => {
    const jobId = await create({
      ...{ name: 'call', interval: '1h', handler: 'http' },
      payload: withToken('Bearer old-token', 1),
    });
    await fixture.operations.updateJob(jobId, { payload: withToken('Bearer new-token', 2) });
    const { notRecorded } = await fixture.operations.restoreJob(jobId, { version: 1 });
    expect(notRecorded).toEqual(['payload.headers.authorization']);
    expect(payloadOf(await stored(jobId))).toEqual(withToken('Bearer new-token', 1));
  });

  test('are left out where the job has none', async () => {
    const payload = withToken('Bearer old-token', 1);
    const jobId = await create({ name: 'call', interval: '1h', handler: 'http', payload });
    await fixture.operations.updateJob(jobId, { payload: withToken(undefined, 2) });
    await fixture.operations.restoreJob(jobId, { version: 1 });
    expect(payloadOf(await stored(jobId))).toEqual(withToken(undefined, 1));
  });
});

describe('refused', () => {
  test('is to put a credential that the caller may not read beside an address of their choice', async () => {
    const payload = (host: string) => ({
      url: `https://${host}/`,
      headers: { authorization: `Bearer ${host}` },
    });
    const jobId = await create({
      name: 'call',
      interval: '1h',
      handler: 'http',
      payload: payload('mine.example'),
    });
    await fixture.operations.updateJob(jobId, { payload: payload('theirs.example') });
    const scopes = new Set(['jobs.read', 'jobs.update'] as const);
    const { everyones } = fixture;
    expect(await refusal(everyones.restoreJob({ ...SERVER, scopes }, jobId, { version: 1 }))).toBe(
      'forbidden',
    );
    expect(payloadOf(await stored(jobId))).toEqual(payload('theirs.example'));
  });

  test('is a version that the job never had, or that nobody recorded', async () => {
    const jobId = await create({ name: 'one', interval: '1h', handler: 'default' });
    expect(await refusal(fixture.operations.restoreJob(jobId, { version: 2 }))).toBe('version_not_recorded');
  });

  test('is a job that was cancelled, or that somebody changed meanwhile', async () => {
    const jobId = await create({ name: 'one', interval: '1h', handler: 'default' });
    await fixture.operations.updateJob(jobId, { name: 'two' });
    expect(await refusal(fixture.operations.restoreJob(jobId, { version: 1, ifVersion: [1] }))).toBe(
      'version_mismatch',
    );
    await fixture.operations.cancelJob(jobId);
    expect(await refusal(fixture.operations.restoreJob(jobId, { version: 1 }))).toBe('job_cancelled');
  });
});
