import type { JobId } from '@carillon/domain';
import { beforeEach, describe, expect, test } from 'vitest';
import { EVERY_MINUTE, sampleJob } from '../storage/conformance/sample-job.ts';
import { ROWS_SCANNED_MAX } from '../storage/job-store.ts';
import { GatewayFixture } from './gateway.fixture.ts';

let gateway: GatewayFixture;
beforeEach(() => {
  gateway = new GatewayFixture();
});

const NOBODY = '00000000-0000-7000-8000-000000000000';
const cron = { cron_expression: '0 9 * * *' };
const names = ({ body }: { body: { name: string }[] }) => body.map(({ name }) => name);

describe('lists of jobs', () => {
  test('are narrowed by every filter, alone and together', async () => {
    await gateway.createdId({ name: 'Invoices', labels: { team: 'billing', tier: 'gold' }, ...cron });
    await gateway.createdId({
      name: 'Invoices again',
      labels: { team: 'billing' },
      user_id: 'u1',
      handler: 'mail',
    });
    const paused = await gateway.createdId({ name: 'Paused', ...cron, priority: 'high' });
    await gateway.ask('POST', `/api/jobs/${paused}/pause`);
    const list = async (query: string) => names(await gateway.ask('GET', `/api/jobs?${query}`));
    expect(await list('label=team:billing')).toEqual(['Invoices again', 'Invoices']);
    expect(await list('label=team:billing&label=tier:gold')).toEqual(['Invoices']);
    expect(await list('text=AGAIN')).toEqual(['Invoices again']);
    expect(await list('status=paused')).toEqual(['Paused']);
    expect(await list('status=paused,pending&sort=created_at')).toEqual([
      'Invoices',
      'Invoices again',
      'Paused',
    ]);
    expect(await list('status=paused&status=pending&type=cron')).toEqual(['Paused', 'Invoices']);
    expect(await list('handler=mail&user_id=u1&namespace=default')).toEqual(['Invoices again']);
    expect(await list('created_after=2030-01-01T12:00:00Z&priority=high')).toEqual(['Paused']);
    expect(await list('created_before=2030-01-01T12:00:00Z')).toEqual([]);
  });

  test('several statuses are one list: pages join without a gap', async () => {
    for (let i = 0; i < 6; i += 1) {
      const id = await gateway.createdId({ name: `job ${i}`, ...cron });
      if (i % 2 === 0) await gateway.ask('POST', `/api/jobs/${id}/pause`);
    }
    const read: string[] = [];
    let url: string | undefined = '/api/jobs?status=paused,scheduled&limit=2';
    for (let pages = 0; url !== undefined && pages < 10; pages += 1) {
      const page = await gateway.ask('GET', url);
      read.push(...names(page));
      url = /<([^>]+)>; rel="next"/.exec(String(page.headers.link))?.[1];
    }
    expect(read).toEqual(['job 5', 'job 4', 'job 3', 'job 2', 'job 1', 'job 0']);
    expect(names(await gateway.ask('GET', '/api/jobs?status=paused,scheduled&limit=4&page=2'))).toEqual([
      'job 1',
      'job 0',
    ]);
  });

  test('sorted by anything else they join page by page too, over several statuses as well', async () => {
    for (const name of ['delta', 'Alpha', 'charlie', 'bravo', 'Echo']) {
      const id = await gateway.createdId({ name, ...cron });
      if (name < 'b') await gateway.ask('POST', `/api/jobs/${id}/pause`);
    }
    const follow = async (query: string) => {
      const read: string[] = [];
      let url: string | undefined = `/api/jobs?limit=2&${query}`;
      for (let pages = 0; url !== undefined && pages < 10; pages += 1) {
        const page = await gateway.ask('GET', url);
        read.push(...names(page));
        url = /<([^>]+)>; rel="next"/.exec(String(page.headers.link))?.[1];
      }
      return read;
    };
    const sorted = ['Alpha', 'bravo', 'charlie', 'delta', 'Echo'];
    expect(await follow('sort=name')).toEqual(sorted);
    expect(await follow('sort=-name&status=paused,scheduled')).toEqual(sorted.toReversed());
    const paged = await gateway.ask('GET', '/api/jobs?sort=name&limit=2&page=3');
    expect(names(paged)).toEqual(['Echo']);
    expect(paged.headers['x-total-count']).toBe('5');
  });

  test('sorted by the next run they show what they are sorted by', async () => {
    const at = (time: string) => ({ schedule_time: `2030-01-02T${time}:00Z` });
    await gateway.createdId({ name: 'second', ...at('10:00') });
    await gateway.createdId({ name: 'first', ...at('09:00') });
    const { body } = await gateway.ask('GET', '/api/jobs?sort=next_run_time');
    expect(body.map((job: { name: string; next_run_time: string }) => [job.name, job.next_run_time])).toEqual(
      [
        ['first', '2030-01-02T09:00:00.000Z'],
        ['second', '2030-01-02T10:00:00.000Z'],
      ],
    );
  });

  test('sorted they are refused where there are too many, and given where they are narrowed', async () => {
    const many = Array.from({ length: ROWS_SCANNED_MAX + 1 }, () => ({
      ...{ job: sampleJob({ schedule: EVERY_MINUTE }), idempotency: undefined },
      first: { kind: 'cursor' as const, cursor: { fireAtMs: 1, nominalAtMs: 1 } },
    }));
    await gateway.storage.jobs.insert(many);
    await gateway.createdId({ name: 'mine', user_id: 'u1' });
    const refused = await gateway.ask('GET', '/api/jobs?sort=name');
    expect([refused.status, refused.body.code, refused.body.field]).toEqual([400, 'sort_too_wide', 'sort']);
    expect(names(await gateway.ask('GET', '/api/jobs?sort=name&user_id=u1'))).toEqual(['mine']);
  });

  test('the total is told when the list was read to its end, and never counted', async () => {
    for (const name of ['a', 'b', 'c']) await gateway.createdId({ name });
    const total = async (query: string) =>
      (await gateway.ask('GET', `/api/jobs?${query}`)).headers['x-total-count'];
    expect(await total('')).toBe('3');
    expect(await total('limit=2')).toBeUndefined();
    expect(await total('limit=2&page=2')).toBe('3');
    expect(await total('limit=2&page=9')).toBeUndefined();
  });
});

