/** What actions on jobs answer: the job itself, and what a run is asked for with. */
import type { JobId } from '@carillon/domain';
import { beforeEach, describe, expect, test } from 'vitest';
import { GatewayFixture } from './gateway.fixture.ts';

let gateway: GatewayFixture;
beforeEach(() => {
  gateway = new GatewayFixture();
});

const read = async (jobId: string) => (await gateway.ask('GET', `/api/jobs/${jobId}`)).body;
const CRON = { name: 'a', cron_expression: '0 9 * * 1-5', labels: { team: 'x' } };
const HTTP = { name: 'a', payload: { url: 'http://example.org/', headers: { a: '1', b: '2' } } };

describe('an action answers the job as a read shows it', () => {
  test('create, change, pause, resume and cancel', async () => {
    const created = await gateway.post('/api/jobs', CRON);
    const jobId = created.body.job_id as string;
    // What only a read looks up: a submit waits for nothing but its own write.
    const { waiting_runs: _, waiting_reason: __, user_name: ___, ...shown } = await read(jobId);
    expect(created.body).toEqual({ ...shown, outcome: 'submitted', changed: true });
    expect(created.headers).toMatchObject({ etag: '"1"', location: `/api/jobs/${jobId}` });
    const acts = [
      ['PATCH', '', 'updated', { priority: 'high' }],
      ['POST', '/pause', 'paused', undefined],
      ['POST', '/resume', 'resumed', undefined],
      ['POST', '/cancel', 'cancelled', undefined],
    ] as const;
    for (const [method, path, outcome, payload] of acts) {
      const act = () => gateway.ask(method, `/api/jobs/${jobId}${path}`, payload && { payload });
      const answer = await act();
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({ ...(await read(jobId)), outcome, changed: true });
      expect(answer.headers.etag).toBe(`"${answer.body.version}"`);
      expect((await act()).body).toMatchObject({ version: answer.body.version, outcome, changed: false });
    }
  });

  test('or little of it, where that is preferred', async () => {
    const headers = { prefer: 'respond-async, return=minimal' };
    const created = await gateway.post('/api/jobs', CRON, headers);
    const jobId = created.body.job_id as string;
    const short = { job_id: jobId, status: 'SCHEDULED', version: 1, outcome: 'submitted', changed: true };
    expect(created.body).toEqual(short);
    const paused = await gateway.ask('POST', `/api/jobs/${jobId}/pause`, { headers });
    expect(paused.body).toEqual({ ...short, status: 'PAUSED', version: 2, outcome: 'paused' });
  });

  test('or little of it, where the key may not read jobs', async () => {
    const jobId = await gateway.createdId(CRON);
    const key = await gateway.keyWith({ role: 'editor' }, { scopes: ['jobs.pause'] });
    const paused = await gateway.askWith(key, 'POST', `/api/jobs/${jobId}/pause`);
    expect(Object.keys(paused.body).sort()).toEqual(['changed', 'job_id', 'outcome', 'status', 'version']);
  });
});

describe('cancel', () => {
  test('means the same by POST and by DELETE, and leaves alone what is over', async () => {
    for (const [method, path] of [
      ['POST', '/cancel'],
      ['DELETE', ''],
    ] as const) {
      const jobId = await gateway.createdId({ name: 'a' });
      await gateway.settle(await gateway.claimDue(), { status: 'SUCCESS', next: { kind: 'finish' } });
      const cancel = (query = '') => gateway.ask(method, `/api/jobs/${jobId}${path}${query}`);
      expect(await cancel()).toMatchObject({ status: 409, body: { code: 'job_already_finished' } });
      expect((await read(jobId)).status).toBe('COMPLETED');
      if (method === 'DELETE') expect(await cancel('?purge=true')).toMatchObject({ status: 200 });
    }
  });
});

