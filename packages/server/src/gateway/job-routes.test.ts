import { beforeEach, describe, expect, test } from 'vitest';
import { GatewayFixture } from './gateway.fixture.ts';

const NOBODY = '00000000-0000-7000-8000-000000000000';

let gateway: GatewayFixture;
beforeEach(() => {
  gateway = new GatewayFixture();
});

describe('the bodies that people know', () => {
  test('a cron job with snake_case fields', async () => {
    const created = await gateway.post('/api/jobs', {
      name: 'Daily Data Cleanup',
      schedule_type: 'CRON',
      cron_expression: '0 0 * * *',
      payload: { cleanup_target: 'old_logs', retention_days: 30 },
      max_retries: 2,
    });
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({ job_id: expect.any(String), outcome: 'submitted' });
    const { job_id: jobId } = created.body;
    expect(created.headers.location).toBe(`/api/jobs/${jobId}`);

    const read = await gateway.ask('GET', `/api/jobs/${jobId}`);
    expect(read.headers.etag).toBe('"1"');
    expect(read.body).toMatchObject({
      job_id: jobId,
      name: 'Daily Data Cleanup',
      schedule_type: 'CRON',
      cron_expression: '0 0 * * *',
      status: 'SCHEDULED',
      handler: 'default',
      payload: { cleanup_target: 'old_logs', retention_days: 30 },
      max_retries: 2,
      time_zone: 'UTC',
      next_run_time: '2030-01-02T00:00:00.000Z',
      created_at: '2030-01-01T12:00:00.000Z',
      updated_at: '2030-01-01T12:00:00.000Z',
      version: 1,
    });
    const edit = { name: 'Updated Data Cleanup', schedule_time: '2030-09-25T10:00:00Z' };
    expect(await gateway.ask('PUT', `/api/jobs/${jobId}`, { payload: edit })).toMatchObject({
      status: 200,
      body: { job_id: jobId, outcome: 'updated' },
    });
    expect((await gateway.ask('GET', `/api/jobs/${jobId}`)).body).toMatchObject({
      name: 'Updated Data Cleanup',
      schedule_type: 'FUTURE',
      schedule_time: '2030-09-25T10:00:00.000Z',
      cron_expression: null,
    });
  });

  test('a recurring job with camelCase fields', async () => {
    const jobId = await gateway.createdId({
      jobName: 'Weekly report',
      jobType: 'recurring',
      executionTime: '2030-01-05T09:00:00+01:00',
      frequency: 'weekly',
      priority: 'high',
      payload: { url: 'http://example.org/report' },
    });
    expect((await gateway.ask('GET', `/api/jobs/${jobId}`)).body).toMatchObject({
      schedule_type: 'INTERVAL',
      frequency: 'weekly',
      interval: '1w',
      priority: 'high',
      handler: 'http',
      next_run_time: '2030-01-05T08:00:00.000Z',
    });
    const edit = {
      jobName: 'Daily report',
      executionTime: '2030-01-06T09:00:00Z',
      frequency: 'daily',
      priority: 'low',
    };
    expect((await gateway.ask('PUT', `/api/jobs/${jobId}`, { payload: edit })).status).toBe(200);
  });

  test('immediate and future jobs, also by UNIX timestamp', async () => {
    await gateway.createdId({ name: 'now', schedule_type: 'IMMEDIATE' });
    const jobId = await gateway.createdId({
      name: 'then',
      schedule_type: 'FUTURE',
      schedule_time: 1_900_000_000,
    });
    expect((await gateway.ask('GET', `/api/jobs/${jobId}`)).body.schedule_time).toBe(
      '2030-03-17T17:46:40.000Z',
    );
  });
});

test('what is read can be written back under the same names', async () => {
  const sent = {
    name: 'all fields',
    cron_expression: '*/5 * * * *',
    time_zone: 'Europe/Paris',
    start_at: '2030-02-01T00:00:00.000Z',
    end_at: '2031-02-01T00:00:00.000Z',
    daylight_saving: { gap: 'skip', overlap: 'both' },
    misfire: { policy: 'all', max_runs: 5, window_seconds: 600 },
    spread_seconds: 30,
    handler: 'reports/weekly',
    payload: { a: [1, { b: null }] },
    priority: 'low',
    max_retries: 0,
    retry: {
      strategy: 'fixed',
      delay_seconds: 0.5,
      max_delay_seconds: 9,
      jitter: false,
      deadline_seconds: 60,
    },
    max_concurrency: 4,
    overlap: 'skip',
    timeout_seconds: 12.5,
    start_timeout_seconds: 3,
    user_id: 'u1',
  };
  const jobId = await gateway.createdId(sent);
  expect((await gateway.ask('GET', `/api/jobs/${jobId}`)).body).toMatchObject(sent);
});

