import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { rpc } from '@carillon/contract';
import { Code } from '@connectrpc/connect';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { collect, KEY, PROTOCOLS, type ProtocolName, RpcFixture, refusalOf } from './rpc.fixture.ts';

let gateway: RpcFixture;
beforeEach(async () => {
  gateway = await RpcFixture.start();
});
afterEach(() => gateway.stop());

const DAILY = { codeLocation: 'report', schedule: { frequency: 'daily' } };

describe.each(Object.keys(PROTOCOLS) as ProtocolName[])('%s', (protocol) => {
  test('a job is submitted, read, listed and streamed', async () => {
    const jobs = gateway.jobs(protocol);
    const { jobId, created } = await jobs.submitJob({
      userId: 'ada',
      schedule: { cronExpression: '0 9 * * 1-5', timeZone: 'Europe/Paris' },
      codeLocation: 'https://example.com/report',
      payload: { method: 'POST', body: { list: [1, 'two', null] } },
      labels: { team: 'billing' },
      maxRetries: 2,
    });
    expect(created).toBe(true);
    const { job } = await jobs.getJob({ jobId });
    expect(job).toMatchObject({
      jobId,
      name: 'https://example.com/report',
      userId: 'ada',
      status: 'SCHEDULED',
      handler: 'http',
      payload: { method: 'POST', url: 'https://example.com/report', body: { list: [1, 'two', null] } },
      schedule: { type: 'CRON', cronExpression: '0 9 * * 1-5', timeZone: 'Europe/Paris' },
      labels: { team: 'billing' },
      maxRetries: 2,
      version: 1,
    });
    const { waitingRuns, ...listed } = job!;
    expect(waitingRuns).toBe(0);
    expect((await jobs.listJobs({ userId: 'ada', include: ['payload'] })).jobs).toEqual([listed]);
    const [short] = (await jobs.listJobs({ userId: 'ada' })).jobs;
    expect([short?.jobId, short?.payload]).toEqual([jobId, undefined]);
    expect((await jobs.listJobs({ userId: 'bob' })).jobs).toEqual([]);
    const streamed = await collect(jobs.retrieveAllJobs({ userId: 'ada' }));
    expect(streamed.map((answer) => answer.job)).toEqual([listed]);
  });

  test('a fire is skipped and brought back, and shown in the preview of the job', async () => {
    const jobs = gateway.jobs(protocol);
    const { jobId } = await jobs.submitJob({ ...DAILY, schedule: { cronExpression: '0 9 * * *' } });
    const at = timestampFromMs(Date.UTC(2090, 0, 1, 9));
    const skipped = await jobs.skipFire({ jobId, at });
    expect(skipped).toMatchObject({ outcome: 'skipped', changed: true, job: { version: 2 } });
    expect(skipped.job?.skippedFires).toMatchObject([{ at, by: expect.any(String) }]);
    const after = timestampFromMs(Date.UTC(2089, 11, 31, 12));
    const { fires, othersAt } = await jobs.previewSchedule({ jobId, after, count: 2 });
    expect(fires.map(({ skippedBy }) => skippedBy !== '')).toEqual([true, false]);
    expect(othersAt).toEqual([]);
    expect(await jobs.unskipFire({ jobId, at })).toMatchObject({ outcome: 'unskipped', changed: true });
    const wrong = timestampFromMs(Date.UTC(2090, 0, 1, 10));
    const { status, detail } = await refusalOf(jobs.skipFire({ jobId, at: wrong }));
    expect([status, detail?.code, detail?.field]).toEqual([Code.InvalidArgument, 'fire_not_found', 'at']);
  });

  test('a refusal carries its code, field, way out and request id', async () => {
    const call = gateway
      .jobs(protocol)
      .submitJob({ codeLocation: 'report', schedule: { cronExpression: '61 * * * *' } });
    const { status, message, detail } = await refusalOf(call);
    expect({ status, message, detail }).toMatchObject({
      status: Code.InvalidArgument,
      message: expect.stringMatching(/\.$/),
      detail: {
        code: 'cron_invalid',
        field: 'schedule.cron_expression',
        fix: expect.stringMatching(/\.$/),
        requestId: expect.stringMatching(/./),
      },
    });
  });

  test('nobody gets in without the key', async () => {
    for (const key of [null, 'wrong', `${KEY}x`]) {
      const client = gateway.client(rpc.JobService, { protocol, key });
      const refused = { status: Code.Unauthenticated, detail: { code: 'unauthorized' } };
      expect(await refusalOf(client.listJobs({}))).toMatchObject(refused);
      expect(await refusalOf(collect(client.retrieveAllJobs({})))).toMatchObject(refused);
    }
  });
});

