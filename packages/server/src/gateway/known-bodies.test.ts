/** The requests that people know from the three designs this interface follows: each body goes in exactly as it stands there. */
import { beforeEach, describe, expect, test } from 'vitest';
import { GatewayFixture } from './gateway.fixture.ts';

let gateway: GatewayFixture;
beforeEach(() => {
  gateway = new GatewayFixture();
});

describe('the first: snake_case fields', () => {
  const CREATE = `{
          "name": "Daily Data Cleanup",
          "schedule_type": "CRON",
          "cron_expression": "0 0 * * *",
          "payload": {
            "cleanup_target": "old_logs",
            "retention_days": 30
          },
          "max_retries": 2
        }`;
  const UPDATE = `{
          "name": "Updated Data Cleanup",
          "schedule_time": "2025-09-25T10:00:00Z"
        }`;

  test('create, read, change, run now, status, runs, cancel', async () => {
    const created = await gateway.postText('/api/jobs', CREATE);
    expect(created).toMatchObject({ status: 201, body: { job_id: expect.any(String) } });
    const url = `/api/jobs/${created.body.job_id}`;
    expect((await gateway.ask('GET', url)).body).toMatchObject({
      job_id: created.body.job_id,
      name: 'Daily Data Cleanup',
      schedule_type: 'CRON',
      cron_expression: '0 0 * * *',
      status: 'SCHEDULED',
      payload: { cleanup_target: 'old_logs', retention_days: 30 },
      max_retries: 2,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    const headers = { 'content-type': 'application/json' };
    expect((await gateway.ask('PUT', url, { payload: UPDATE, headers })).status).toBe(200);
    expect((await gateway.ask('POST', `${url}/runNow`)).status).toBe(202);
    expect((await gateway.ask('GET', `${url}/status`)).body).toMatchObject({
      latest_run: { run_id: expect.any(String), status: 'QUEUED', attempt_number: 1 },
    });
    expect((await gateway.ask('GET', `${url}/runs`)).body).not.toEqual([]);
    expect((await gateway.ask('DELETE', url)).status).toBe(200);
  });

  test.each([
    ['at once', '{"name": "Now", "schedule_type": "IMMEDIATE"}'],
    ['later', '{"name": "Later", "schedule_type": "FUTURE", "schedule_time": "2030-09-25T10:00:00Z"}'],
  ])('a job that runs %s', async (_when, body) => {
    expect((await gateway.postText('/api/jobs', body)).status).toBe(201);
  });
});

describe('the second: camelCase fields', () => {
  const bodyOf = (jobType: string, frequency: string | undefined) => `{
         "jobName": "Backup",
         "jobType": "${jobType}",
         "executionTime": "2030-01-05T02:00:00Z",${frequency ? `\n"frequency": "${frequency}",` : ''}
         "priority": "high",
         "payload": {"bucket": "nightly"}
      }`;

  test.each([
    ['one-time', undefined],
    ['recurring', 'daily'],
    ['recurring', 'weekly'],
  ])(
    'submit, change, status, list, logs, pause, resume and cancel a %s job (%s)',
    async (type, frequency) => {
      const created = await gateway.postText('/api/jobs', bodyOf(type, frequency));
      expect(created).toMatchObject({ status: 201, body: { outcome: 'submitted' } });
      const jobId = created.body.job_id as string;
      const url = `/api/jobs/${jobId}`;
      const payload = {
        jobName: 'Backup at three',
        executionTime: '2030-01-05T03:00:00Z',
        ...(frequency && { frequency }),
        priority: 'low',
        payload: {},
      };
      expect((await gateway.ask('PUT', url, { payload })).body).toMatchObject({
        job_id: jobId,
        outcome: 'updated',
      });
      expect((await gateway.ask('GET', `${url}/status`)).body).toMatchObject({
        job_id: jobId,
        status: 'pending',
        last_updated: expect.any(String),
      });
      const list = await gateway.ask(
        'GET',
        `/api/jobs?status=pending&type=${type}&priority=low&page=1&limit=10`,
      );
      expect(list.body).toMatchObject([{ job_id: jobId, name: 'Backup at three' }]);
      expect((await gateway.ask('GET', `${url}/logs`)).body).toEqual({ job_id: jobId, logs: [] });
      const acted = (outcome: string, status: string) => ({ job_id: jobId, outcome, status });
      expect((await gateway.ask('POST', `${url}/pause`)).body).toMatchObject(acted('paused', 'PAUSED'));
      expect((await gateway.ask('POST', `${url}/resume`)).body).toMatchObject(acted('resumed', 'SCHEDULED'));
      expect((await gateway.ask('DELETE', url)).body).toMatchObject(acted('cancelled', 'CANCELLED'));
    },
  );
});

describe('the third: lists by user and by worker', () => {
  test('pending jobs of a user, and what a worker is running', async () => {
    const jobId = await gateway.createdId({ name: 'theirs', user_id: 'u003' });
    await gateway.createdId({ name: 'others', user_id: 'u004' });
    const mine = await gateway.ask('GET', '/api/jobs?status=pending&user_id=u003');
    expect(mine.body).toMatchObject([{ job_id: jobId, user_id: 'u003' }]);
    expect(await gateway.ask('GET', '/api/job/executions?worker_id=w001')).toMatchObject({
      status: 200,
      body: [],
    });
    await gateway.claimDue();
    const running = await gateway.ask('GET', '/api/job/executions?worker_id=worker-1');
    expect(running.body).toHaveLength(2);
  });
});