describe('the status of a job', () => {
  test('is running while a run lives and another waits, and says what that waits for', async () => {
    const jobId = await gateway.createdId({ name: 'a', frequency: 'daily' });
    const runNow = () => gateway.ask('POST', `/api/jobs/${jobId}/runNow`);
    await runNow();
    const batch = await gateway.claimDue();
    await runNow();
    await gateway.claimDue();
    const waiting = {
      waiting_runs: 1,
      waiting_reason: 'the job has as many runs at a time as it may',
    };
    expect(await read(jobId)).toMatchObject({ status: 'RUNNING', ...waiting });
    expect((await gateway.ask('GET', `/api/jobs/${jobId}/status`)).body).toMatchObject({
      ...{ status: 'running', latest_run: { status: 'CLAIMED' }, ...waiting },
    });
    const list = async (status: string) => (await gateway.ask('GET', `/api/jobs?status=${status}`)).body;
    expect(await list('Running')).toMatchObject([{ job_id: jobId, status: 'RUNNING' }]);
    expect(await list('pending')).toEqual([]);
    await gateway.settle(batch, { status: 'SUCCESS', next: { kind: 'finish' } });
    expect(await list('running')).toEqual([]);
    expect(await list('pending')).toMatchObject([{ job_id: jobId, status: 'SCHEDULED' }]);
  });

  test('of a failed one-off is completed by a rerun, and its dead letter is handled', async () => {
    const jobId = await gateway.createdId({ name: 'a' });
    const dead = { status: 'FAILED', next: { kind: 'dead', reason: 'not_retryable' } } as const;
    await gateway.settle(await gateway.claimDue(), dead);
    const letters = async (query: string) => (await gateway.ask('GET', `/api/dead-letters${query}`)).body;
    const [{ run_id: runId }] = await letters('?handled=false');
    expect((await gateway.ask('GET', '/api/jobs?status=failed')).body).toHaveLength(1);
    const rerun = await gateway.ask('POST', `/api/runs/${runId}/rerun`);
    expect(await letters('?handled=true')).toMatchObject([{ redriven_as: rerun.body.run_id }]);
    await gateway.settle(await gateway.claimDue(), { status: 'SUCCESS', next: { kind: 'finish' } });
    expect((await read(jobId)).status).toBe('COMPLETED');
    expect((await gateway.ask('GET', '/api/jobs?status=failed')).body).toEqual([]);
    expect(await letters('?redriven=false')).toEqual([]);
  });

  test('stands beside the last run in lists that ask for it', async () => {
    const jobId = await gateway.createdId({ name: 'a' });
    const list = async (query = '') => (await gateway.ask('GET', `/api/jobs${query}`)).body;
    expect(await list('?include=last_run')).toMatchObject([{ job_id: jobId, last_run: null }]);
    await gateway.settle(await gateway.claimDue(), { status: 'SUCCESS', next: { kind: 'finish' } });
    expect(await list('?include=last_run&sort=name')).toMatchObject([{ last_run: { status: 'SUCCESS' } }]);
    expect((await list())[0]).not.toHaveProperty('last_run');
  });
});