describe('idempotency', () => {
  test('the same request under the same key is answered with the first job', async () => {
    const headers = { 'idempotency-key': 'order-17' };
    const first = await gateway.post('/api/jobs', { name: 'a', max_retries: 1 }, headers);
    const again = await gateway.post('/api/jobs', { maxRetries: 1, jobName: 'a' }, headers);
    expect([first.status, again.status]).toEqual([201, 200]);
    expect(again.body).toEqual({
      ...first.body,
      ...{ changed: false, waiting_runs: 1, waiting_reason: 'no worker offers the handler "default"' },
    });
    const other = await gateway.post('/api/jobs', { name: 'b' }, headers);
    expect(other).toMatchObject({ status: 409, body: { code: 'idempotency_key_reused' } });
  });
});

describe('a batch', () => {
  test('that is atomic creates all, or nothing and names what is wrong with each', async () => {
    const atomic = (jobs: object[]) => gateway.post('/api/jobs/batch', { jobs, atomic: true });
    const refused = await atomic([{ name: 'a' }, { name: 'b', colour: 'red' }, { name: '' }]);
    expect(refused.status).toBe(422);
    expect(refused.headers['content-type']).toContain('application/problem+json');
    expect(refused.body).toMatchObject({
      ...{ code: 'batch_refused', field: 'jobs' },
      errors: [
        { index: 1, code: 'field_unknown', field: 'colour' },
        { index: 2, code: 'field_invalid', field: 'name' },
      ],
    });
    expect((await gateway.ask('GET', '/api/jobs')).body).toEqual([]);
    const created = await atomic([{ name: 'a' }, { name: 'b' }]);
    expect([created.status, created.body]).toMatchObject([200, [{ status: 'submitted' }, {}]]);
    expect((await gateway.ask('GET', '/api/jobs')).body).toHaveLength(2);
  });

  test('is answered entry by entry', async () => {
    const jobs = [{ name: 'a' }, { name: 'b', colour: 'red' }, { name: 'c', cron_expression: '0 0 31 2 *' }];
    const { status, body } = await gateway.post('/api/jobs/batch', { jobs });
    expect(status).toBe(200);
    expect(body).toMatchObject([
      { job_id: expect.any(String), status: 'submitted', created: true },
      { status: 'refused', error: { code: 'field_unknown', field: 'colour', status: 400 } },
      { status: 'refused', error: { code: 'cron_never_fires' } },
    ]);
  });
});

describe('versions', () => {
  test('If-Match guards a change', async () => {
    const jobId = await gateway.createdId({ name: 'a' });
    const change = (tag: string, name: string) =>
      gateway.ask('PATCH', `/api/jobs/${jobId}`, { payload: { name }, headers: { 'if-match': tag } });
    const changed = await change('"1"', 'b');
    expect(changed).toMatchObject({ status: 200, body: { version: 2 } });
    expect(changed.headers.etag).toBe('"2"');
    expect(await change('"1"', 'c')).toMatchObject({ status: 412, body: { code: 'version_mismatch' } });
    expect(await change('*', 'c')).toMatchObject({ status: 200 });
    expect(await change('three', 'd')).toMatchObject({ status: 400, body: { field: 'If-Match' } });
  });
});