describe('jobs', () => {
  test('the same idempotency key answers the same job', async () => {
    const jobs = gateway.jobs();
    const first = await jobs.submitJob({ ...DAILY, idempotencyKey: 'k1' });
    expect(await jobs.submitJob({ ...DAILY, idempotencyKey: 'k1' })).toMatchObject({
      jobId: first.jobId,
      created: false,
    });
    const other = jobs.submitJob({ codeLocation: 'other', idempotencyKey: 'k1' });
    expect(await refusalOf(other)).toMatchObject({
      status: Code.AlreadyExists,
      detail: { code: 'idempotency_key_reused', field: 'idempotency_key' },
    });
  });

  test('a batch answers for each job by itself', async () => {
    const { results } = await gateway.jobs().submitJobs({
      jobs: [DAILY, { ...DAILY, schedule: { timeZone: 'Mars/Olympus', frequency: 'daily' } }, {}],
    });
    expect(results).toMatchObject([
      { jobId: expect.stringMatching(/^[0-9a-f-]{36}$/), outcome: 'submitted', created: true },
      { jobId: '', outcome: 'refused', refused: { code: 'zone_unknown', field: 'schedule.time_zone' } },
      { jobId: '', refused: { code: 'field_missing', field: 'name' } },
    ]);
  });

  test('a batch of all or none says what is wrong with which, and accepts nothing', async () => {
    const jobs = gateway.jobs();
    const bad = { ...DAILY, schedule: { timeZone: 'Mars/Olympus', frequency: 'daily' } };
    expect(await refusalOf(jobs.submitJobs({ jobs: [DAILY, bad], atomic: true }))).toMatchObject({
      status: Code.InvalidArgument,
      detail: {
        code: 'batch_refused',
        field: 'jobs',
        entries: [{ index: 1, code: 'zone_unknown', field: 'schedule.time_zone' }],
      },
    });
    expect((await jobs.listJobs({})).jobs).toEqual([]);
    const { results } = await jobs.submitJobs({ jobs: [DAILY, DAILY], atomic: true });
    expect((await jobs.listJobs({})).jobs).toHaveLength(results.length);
  });

  test('a change keeps what it leaves out, sets back what it names, and minds the version', async () => {
    const jobs = gateway.jobs();
    const { jobId } = await jobs.submitJob({ ...DAILY, labels: { a: 'b' }, priority: 'high' });
    const change = { jobId, name: 'renamed', reset: ['labels'], expectedVersion: 1 };
    expect((await jobs.updateJob(change)).version).toBe(2);
    const { job } = await jobs.getJob({ jobId });
    expect(job).toMatchObject({ name: 'renamed', labels: {}, priority: 'high', handler: 'report' });
    expect(await refusalOf(jobs.updateJob(change))).toMatchObject({
      status: Code.FailedPrecondition,
      detail: { code: 'version_mismatch', field: 'expected_version' },
    });
    const both = jobs.updateJob({ jobId, labels: { c: 'd' }, reset: ['labels'] });
    expect(await refusalOf(both)).toMatchObject({ detail: { code: 'field_conflict', field: 'labels' } });
  });

  test('a job is paused, resumed, run at once, cancelled and removed', async () => {
    const jobs = gateway.jobs();
    const { jobId } = await jobs.submitJob({ ...DAILY, userId: 'ada' });
    const statusOf = async () => (await jobs.getJobStatus({ jobId })).status?.status;
    await jobs.pauseJob({ jobId });
    expect(await statusOf()).toBe('paused');
    await jobs.resumeJob({ jobId });
    const { runId } = await jobs.runJobNow({ jobId });
    expect((await jobs.getRun({ runId })).run).toMatchObject({ runId, jobId, trigger: 'manual' });
    await jobs.cancelJob({ jobId });
    expect(await statusOf()).toBe('cancelled');
    expect(await refusalOf(jobs.deleteJob({ jobId, userId: 'bob' }))).toMatchObject({
      status: Code.NotFound,
    });
    await jobs.deleteJob({ jobId, userId: 'ada' });
    expect(await refusalOf(jobs.getJob({ jobId }))).toMatchObject({
      status: Code.NotFound,
      detail: { code: 'job_not_found' },
    });
  });

  test('every action answers the job, and what it did', async () => {
    const jobs = gateway.jobs();
    const submitted = await jobs.submitJob({ ...DAILY, payload: { a: 1 } });
    const { jobId } = submitted;
    const job = { jobId, status: 'SCHEDULED', payload: { a: 1 }, version: 1 };
    expect(submitted).toMatchObject({ outcome: 'submitted', changed: true, job });
    expect(await jobs.updateJob({ jobId, name: 'renamed' })).toMatchObject({
      ...{ outcome: 'updated', changed: true, version: 2, job: { name: 'renamed', version: 2 } },
    });
    const paused = { jobId, outcome: 'paused', job: { status: 'PAUSED', version: 3 } };
    expect(await jobs.pauseJob({ jobId })).toMatchObject({ ...paused, changed: true });
    expect(await jobs.pauseJob({ jobId })).toMatchObject({ ...paused, changed: false });
    expect(await jobs.resumeJob({ jobId })).toMatchObject({
      outcome: 'resumed',
      job: { status: 'SCHEDULED' },
    });
    const { runId } = await jobs.runJobNow({ jobId, input: { b: 2 }, reason: 'why not' });
    expect(await jobs.getRun({ runId })).toMatchObject({
      ...{ run: { requestReason: 'why not' }, input: { b: 2 } },
    });
    expect(await jobs.cancelJob({ jobId })).toMatchObject({
      ...{ outcome: 'cancelled', changed: true, job: { status: 'CANCELLED' } },
    });
    const answer = await jobs.bulkChangeJobs({ action: 'pause', jobIds: [jobId] });
    expect(answer.results).toMatchObject([{ jobId, outcome: 'refused', error: { code: 'job_cancelled' } }]);
  });

  test('every change minds the version it is meant for', async () => {
    const jobs = gateway.jobs();
    const { jobId } = await jobs.submitJob(DAILY);
    const stale = { jobId, expectedVersion: 7 };
    for (const change of [jobs.pauseJob, jobs.resumeJob, jobs.cancelJob, jobs.deleteJob]) {
      expect(await refusalOf(change(stale))).toMatchObject({
        status: Code.FailedPrecondition,
        detail: { code: 'version_mismatch', field: 'expected_version' },
      });
    }
    await jobs.pauseJob({ jobId, expectedVersion: 1 });
    await jobs.deleteJob({ jobId, expectedVersion: 2 });
  });

  test('many are changed at once by filter, after a look at what that would be', async () => {
    const jobs = gateway.jobs();
    const ofAda = { ...DAILY, userId: 'ada' };
    const { results } = await jobs.submitJobs({ jobs: [ofAda, ofAda, { ...DAILY, userId: 'bob' }] });
    const filter = { userId: 'ada', statuses: ['scheduled'] };
    const oddStatus = { statuses: ['odd'] };
    const dry = await jobs.bulkChangeJobs({ action: 'pause', filter, dryRun: true });
    expect(dry).toMatchObject({ matched: 2, changed: 0, refused: 0, nextPageToken: '' });
    const adas = results.slice(0, 2).map(({ jobId }) => jobId);
    expect(dry.jobIds.toSorted()).toEqual(adas.toSorted());
    expect(await jobs.bulkChangeJobs({ action: 'pause', filter })).toMatchObject({ matched: 2, changed: 2 });
    expect((await jobs.listJobs({ statuses: ['PAUSED'] })).jobs).toHaveLength(2);
    for (const [asked, field, code = 'field_invalid'] of [
      [{ action: 'pause' }, 'filter', 'field_missing'],
      [{ action: 'pause', filter: {} }, 'filter'],
      [{ action: 'erase', filter }, 'action'],
      [{ action: 'pause', filter: { priority: 'odd' } }, 'filter.priority'],
      [{ action: 'pause', filter: oddStatus }, 'filter.statuses'],
      [{ action: 'pause', filter, pageToken: 'x' }, 'page_token'],
    ] as const) {
      expect(await refusalOf(jobs.bulkChangeJobs(asked))).toMatchObject({
        status: Code.InvalidArgument,
        detail: { code, field },
      });
    }
  });

  test('lists are narrowed by when jobs were made, and "me" is whoever asks', async () => {
    const jobs = gateway.jobs();
    const before = timestampFromMs(gateway.clock.now());
    gateway.clock.advance(1_000);
    const { jobId } = await jobs.submitJob({ ...DAILY, userId: 'ada' });
    expect((await jobs.listJobs({ createdAfter: before })).jobs).toMatchObject([{ jobId }]);
    expect((await jobs.listJobs({ createdBefore: before })).jobs).toEqual([]);
    expect(await refusalOf(jobs.listJobs({ userId: 'me' }))).toMatchObject({ detail: { field: 'user_id' } });
    gateway.caller = { ...gateway.caller, userId: 'ada' };
    expect((await jobs.listJobs({ userId: 'me' })).jobs).toMatchObject([{ jobId }]);
    expect(await collect(jobs.retrieveAllJobs({ userId: 'me' }))).toHaveLength(1);
  });

  test('what is due within any time is told', async () => {
    const jobs = gateway.jobs();
    const { jobId } = await jobs.submitJob({ codeLocation: 'soon', schedule: { interval: '20m' } });
    expect((await jobs.listUpcomingJobs({})).jobs).toEqual([]);
    const hour = await jobs.listUpcomingJobs({ within: '1h', limit: 2 });
    expect(hour.jobs).toMatchObject([{ jobId }, { jobId }]);
    expect((await jobs.listUpcomingJobs({ within: '1h', limit: 1, namespace: 'default' })).jobs).toHaveLength(
      1,
    );
    expect(await refusalOf(jobs.listUpcomingJobs({ namespace: 'nowhere' }))).toMatchObject({
      detail: { code: 'namespace_not_found' },
    });
    expect(await refusalOf(jobs.listUpcomingJobs({ within: '8d' }))).toMatchObject({
      detail: { code: 'field_invalid', field: 'within' },
    });
  });

  test('pages lead through all jobs, once each', async () => {
    const jobs = gateway.jobs();
    const made = await jobs.submitJobs({ jobs: Array.from({ length: 7 }, () => DAILY) });
    const seen: string[] = [];
    let pageToken = '';
    do {
      const page = await jobs.listJobs({ pageSize: 3, pageToken });
      seen.push(...page.jobs.map((job) => job.jobId));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    expect(seen.sort()).toEqual(made.results.map((result) => result.jobId).sort());
  });

  test('pages lead through a list in another order', async () => {
    const jobs = gateway.jobs();
    for (const name of ['b', 'd', 'a', 'c']) await jobs.submitJob({ ...DAILY, name });
    const first = await jobs.listJobs({ sort: '-name', pageSize: 3 });
    const rest = await jobs.listJobs({ sort: '-name', pageToken: first.nextPageToken });
    expect([...first.jobs, ...rest.jobs].map(({ name }) => name)).toEqual(['d', 'c', 'b', 'a']);
    expect(rest.nextPageToken).toBe('');
    const oldest = await jobs.listJobs({ sort: 'created_at' });
    expect(oldest.jobs.map(({ name }) => name)).toEqual(['b', 'd', 'a', 'c']);
    for (const [asked, field] of [
      [{ sort: 'colour' }, 'sort'],
      [{ sort: 'name', oldestFirst: true }, 'sort'],
      [{ sort: 'name', pageToken: 'x' }, 'page_token'],
    ] as const) {
      expect(await refusalOf(jobs.listJobs(asked))).toMatchObject({ detail: { field } });
    }
  });

  test('what is due within five minutes is told, soonest first', async () => {
    const jobs = gateway.jobs();
    const { jobId } = await jobs.submitJob({ codeLocation: 'soon', schedule: { interval: '2m' } });
    await jobs.submitJob({ ...DAILY });
    const upcoming = await jobs.getJobsInNext5Mins({});
    expect(upcoming.jobs.map((job) => job.jobId)).toEqual([jobId, jobId]);
  });

  test('a schedule is previewed in words and times, with warnings', async () => {
    const preview = await gateway.jobs().previewSchedule({
      schedule: { cronExpression: '30 2 * * *', timeZone: 'Europe/Paris' },
      count: 2,
    });
    expect(preview).toMatchObject({
      timeZone: 'Europe/Paris',
      fires: [{ local: expect.stringContaining('02:30') }, { local: expect.stringContaining('02:30') }],
      warnings: expect.arrayContaining([expect.objectContaining({ kind: 'gap' })]),
    });
  });
});

describe('a job by its key', () => {
  test('is created, left alone, replaced and read as over REST', async () => {
    const jobs = gateway.jobs();
    const job = { key: 'nightly', ...DAILY };
    const { job: planned, ...dry } = await jobs.applyJob({ job, dryRun: true });
    expect([planned?.jobId, dry.outcome, dry.dryRun]).toEqual(['', 'created', true]);
    const created = await jobs.applyJob({ job });
    expect([created.outcome, created.job?.key, created.job?.name]).toEqual(['created', 'nightly', 'nightly']);
    expect((await jobs.applyJob({ job })).outcome).toBe('unchanged');
    const updated = await jobs.applyJob({ job: { ...job, priority: 'high' } });
    expect([updated.outcome, updated.changes.map(({ field }) => field)]).toEqual(['updated', ['priority']]);
    const { job: read } = await jobs.getJobByKey({ key: 'nightly' });
    expect([read?.jobId, read?.priority]).toEqual([created.job?.jobId, 'high']);
    expect(await refusalOf(jobs.applyJob({ job: DAILY }))).toMatchObject({ detail: { field: 'key' } });
    expect(await refusalOf(jobs.applyJob({}))).toMatchObject({ detail: { field: 'job' } });
    expect((await jobs.listJobs({ keyPrefix: 'night' })).jobs).toHaveLength(1);
  });
});