describe('run now', () => {
  const runNow = (jobId: string, body: object, headers: Record<string, string> = {}) =>
    gateway.post(`/api/jobs/${jobId}/runNow`, body, headers);
  const claimed = async () => JSON.parse((await gateway.claimDue()).runs[0]!.payload);

  test('takes an input that is merged over the payload, and a reason that is shown', async () => {
    const jobId = await gateway.createdId({ ...HTTP, schedule_time: '2031-01-01T00:00:00Z' });
    const input = { method: 'POST', headers: { b: null, c: '3' } };
    const { status, body } = await runNow(jobId, { input, reason: 'a day was missed' });
    expect(status).toBe(202);
    expect(await claimed()).toEqual({
      ...{ url: 'http://example.org/', method: 'POST', headers: { a: '1', c: '3' } },
    });
    const run = (await gateway.ask('GET', `/api/runs/${body.run_id}`)).body;
    expect(run).toMatchObject({ request_reason: 'a day was missed', input });
    const [entry] = (await gateway.ask('GET', '/api/audit?action=jobs.run')).body;
    expect(entry.after).toMatchObject({ reason: 'a day was missed', input: ['method', 'headers'] });
    expect((await read(jobId)).payload).toEqual(HTTP.payload);
  });

  test('refuses an input that could never be called, is too large, or is none', async () => {
    const jobId = await gateway.createdId(HTTP);
    const refusal = async (body: object) => (await runNow(jobId, body)).body;
    expect(await refusal({ input: { url: null } })).toMatchObject({
      code: 'field_missing',
      field: 'payload.url',
    });
    expect(await refusal({ input: { body: 'x'.repeat(256 * 1024) } })).toMatchObject({
      code: 'payload_too_large',
    });
    expect(await refusal({ input: [1] })).toMatchObject({ code: 'field_invalid', field: 'input' });
    for (const reason of ['x'.repeat(501), 'two\nlines', '\u001b[2J', 'a\tb', ' '])
      expect(await refusal({ reason })).toMatchObject({ code: 'field_invalid', field: 'reason' });
    expect(await refusal({ priority: 'high' })).toMatchObject({ code: 'field_unknown' });
  });

  test('belongs to its caller by its key, and is refused for another body', async () => {
    const jobId = await gateway.createdId({ ...HTTP, schedule_time: '2031-01-01T00:00:00Z' });
    const headers = { 'idempotency-key': 'once' };
    const input = { method: 'POST' };
    const first = await runNow(jobId, { input }, headers);
    expect((await runNow(jobId, { input }, headers)).body).toEqual(first.body);
    expect(await runNow(jobId, { input: { method: 'PUT' } }, headers)).toMatchObject({
      ...{ status: 409, body: { code: 'idempotency_key_reused', field: 'Idempotency-Key' } },
    });
    expect((await runNow(jobId, {}, headers)).status).toBe(409);
    const runIds = new Set([first.body.run_id]);
    for (const userId of ['ann', 'bob']) {
      const person = await gateway.person(userId, [{ role: 'editor' }]);
      const keys = [1, 2].map(() => gateway.keyWith({ role: 'editor' }, { ownerId: person.userId }));
      for (const key of await Promise.all(keys)) {
        const url = `/api/jobs/${jobId}/runNow`;
        runIds.add((await gateway.askWith(key, 'POST', url, { headers, payload: { input } })).body.run_id);
      }
    }
    // Two keys of one person are one caller.
    expect(runIds.size).toBe(3);
  });

  test('a rerun keeps the input, unless another one is given', async () => {
    const jobId = await gateway.createdId({ name: 'a', frequency: 'daily', payload: { a: 1 } });
    const { body } = await runNow(jobId, { input: { b: 2 } });
    const done = { status: 'SUCCESS', next: { kind: 'finish' } } as const;
    const rerunWith = async (payload: object) => {
      const runs = gateway.pendingOf(jobId as JobId);
      expect((await runs).length).toBeLessThanOrEqual(2);
      await gateway.ask('POST', `/api/runs/${body.run_id}/rerun`, { payload });
      const batch = await gateway.claimDue();
      await gateway.settle(batch, done);
      return JSON.parse(batch.runs[0]!.payload);
    };
    await gateway.settle(await gateway.claimDue(), done);
    expect(await rerunWith({})).toEqual({ a: 1, b: 2 });
    await gateway.ask('PATCH', `/api/jobs/${jobId}`, { payload: { payload: { a: 9 } } });
    expect(await rerunWith({ reason: 'once more' })).toEqual({ a: 9, b: 2 });
    expect(await rerunWith({ input: { c: 3 } })).toEqual({ a: 9, c: 3 });
    expect(await rerunWith({ input: null })).toEqual({ a: 9 });
    const payload = { reason: 'two\nlines' };
    const refused = await gateway.ask('POST', `/api/runs/${body.run_id}/rerun`, { payload });
    expect(refused.body).toMatchObject({ code: 'field_invalid', field: 'reason' });
  });

  test('a redriven run has the input of the one that died', async () => {
    const jobId = await gateway.createdId({ name: 'a', frequency: 'daily', payload: { a: 1 } });
    const { body } = await runNow(jobId, { input: { b: 2 } });
    const dead = { status: 'FAILED', next: { kind: 'dead', reason: 'not_retryable' } } as const;
    await gateway.settle(await gateway.claimDue(), dead);
    await gateway.ask('POST', `/api/dead-letters/${body.run_id}/redrive`);
    expect(await claimed()).toEqual({ a: 1, b: 2 });
  });
});
