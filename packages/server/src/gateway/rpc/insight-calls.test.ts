/** Calls that explain, count and read what runs said: each answers what REST answers. */
import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { RunId } from '@carillon/domain';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { collect, RpcFixture, refusalOf } from './rpc.fixture.ts';

const NOBODY = '00000000-0000-7000-8000-000000000000';
const DAY = '2030-01-01';

let gateway: RpcFixture;
let jobId: string;
let runId: string;
beforeEach(async () => {
  gateway = await RpcFixture.start();
  ({ jobId } = await gateway.jobs().submitJob({ codeLocation: 'report', name: 'first name' }));
  const batch = await gateway.claimDue();
  runId = batch.runs[0]!.runId;
  const next = { kind: 'dead', reason: 'retries_exhausted' } as const;
  await gateway.settle(batch, { status: 'FAILED', next, error: 'boom', result: '{"rows":[1]}' });
});
afterEach(() => gateway.stop());

test('why a job does not run now, and how a run ended', async () => {
  const jobs = gateway.jobs();
  const daily = await jobs.submitJob({ codeLocation: 'report', schedule: { frequency: 'daily' } });
  const { why } = await jobs.whyJob({ jobId: daily.jobId });
  expect(why).toMatchObject({ state: 'scheduled', reasons: [{ code: 'not_due', fix: '' }] });
  expect(timestampDate(why!.estimatedStartAt!).toISOString()).toMatch(/^2030-01-0/);
  expect((await jobs.whyRun({ runId })).why).toMatchObject({
    state: 'failed',
    text: expect.stringContaining('boom'),
  });
  expect(await refusalOf(jobs.whyRun({ runId: NOBODY }))).toMatchObject({
    detail: { code: 'run_not_found' },
  });
});

test('the last outcomes of jobs, in the order of their ids', async () => {
  const { strips } = await gateway.jobs().listStrips({ jobIds: [NOBODY, jobId], runs: 5 });
  expect(strips).toMatchObject([{ jobId, runs: [{ runId, status: 'FAILED', attempt: 1, durationMs: 0 }] }]);
});

test('versions are read, and an earlier one is brought back', async () => {
  const jobs = gateway.jobs();
  const recurring = await jobs.submitJob({
    codeLocation: 'report',
    name: 'old',
    schedule: { frequency: 'daily' },
  });
  const id = { jobId: recurring.jobId };
  await jobs.updateJob({ ...id, name: 'new' });
  const page = await jobs.listJobVersions({ ...id, pageSize: 1 });
  expect(page.versions).toMatchObject([{ version: 2, action: 'jobs.update', actor: { kind: 'server' } }]);
  expect(page.versions[0]!.changes).toMatchObject([
    { field: 'name', before: { kind: { value: 'old' } }, after: { kind: { value: 'new' } } },
  ]);
  const rest = await jobs.listJobVersions({ ...id, pageToken: page.nextPageToken });
  expect(rest.versions).toMatchObject([{ version: 1, action: 'jobs.create' }]);
  const dry = await jobs.restoreJob({ ...id, version: 1, dryRun: true });
  expect(dry).toMatchObject({ outcome: 'restored', dryRun: true, changes: [{ field: 'name' }] });
  const late = jobs.restoreJob({ ...id, version: 1, expectedVersion: 1 });
  expect(await refusalOf(late)).toMatchObject({
    detail: { code: 'version_mismatch', field: 'expected_version' },
  });
  const { job, dryRun } = await jobs.restoreJob({ ...id, version: 1, expectedVersion: 2 });
  expect([job?.name, job?.version, job?.schedule?.frequency, dryRun]).toEqual(['old', 3, 'daily', false]);
});

test('a search finds a job by its name', async () => {
  const { hits, partial } = await gateway.jobs().search({ q: 'first name' });
  expect(hits).toMatchObject([{ kind: 'job', id: jobId, title: 'first name', namespace: 'default' }]);
  expect(partial).toBe(false);
});