describe('what fires next', () => {
  test('shows waiting runs and every occurrence of recurring jobs in the window, in order', async () => {
    await gateway.createdId({ name: 'rhythm', interval: '2m', user_id: 'u1' });
    await gateway.createdId({ name: 'once', schedule_time: '2030-01-01T12:03:00Z', handler: 'mail' });
    await gateway.createdId({ name: 'tomorrow', schedule_time: '2030-01-02T12:03:00Z' });
    const { body } = await gateway.ask('GET', '/api/jobs/upcoming');
    expect(body.map(({ name, run_time }: { name: string; run_time: string }) => [name, run_time])).toEqual([
      ['rhythm', '2030-01-01T12:02:00.000Z'],
      ['once', '2030-01-01T12:03:00.000Z'],
      ['rhythm', '2030-01-01T12:04:00.000Z'],
    ]);
    expect(body[1]).toMatchObject({
      handler: 'mail',
      namespace: 'default',
      user_id: null,
      priority: 'medium',
    });
    const limited = await gateway.ask('GET', '/api/jobs/upcoming?within=2d&limit=2');
    expect(names(limited)).toEqual(['rhythm', 'once']);
    expect((await gateway.ask('GET', '/api/jobs/upcoming?within=60')).body).toEqual([]);
  });

  test('is narrowed to a namespace before it is limited', async () => {
    await gateway.namespace('reports');
    await gateway.createdId({ name: 'rhythm', interval: '1s' });
    await gateway.createdId({ name: 'late', schedule_time: '2030-01-01T12:04:00Z', namespace: 'reports' });
    const read = (query: string) => gateway.ask('GET', `/api/jobs/upcoming?limit=3&${query}`);
    expect(names(await read('namespace=reports'))).toEqual(['late']);
    expect(names(await read('namespace=default'))).toEqual(['rhythm', 'rhythm', 'rhythm']);
    expect((await read('namespace=nowhere')).body).toMatchObject({ code: 'namespace_not_found' });
  });
});

describe('the preview of a schedule', () => {
  test('tells words, instants in the zone, and what changes of the clock do', async () => {
    const { status, body } = await gateway.post('/api/schedules/preview', {
      cronExpression: '30 2 * * *',
      timezone: 'Europe/Paris',
      count: 2,
      after: '2030-03-30T12:00:00Z',
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      description: 'every day at 02:30 (Europe/Paris)',
      schedule_type: 'CRON',
      time_zone: 'Europe/Paris',
      fires: [
        { at: '2030-03-31T01:00:00.000Z', local: '2030-03-31T03:00:00+02:00' },
        { at: '2030-04-01T00:30:00.000Z', local: '2030-04-01T02:30:00+02:00' },
      ],
    });
    expect(body.warnings.map(({ kind, at }: { kind: string; at: string }) => [kind, at])).toEqual([
      ['gap', '2030-03-31T01:00:00.000Z'],
      ['overlap', '2030-10-27T01:00:00.000Z'],
      ['gap', '2031-03-30T01:00:00.000Z'],
    ]);
  });

  test('refuses what never fires, and what is no schedule', async () => {
    const refusal = async (body: object) => (await gateway.post('/api/schedules/preview', body)).body.code;
    expect(await refusal({ cron_expression: '0 0 30 2 *' })).toBe('cron_never_fires');
    expect(await refusal({ interval: '1h', end_at: '2000-01-01T00:00:00Z' })).toBe('schedule_never_fires');
    expect(await refusal({ name: 'job' })).toBe('field_unknown');
    expect(await refusal({ interval: '1h', count: 101 })).toBe('field_invalid');
  });
});