describe('actions', () => {
  test('pause, resume, run now, cancel, purge', async () => {
    const jobId = await gateway.createdId({ name: 'a', frequency: 'hourly' });
    const act = (path: string) => gateway.ask('POST', `/api/jobs/${jobId}/${path}`);
    expect(await act('pause')).toMatchObject({ status: 200, body: { job_id: jobId, outcome: 'paused' } });
    expect((await gateway.ask('GET', `/api/jobs/${jobId}/status`)).body.status).toBe('paused');
    expect(await act('resume')).toMatchObject({ status: 200, body: { job_id: jobId, outcome: 'resumed' } });
    const run = await act('runNow');
    expect(run).toMatchObject({ status: 202, body: { job_id: jobId, run_id: expect.any(String) } });
    const remove = (query = '') => gateway.ask('DELETE', `/api/jobs/${jobId}${query}`);
    const cancelled = { status: 200, body: { job_id: jobId, outcome: 'cancelled' } };
    expect(await remove()).toMatchObject(cancelled);
    expect(await remove()).toMatchObject(cancelled);
    expect(await act('runNow')).toMatchObject({ status: 409, body: { code: 'job_cancelled' } });
    expect(await remove('?purge=true')).toMatchObject({ status: 200, body: { outcome: 'deleted' } });
    expect(await remove()).toMatchObject({ status: 404, body: { code: 'job_not_found' } });
  });

  test('the status tells of the latest run', async () => {
    const jobId = await gateway.createdId({ name: 'a' });
    const batch = await gateway.claimDue();
    const running = await gateway.ask('GET', `/api/jobs/${jobId}/status`);
    expect(running.body).toMatchObject({
      job_id: jobId,
      status: 'running',
      latest_run: { status: 'CLAIMED', executor_id: 'worker-1', attempt_number: 1 },
    });
    gateway.clock.advance(1_000);
    await gateway.settle(batch, { status: 'SUCCESS', next: { kind: 'finish' } });
    expect((await gateway.ask('GET', `/api/jobs/${jobId}/status`)).body).toMatchObject({
      status: 'completed',
      last_updated: '2030-01-01T12:00:01.000Z',
      latest_run: { status: 'SUCCESS', end_time: '2030-01-01T12:00:01.000Z' },
    });
  });
});

describe('lists of jobs', () => {
  test('are bare arrays, with links to what follows', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e'])
      await gateway.createdId({ name, frequency: 'daily', priority: 'high' });
    const names = (answer: { body: { name: string }[] }) => answer.body.map(({ name }) => name);
    const first = await gateway.ask('GET', '/api/jobs?limit=2&priority=high&type=recurring');
    expect(names(first)).toEqual(['e', 'd']);
    const link = String(first.headers.link);
    expect(link).toMatch(
      /^<\/api\/jobs\?limit=2&priority=high&type=recurring&cursor=[0-9a-f-]{36}>; rel="next"$/,
    );
    const second = await gateway.ask('GET', link.slice(1, link.indexOf('>')));
    expect(names(second)).toEqual(['c', 'b']);

    const paged = await gateway.ask('GET', '/api/jobs?page=2&limit=2');
    expect(names(paged)).toEqual(['c', 'b']);
    expect(paged.headers.link).toBe(
      '</api/jobs?limit=2&page=3>; rel="next", </api/jobs?limit=2&page=1>; rel="prev"',
    );
    const last = await gateway.ask('GET', '/api/jobs?page=3&limit=2');
    expect(names(last)).toEqual(['a']);
    expect(last.headers.link).toBe('</api/jobs?limit=2&page=2>; rel="prev"');
    expect((await gateway.ask('GET', '/api/jobs?status=pending&user_id=u003')).body).toEqual([]);
  });

  test('carry the address of the gateway when it is known', async () => {
    gateway = new GatewayFixture({ address: 'https://jobs.example.org/' });
    const created = await gateway.post('/api/jobs', { name: 'a' });
    expect(created.headers.location).toBe(`https://jobs.example.org/api/jobs/${created.body.job_id}`);
  });
});