test('runs are run again and cancelled in bulk', async () => {
  const jobs = gateway.jobs();
  const filter = { statuses: ['FAILED'], since: '1h' };
  const ask = { action: 'rerun', filter, reason: 'again', idempotencyKey: 'k' };
  expect(await jobs.bulkChangeRuns({ ...ask, dryRun: true })).toMatchObject({
    matched: 1,
    changed: 0,
    dryRun: true,
  });
  const done = await jobs.bulkChangeRuns(ask);
  const newRunId = expect.any(String);
  expect(done).toMatchObject({
    ...{
      action: 'rerun',
      matched: 1,
      changed: 1,
      unchanged: 0,
      refused: 0,
      nextPageToken: '',
      runIds: [runId],
    },
    results: [{ runId, outcome: 'changed', newRunId }],
  });
  expect(await jobs.bulkChangeRuns(ask)).toMatchObject({ changed: 0, unchanged: 1 });
  const again = done.results[0]!.newRunId;
  expect(await jobs.bulkChangeRuns({ action: 'cancel', runIds: [again, runId] })).toMatchObject({
    ...{ changed: 1, refused: 1 },
    results: [{ outcome: 'changed' }, { outcome: 'refused', error: { code: 'run_already_finished' } }],
  });
  const both = jobs.bulkChangeRuns({ action: 'cancel', filter, runIds: [runId] });
  expect(await refusalOf(both)).toMatchObject({ detail: { code: 'field_invalid', field: 'run_ids' } });
});

test('attempts are counted over time, and failures by group', async () => {
  const jobs = gateway.jobs();
  const stats = await jobs.getStats({ since: '15m' });
  expect(stats).toMatchObject({
    bucket: 'minute',
    buckets: [{ started: 1, failed: 1, durationMs: { p50: 0 } }],
  });
  expect(timestampDate(stats.since!).toISOString()).toBe('2030-01-01T11:45:00.000Z');
  expect(await refusalOf(jobs.getStats({ since: 'yesterday' }))).toMatchObject({
    detail: { field: 'since' },
  });
  expect(await jobs.getStatsNow({})).toMatchObject({
    failedLastHour: 1,
    openDeadLetters: 1,
  });
  const { failures } = await jobs.listFailures({});
  expect(failures).toMatchObject([{ handler: 'report', message: 'boom', count: 1, sampleRunId: runId }]);
});

test('a result is read in parts', async () => {
  const parts = await collect(gateway.jobs().getRunResult({ runId }));
  expect(Buffer.concat(parts.map(({ data }) => data)).toString()).toBe('{"rows":[1]}');
  const missing = collect(gateway.jobs().getRunResult({ runId: NOBODY }));
  expect(await refusalOf(missing)).toMatchObject({ detail: { code: 'run_not_found' } });
});

test('a log is followed from its first line, or on behind a message, until its run has ended', async () => {
  const text = Buffer.from('1 o one\n2 e two\n');
  const key = { day: DAY, runId: runId as RunId, epoch: 1, writer: undefined };
  await gateway.logStore.write(key, { segment: 0, offset: 0 }, text);
  const times = { firstAtMs: gateway.clock.now(), lastAtMs: gateway.clock.now() };
  await gateway.storage.runLogs.recordLogs([
    { ...key, ...times, nodeId: undefined, bytes: text.length, lines: 2, ended: true, incomplete: false },
  ]);
  const follow = async (more: object = {}) => {
    const messages = collect(gateway.jobs().watchRunLog({ runId, ...more }));
    return (await gateway.asTimePasses(messages)).map(({ message }) => message);
  };
  const two = { case: 'line', value: { epoch: 1, stream: 'stderr', text: 'two' } };
  const end = { case: 'end', value: { status: 'FAILED' } };
  expect(await follow()).toMatchObject([
    { case: 'attempt', value: { epoch: 1, attempt: 1 } },
    { case: 'line', value: { epoch: 1, stream: 'stdout', text: 'one' } },
    two,
    end,
  ]);
  expect(await follow({ afterId: '1:0:8' })).toMatchObject([two, end]);
  expect(await follow({ streams: ['stderr'], afterId: '1:0:0' })).toMatchObject([two, end]);
  const refused = await refusalOf(collect(gateway.jobs().watchRunLog({ runId, afterId: 'x' })));
  expect(refused).toMatchObject({
    message: expect.stringMatching(/^after_id must/),
    detail: { field: 'after_id' },
  });
});