describe('many jobs at once', () => {
  test('a dry run tells, the real one changes, and both report', async () => {
    const ids = [];
    for (const name of ['a', 'b'])
      ids.unshift(await gateway.createdId({ name, labels: { team: 'x' }, ...cron }));
    await gateway.createdId({ name: 'other', ...cron });
    const bulk = (body: object) => gateway.post('/api/jobs/bulk', body);
    const named = { job_ids: ids, jobs: ids };
    const report = { action: 'pause', matched: 2, unchanged: 0, refused: 0, ...named, next: null };
    expect((await bulk({ action: 'pause', filter: { label: 'team:x' }, dryRun: true })).body).toEqual({
      ...report,
      dry_run: true,
      changed: 0,
      results: [],
    });
    expect((await gateway.ask('GET', '/api/jobs?status=paused')).body).toEqual([]);
    expect((await bulk({ action: 'pause', filter: { label: 'team:x' } })).body).toEqual({
      ...report,
      dry_run: false,
      changed: 2,
      results: ids.map((id) => ({ job_id: id, outcome: 'changed', error: null })),
    });
    expect(names(await gateway.ask('GET', '/api/jobs?status=paused'))).toEqual(['b', 'a']);
    expect((await bulk({ action: 'pause', filter: { status: 'cancelled' } })).body).toMatchObject({
      matched: 0,
    });
    expect((await bulk({ action: 'resume', filter: { label: 'team:x' } })).body).toMatchObject({
      changed: 2,
    });
    expect((await bulk({ action: 'cancel', filter: { text: 'other' } })).body).toMatchObject({ changed: 1 });
    expect((await bulk({ action: 'resume', filter: { status: 'cancelled' } })).body).toMatchObject({
      matched: 1,
      changed: 0,
      refused: 1,
    });
  });

  test('nothing never means everything', async () => {
    const answer = await gateway.post('/api/jobs/bulk', { action: 'cancel', filter: {} });
    expect(answer).toMatchObject({ status: 400, body: { code: 'field_invalid', field: 'filter' } });
    const neither = await gateway.post('/api/jobs/bulk', { action: 'cancel' });
    expect(neither).toMatchObject({ status: 400, body: { code: 'field_missing', field: 'filter' } });
    const both = { action: 'cancel', filter: { text: 'a' }, job_ids: [NOBODY] };
    expect(await gateway.post('/api/jobs/bulk', both)).toMatchObject({
      status: 400,
      body: { field: 'job_ids' },
    });
  });

  test('are named by their ids, and each has its own result', async () => {
    const jobId = await gateway.createdId({ name: 'a', ...cron });
    const pause = (ids: string[]) => gateway.post('/api/jobs/bulk', { action: 'pause', job_ids: ids });
    expect((await pause([jobId, NOBODY])).body).toMatchObject({
      ...{ matched: 1, changed: 1, refused: 1, next: null },
      results: [
        { job_id: jobId, outcome: 'changed', error: null },
        {
          ...{ job_id: NOBODY, outcome: 'refused' },
          error: { code: 'job_not_found', message: `There is no job ${NOBODY}.` },
        },
      ],
    });
    expect((await pause([jobId])).body).toMatchObject({ unchanged: 1, results: [{ outcome: 'unchanged' }] });
    expect(await pause(['17'])).toMatchObject({ status: 400, body: { field: 'job_ids[0]' } });
    const many = Array.from({ length: 1_001 }, () => NOBODY);
    expect(await pause(many)).toMatchObject({ status: 400, body: { field: 'job_ids' } });
  });
});

