import { Code } from '@connectrpc/connect';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { KEY, RpcFixture, refusalOf } from './rpc.fixture.ts';

let gateway: RpcFixture;
beforeEach(async () => {
  gateway = await RpcFixture.start();
});
afterEach(() => gateway.stop());

const DAILY = { codeLocation: 'report', schedule: { frequency: 'daily' } };
const NOBODY = '00000000-0000-7000-8000-000000000000';

describe('bad calls', () => {
  test('ids, words, sizes and tokens that mean nothing are refused by name', async () => {
    const jobs = gateway.jobs();
    const refused = async (call: Promise<unknown>) => {
      const { status, detail } = await refusalOf(call);
      return [status, detail?.code, detail?.field];
    };
    const invalid = Code.InvalidArgument;
    expect(await refused(jobs.getJob({}))).toEqual([invalid, 'field_missing', 'job_id']);
    expect(await refused(jobs.getJob({ jobId: '42' }))).toEqual([Code.NotFound, 'job_not_found', '']);
    expect(await refused(jobs.getJob({ jobId: NOBODY }))).toEqual([Code.NotFound, 'job_not_found', '']);
    expect(await refused(jobs.getRun({ runId: NOBODY }))).toEqual([Code.NotFound, 'run_not_found', '']);
    expect(await refused(jobs.listRuns({ since: 'soon' }))).toEqual([invalid, 'time_invalid', 'since']);
    expect(await refused(jobs.listJobs({ pageSize: 1_001 }))).toEqual([
      invalid,
      'field_invalid',
      'page_size',
    ]);
    expect(await refused(jobs.listJobs({ pageSize: -1 }))).toEqual([invalid, 'field_invalid', 'page_size']);
    expect(await refused(jobs.listJobs({ pageToken: 'x' }))).toEqual([
      invalid,
      'field_invalid',
      'page_token',
    ]);
    expect(await refused(jobs.listJobs({ statuses: ['odd'] }))).toEqual([
      invalid,
      'field_invalid',
      'statuses',
    ]);
    expect(await refused(jobs.listJobs({ text: '\u0000' }))).toEqual([invalid, 'field_invalid', 'text']);
    expect(await refused(jobs.submitJob({ codeLocation: 'a', handler: 'b' }))).toEqual([
      invalid,
      'field_conflict',
      'code_location',
    ]);
    expect(await refused(jobs.submitJob({ codeLocation: 'a', timeoutSeconds: Number.NaN }))).toEqual([
      invalid,
      'field_invalid',
      'timeout_seconds',
    ]);
    expect(await refused(jobs.submitJob({ codeLocation: 'a', payload: { a: '\u0000' } }))).toEqual([
      invalid,
      'field_invalid',
      'payload.a',
    ]);
    expect(gateway.errors).toEqual([]);
  });

  test('a message over the limit is refused before it is read', async () => {
    const call = gateway.jobs().submitJob({ codeLocation: 'a', payload: { a: 'x'.repeat(1024 * 1024) } });
    expect(await refusalOf(call)).toMatchObject({
      status: Code.ResourceExhausted,
      detail: { code: 'body_too_large' },
    });
  });

  test('a message of absurd depth is refused, and harms nobody', async () => {
    let deep: object = {};
    for (let level = 0; level < 3_000; level += 1) deep = { a: deep };
    const body = JSON.stringify({ codeLocation: 'a', payload: deep });
    const answer = await fetch(`${gateway.address}/carillon.v1.JobService/SubmitJob`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}` },
      body,
    });
    expect(answer.status).toBe(400);
    expect(await gateway.jobs().submitJob(DAILY)).toMatchObject({ created: true });
    expect(gateway.errors).toEqual([]);
  });

  test.each([
    ['broken JSON', '{"codeLocation":', 400],
    ['an unknown field', '{"codeLocation":"a","colour":"red"}', 400],
    ['a wrong type', '{"codeLocation":5}', 400],
    ['no object', '[]', 400],
  ])('%s is refused over Connect', async (_what, body, status) => {
    const answer = await fetch(`${gateway.address}/carillon.v1.JobService/SubmitJob`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}` },
      body,
    });
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({
      code: 'invalid_argument',
      message: expect.stringMatching(/^The message cannot be read: .*\.$/),
      details: [{ type: 'carillon.v1.ErrorDetail', debug: { code: 'message_unreadable' } }],
    });
  });

  test('an unknown method, another verb and another content type are refused', async () => {
    const ask = (path: string, init: RequestInit) => fetch(`${gateway.address}${path}`, init);
    const json = { 'content-type': 'application/json', authorization: `Bearer ${KEY}` };
    expect(
      (await ask('/carillon.v1.JobService/Nothing', { method: 'POST', headers: json, body: '{}' })).status,
    ).toBe(404);
    expect([404, 405]).toContain((await ask('/carillon.v1.JobService/GetJob', { headers: json })).status);
    const plain = { ...json, 'content-type': 'text/plain' };
    expect(
      (await ask('/carillon.v1.JobService/GetJob', { method: 'POST', headers: plain, body: 'x' })).status,
    ).toBe(415);
  });
});
