/** Who may give a run an input, over REST and RPC: it must not be a way to what is hidden, nor send that elsewhere. */
import type { Action, JsonObject } from '@carillon/domain';
import { beforeEach, describe, expect, test } from 'vitest';
import { GatewayFixture } from './gateway.fixture.ts';

const HTTP = {
  name: 'nightly',
  schedule_type: 'CRON',
  cron_expression: '0 3 * * *',
  handler: 'http',
  payload: {
    url: 'https://example.org/x',
    method: 'POST',
    headers: { authorization: 'Bearer hunter2-hunter2' },
    body: { day: 'today' },
  },
};
const ELSEWHERE = { url: 'https://elsewhere.example/' };

let gateway: GatewayFixture;
let address: string;
let jobId: string;
beforeEach(async () => {
  gateway = new GatewayFixture();
  address = await gateway.app.listen({ port: 0, host: '127.0.0.1' });
  jobId = await gateway.createdId(HTTP);
  return () => gateway.app.close();
});

interface Answered {
  readonly code: string | undefined;
  readonly message: string;
}

async function overRest(key: string, path: string, payload: object): Promise<Answered> {
  const { body } = await gateway.askWith(key, 'POST', path, { payload });
  return { code: body.code, message: body.detail ?? '' };
}

async function overRpc(key: string, method: string, payload: object): Promise<Answered> {
  const answer = await fetch(`${address}/carillon.v1.JobService/${method}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(payload),
  });
  const body = (await answer.json()) as { message?: string; details?: { debug?: { code?: string } }[] };
  return { code: answer.ok ? undefined : body.details?.[0]?.debug?.code, message: body.message ?? '' };
}

/** A run of the job that has ended, asked for with this input by the server itself. */
async function endedRun(ofJob: string, input?: JsonObject, status: 'CANCELLED' | 'FAILED' = 'CANCELLED') {
  const { body } = await gateway.post(`/api/jobs/${ofJob}/runNow`, { input });
  if (status === 'CANCELLED') await gateway.ask('POST', `/api/runs/${body.run_id}/cancel`);
  else {
    await gateway.settle(await gateway.claimDue(), {
      ...{ status, error: 'no', next: { kind: 'dead', reason: 'retries_exhausted' } },
    });
  }
  return body.run_id as string;
}

type Way = (key: string, input: JsonObject | null | undefined) => Promise<Answered>;
const WAYS: [string, Way][] = [
  ['run now over REST', (key, input) => overRest(key, `/api/jobs/${jobId}/runNow`, { input })],
  ['run now over RPC', (key, input) => overRpc(key, 'RunJobNow', { job_id: jobId, input })],
  [
    'a rerun over REST',
    async (key, input) => overRest(key, `/api/runs/${await endedRun(jobId)}/rerun`, { input }),
  ],
  [
    'a rerun over RPC',
    async (key, input) => overRpc(key, 'RerunRun', { run_id: await endedRun(jobId), input }),
  ],
];

const RUNNING: Action[] = ['jobs.read', 'runs.read', 'jobs.run', 'runs.rerun', 'dead_letters.redrive'];
const keyThatRuns = () => gateway.keyWith({ role: 'editor' }, { scopes: RUNNING });

describe.each(WAYS)('the input of %s', (_, ask) => {
  test('needs payloads.read, whatever it is', async () => {
    const key = await keyThatRuns();
    for (const input of [{ body: { day: 'tomorrow' } }, {}, { unknown: 1 }, ELSEWHERE]) {
      const answer = await ask(key, input);
      expect(answer.code, JSON.stringify(input)).toBe('forbidden');
      expect(answer.message).toContain('payloads.read');
    }
    expect((await ask(key, undefined)).code).toBeUndefined();
  });

  test('needs jobs.update where it changes how an http job calls', async () => {
    const operator = await gateway.keyWith({ role: 'operator' });
    const inputs: JsonObject[] = [
      ELSEWHERE,
      { method: 'PUT' },
      { headers: { 'x-forward': 'elsewhere' } },
      { headers: null },
      { body: { day: 'tomorrow' }, ...ELSEWHERE },
      { not_known_yet: true },
    ];
    for (const input of inputs) {
      const answer = await ask(operator, input);
      expect(answer.code, JSON.stringify(input)).toBe('forbidden');
      expect(answer.message).toContain('jobs.update');
      expect(answer.message).toContain(Object.keys(input).at(-1));
    }
    expect((await ask(await gateway.keyWith({ role: 'editor' }), ELSEWHERE)).code).toBeUndefined();
  });

  test('is free to change the data that an http job sends', async () => {
    const operator = await gateway.keyWith({ role: 'operator' });
    expect((await ask(operator, { body: { day: 'tomorrow' }, expect_status: '2xx' })).code).toBeUndefined();
  });

  test('changes the method with the body where the job names no method', async () => {
    const { body: _body, method: _method, ...payload } = HTTP.payload;
    jobId = await gateway.createdId({ ...HTTP, payload });
    const operator = await gateway.keyWith({ role: 'operator' });
    expect(await ask(operator, { body: 'text' })).toMatchObject({
      code: 'forbidden',
      message: expect.stringContaining('jobs.update'),
    });
    jobId = await gateway.createdId({ ...HTTP, payload: { ...payload, body: 'text' } });
    expect((await ask(operator, { body: null })).code).toBe('forbidden');
    expect((await ask(operator, { body: 'other' })).code).toBeUndefined();
  });

  test('is data alone for every other handler', async () => {
    jobId = await gateway.createdId({ ...HTTP, handler: 'report', payload: { url: 'x' } });
    const operator = await gateway.keyWith({ role: 'operator' });
    expect((await ask(operator, { ...ELSEWHERE, headers: {} })).code).toBeUndefined();
    expect((await ask(await keyThatRuns(), { day: 1 })).code).toBe('forbidden');
  });
});

describe('an input that is kept', () => {
  const REPEATS: [string, (key: string, runId: string) => Promise<Answered>][] = [
    ['a rerun over REST', (key, runId) => overRest(key, `/api/runs/${runId}/rerun`, {})],
    ['a rerun over RPC', (key, runId) => overRpc(key, 'RerunRun', { run_id: runId })],
    ['a redrive over REST', (key, runId) => overRest(key, `/api/dead-letters/${runId}/redrive`, {})],
    ['a redrive over RPC', (key, runId) => overRpc(key, 'RedriveDeadLetter', { run_id: runId })],
  ];
  test.each(REPEATS)('by %s needs jobs.update where it changes how the job calls', async (_, repeat) => {
    const operator = await gateway.keyWith({ role: 'operator' });
    const runId = await endedRun(jobId, ELSEWHERE, 'FAILED');
    expect(await repeat(operator, runId)).toMatchObject({
      code: 'forbidden',
      message: expect.stringContaining('jobs.update'),
    });
    expect((await repeat(await gateway.keyWith({ role: 'editor' }), runId)).code).toBeUndefined();
  });

  test.each(REPEATS)('by %s is no secret that is probed where it is data', async (_, repeat) => {
    const runId = await endedRun(jobId, { body: { day: 'tomorrow' } }, 'FAILED');
    expect((await repeat(await keyThatRuns(), runId)).code).toBeUndefined();
  });

  test('leaves its dead letter where letters are redriven together', async () => {
    await endedRun(jobId, ELSEWHERE, 'FAILED');
    await endedRun(jobId, { body: {} }, 'FAILED');
    const operator = await gateway.keyWith({ role: 'operator' });
    const payload = { filter: { job_id: jobId } };
    const answer = await gateway.askWith(operator, 'POST', '/api/dead-letters/redrive', { payload });
    expect(answer.body).toMatchObject({ matched: 2, redriven: 1, refused: 1 });
  });

  test('is dropped by null without any further permission', async () => {
    const runId = await endedRun(jobId, ELSEWHERE);
    const operator = await gateway.keyWith({ role: 'operator' });
    expect((await overRest(operator, `/api/runs/${runId}/rerun`, { input: null })).code).toBeUndefined();
    const call = { run_id: runId, without_input: true };
    expect((await overRpc(operator, 'RerunRun', call)).code).toBeUndefined();
  });
});