describe('runs on request', () => {
  const key = { 'idempotency-key': 'once-only' };
  const finished = async () => {
    const jobId = await gateway.createdId({ name: 'job', ...cron });
    const { body } = await gateway.ask('POST', `/api/jobs/${jobId}/runNow`);
    await gateway.settle(await gateway.claimDue(), { status: 'SUCCESS', next: { kind: 'finish' } });
    return { jobId, runId: body.run_id as string };
  };

  test('run now with a key adds one run, however often it is sent', async () => {
    const jobId = await gateway.createdId({ name: 'job', ...cron });
    const url = `/api/jobs/${jobId}/runNow`;
    const [first, second] = [await gateway.post(url, {}, key), await gateway.post(url, {}, key)];
    expect([first.status, second.status]).toEqual([202, 200]);
    expect(second.body).toEqual(first.body);
    expect((await gateway.post(url, {}, { 'idempotency-key': 'another' })).body.run_id).not.toBe(
      first.body.run_id,
    );
    expect(await gateway.pendingOf(jobId as JobId)).toHaveLength(3);
    const other = await gateway.createdId({ name: 'other', ...cron });
    const elsewhere = await gateway.post(`/api/jobs/${other}/runNow`, {}, key);
    expect(elsewhere).toMatchObject({ status: 202 });
  });

  test('a finished run is run again for the same occurrence; one that has not ended is refused', async () => {
    const { jobId, runId } = await finished();
    gateway.clock.advance(60_000);
    const again = await gateway.post(`/api/runs/${runId}/rerun`, {}, key);
    expect(again).toMatchObject({ status: 202, body: { job_id: jobId } });
    expect((await gateway.post(`/api/runs/${runId}/rerun`, {}, key)).body).toEqual(again.body);
    const read = await gateway.ask('GET', `/api/runs/${again.body.run_id}`);
    expect(read.body).toMatchObject({ trigger: 'manual', scheduled_at: '2030-01-01T12:00:00.000Z' });
    const early = await gateway.post(`/api/runs/${again.body.run_id}/rerun`, {});
    expect(early).toMatchObject({ status: 409, body: { code: 'run_not_finished' } });
  });

  test('logs tell the story of a job and of a run', async () => {
    const { jobId, runId } = await finished();
    const ofJob = await gateway.ask('GET', `/api/jobs/${jobId}/logs`);
    const ofRun = await gateway.ask('GET', `/api/runs/${runId}/logs`);
    expect(ofRun.body).toEqual({ job_id: jobId, run_id: runId, logs: ofJob.body.logs });
    expect(ofJob.body.logs.map(({ message }: { message: string }) => message)).toEqual([
      'handed to worker worker-1',
      'attempt 1 started',
      'attempt 1 ended: SUCCESS after 0 s',
    ]);
    expect(ofJob.body.logs[0]).toEqual({
      at: '2030-01-01T12:00:00.000Z',
      timestamp: '2030-01-01T12:00:00.000Z',
      message: expect.any(String),
      run_id: runId,
      attempt_number: 1,
      epoch: 1,
    });
  });

  test('a batch under a key cannot take the key of a single job', async () => {
    const single = await gateway.post('/api/jobs', { name: 'single' }, { 'idempotency-key': 'k/0' });
    const batch = await gateway.post(
      '/api/jobs/batch',
      { jobs: [{ name: 'a' }] },
      { 'idempotency-key': 'k' },
    );
    expect(batch.body).toMatchObject([{ status: 'submitted' }]);
    expect(batch.body[0].job_id).not.toBe(single.body.job_id);
  });
});

describe('workers', () => {
  test('are listed with what they hold', async () => {
    await gateway.createdId({ name: 'job' });
    await gateway.claimDue();
    const expected = {
      worker_id: 'worker-1',
      node_id: expect.any(String),
      alive: true,
      slots: 1,
      running: 1,
      handlers: [],
      ...{ name: null, language: null, version: null, labels: {} },
      ...{ remote: false, draining: false, stuck: 0, lost_at: null, lost_runs: 0, lost_run_ids: [] },
      last_seen_at: '2030-01-01T12:00:00.000Z',
      last_seen: '2030-01-01T12:00:00.000Z',
    };
    expect((await gateway.ask('GET', '/api/workers')).body).toEqual([expected]);
    expect((await gateway.ask('GET', '/api/workers/worker-1')).body).toEqual(expected);
    expect((await gateway.ask('GET', '/api/workers/nobody')).body.code).toBe('worker_not_found');
  });
});

describe('If-Match', () => {
  test.each(['PUT', 'PATCH', 'DELETE', 'pause', 'resume'])(
    '%s leaves a job alone that has changed',
    async (how) => {
      const jobId = await gateway.createdId({ name: 'job', ...cron });
      const isAction = how === 'pause' || how === 'resume';
      const url = `/api/jobs/${jobId}${isAction ? `/${how}` : ''}`;
      const ask = (version: string) =>
        gateway.ask(isAction ? 'POST' : (how as 'PUT'), url, {
          headers: { 'if-match': version },
          ...(how === 'PUT' || how === 'PATCH' ? { payload: { name: 'renamed' } } : {}),
        });
      expect(await ask('"7"')).toMatchObject({ status: 412, body: { code: 'version_mismatch' } });
      expect((await ask('"1"')).status).toBe(200);
    },
  );
});