describe('runs and dead letters', () => {
  test('of a job, of a worker, one by one', async () => {
    const jobId = await gateway.createdId({ name: 'a', frequency: 'daily' });
    for (let i = 0; i < 3; i += 1) {
      await gateway.ask('POST', `/api/jobs/${jobId}/runNow`);
      gateway.clock.advance(1_000);
      await gateway.settle(await gateway.claimDue(), { status: 'SUCCESS', next: { kind: 'finish' } });
    }
    const first = await gateway.ask('GET', `/api/jobs/${jobId}/runs?limit=2`);
    expect(first.body).toMatchObject([{ status: 'SUCCESS', trigger: 'manual' }, { job_id: jobId }]);
    const link = String(first.headers.link);
    const rest = await gateway.ask('GET', link.slice(1, link.indexOf('>')));
    expect(rest.body).toHaveLength(1);
    const { run_id: runId } = rest.body[0];
    expect((await gateway.ask('GET', `/api/runs/${runId}`)).body).toMatchObject({
      run_id: runId,
      executor_id: 'worker-1',
      attempts: [{ run_id: runId, attempt_number: 1 }],
    });
    await gateway.ask('POST', `/api/jobs/${jobId}/runNow`);
    await gateway.claimDue();
    expect((await gateway.ask('GET', '/api/job/executions?worker_id=worker-1')).body).toMatchObject([
      { job_id: jobId, status: 'CLAIMED' },
    ]);
    expect(await gateway.ask('GET', '/api/job/executions')).toMatchObject({
      status: 400,
      body: { code: 'field_missing', field: 'worker_id' },
    });
    expect(await gateway.ask('POST', `/api/runs/${runId}/cancel`)).toMatchObject({
      status: 409,
      body: { code: 'run_already_finished' },
    });
    expect(await gateway.ask('GET', `/api/runs/${NOBODY}`)).toMatchObject({ status: 404 });
  });

  test('a page of living runs is continued by the count of them, because they have no place in the history', async () => {
    const jobId = await gateway.createdId({ name: 'a', frequency: 'daily' });
    for (let i = 0; i < 3; i += 1) await gateway.ask('POST', `/api/jobs/${jobId}/runNow`);
    const { headers } = await gateway.ask('GET', `/api/jobs/${jobId}/runs?limit=2`);
    expect(headers.link).toBe(`</api/jobs/${jobId}/runs?limit=2&cursor=%2B2>; rel="next"`);
  });

  test('a waiting run is cancelled, a living one is being cancelled', async () => {
    const jobId = await gateway.createdId({ name: 'a', frequency: 'daily' });
    const runNow = async () => (await gateway.ask('POST', `/api/jobs/${jobId}/runNow`)).body.run_id;
    const waiting = await runNow();
    expect(await gateway.ask('POST', `/api/runs/${waiting}/cancel`)).toMatchObject({
      status: 200,
      body: {
        ...{ run_id: waiting, job_id: jobId, outcome: 'cancelled', changed: true, status: 'cancelled' },
        run: { run_id: waiting, status: 'CANCELLED' },
      },
    });
    const living = await runNow();
    await gateway.claimDue();
    expect(await gateway.ask('POST', `/api/runs/${living}/cancel`)).toMatchObject({
      status: 202,
      body: { outcome: 'cancelling', changed: true, status: 'cancelling', run: { status: 'CANCELLING' } },
    });
    expect(await gateway.ask('POST', `/api/runs/${living}/cancel`)).toMatchObject({
      status: 202,
      body: { outcome: 'cancelling', changed: false },
    });
    const key = await gateway.keyWith({ role: 'operator' }, { scopes: ['runs.cancel'] });
    const { body } = await gateway.askWith(key, 'POST', `/api/runs/${living}/cancel`);
    expect(body).toMatchObject({ outcome: 'cancelling', run: null });
  });

  test('a dead letter is shown and sent round again', async () => {
    const jobId = await gateway.createdId({ name: 'a' });
    const batch = await gateway.claimDue();
    const next = { kind: 'dead', reason: 'not_retryable' } as const;
    await gateway.settle(batch, { status: 'FAILED', error: 'boom', next });
    const { runId } = batch.runs[0]!;
    expect((await gateway.ask('GET', `/api/dead-letters?job_id=${jobId}`)).body).toMatchObject([
      { run_id: runId, job_name: 'a', reason: 'not_retryable', error_message: 'boom', redriven_as: null },
    ]);
    const redriven = await gateway.ask('POST', `/api/dead-letters/${runId}/redrive`);
    expect(redriven).toMatchObject({ status: 202, body: { job_id: jobId, redriven_from: runId } });
    expect(await gateway.ask('POST', `/api/dead-letters/${NOBODY}/redrive`)).toMatchObject({
      status: 404,
      body: { code: 'dead_letter_not_found' },
    });
  });
});
