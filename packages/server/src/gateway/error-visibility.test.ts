/** Who sees the detail of an error, which quotes what a job called and what was answered, over every interface that shows runs. */
import { beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { GatewayFixture } from './gateway.fixture.ts';

const SECRET = 'hunter2-hunter2';
const ERROR = `the server answered 500: no account ${SECRET} at billing.example`;
const OUTLINE = 'the server answered 500: [hidden]';

let gateway: GatewayFixture;
let address: string;
let jobId: string;
let runId: string;
beforeEach(async () => {
  gateway = new GatewayFixture();
  address = await gateway.app.listen({ port: 0, host: '127.0.0.1' });
  ({ jobId, runId } = await failedRun(ERROR));
  return () => gateway.app.close();
});

async function failedRun(error: string, over: object = {}) {
  const made = await gateway.createdId({ name: 'call', payload: { url: 'https://x.example/' }, ...over });
  const batch = await gateway.claimDue();
  await gateway.settle(batch, {
    ...{ status: 'FAILED', error, next: { kind: 'dead', reason: 'retries_exhausted' } },
  });
  return { jobId: made, runId: batch.runs[0]!.runId };
}

const REST = () => [
  '/api/jobs?include=last_run',
  '/api/jobs?include=last_run&sort=name',
  '/api/runs',
  '/api/runs?status=failed',
  `/api/runs?job_id=${jobId}`,
  `/api/runs/${runId}`,
  `/api/runs/${runId}/logs`,
  `/api/jobs/${jobId}/runs`,
  `/api/jobs/${jobId}/status`,
  `/api/jobs/${jobId}/logs`,
  '/api/dead-letters',
  `/api/dead-letters?job_id=${jobId}`,
  `/api/dead-letters/${runId}`,
  '/api/events?limit=100',
  `/api/events?limit=100&run_id=${runId}`,
];
const RPC = (): [string, object][] => [
  ['ListJobs', { include: ['last_run'] }],
  ['GetJobStatus', { job_id: jobId }],
  ['ListRuns', {}],
  ['ListRuns', { job_id: jobId }],
  ['GetExecHistory', { job_id: jobId }],
  ['GetRun', { run_id: runId }],
  ['GetRunLogs', { run_id: runId }],
  ['GetJobLogs', { job_id: jobId }],
  ['ListDeadLetters', {}],
  ['GetDeadLetter', { run_id: runId }],
  ['ListEvents', {}],
];

async function call(key: string, method: string, payload: object) {
  const answer = await fetch(`${address}/carillon.v1.JobService/${method}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(payload),
  });
  return { status: answer.status, text: await answer.text() };
}

async function eachAnswerTo(key: string): Promise<[string, string][]> {
  const answers: [string, string][] = [];
  for (const url of REST()) {
    const { status, body } = await gateway.askWith(key, 'GET', url);
    expect(status, url).toBe(200);
    answers.push([url, JSON.stringify(body)]);
  }
  for (const [method, payload] of RPC()) {
    const { status, text } = await call(key, method, payload);
    expect(status, `${method} ${text}`).toBe(200);
    answers.push([method, text]);
  }
  answers.push(['the stream of events', await endHeardBy(key)]);
  return answers;
}

/** Operates the default namespace, and only looks at the other. */
async function keyOfBoth(): Promise<string> {
  const grants = [
    { namespace: 'default', role: 'operator', ownOnly: false },
    { namespace: 'theirs', role: 'viewer', ownOnly: false },
  ] as const;
  return (await gateway.operations.createKey({ name: 'both', grants })).secret;
}

/** From the beginning of the events to the end of the run. */
async function endHeardBy(key: string): Promise<string> {
  const leaving = new AbortController();
  const answer = await fetch(`${address}/api/events?run_id=${runId}&type=run.dead_lettered`, {
    headers: { authorization: `Bearer ${key}`, accept: 'text/event-stream', 'last-event-id': '0-0' },
    signal: leaving.signal,
  });
  let heard = '';
  const reading = (async () => {
    for await (const part of answer.body!.pipeThrough(new TextDecoderStream())) heard += part;
  })().catch((error: unknown) => {
    if (!leaving.signal.aborted) throw error;
  });
  await eventually(
    () => {
      gateway.clock.advance(300);
      expect(heard).toContain('error_message');
    },
    { withinMs: 60_000 },
  );
  leaving.abort();
  await reading;
  return heard;
}

describe('the error of a run', () => {
  test('is shown to a viewer without its detail, everywhere', async () => {
    for (const [where, text] of await eachAnswerTo(await gateway.keyWith({ role: 'viewer' }))) {
      expect(text, where).not.toContain(SECRET);
      expect(text, where).toContain(OUTLINE);
    }
  });

  test('is shown whole to an observer, everywhere', async () => {
    for (const [where, text] of await eachAnswerTo(await gateway.keyWith({ role: 'observer' }))) {
      expect(text, where).toContain(ERROR);
    }
  });

  test('of a key that is limited to reading runs is shown without its detail', async () => {
    const key = await gateway.keyWith({ role: 'editor' }, { scopes: ['runs.read'] });
    const { body } = await gateway.askWith(key, 'GET', `/api/runs/${runId}`);
    expect(body.error_message).toBe(OUTLINE);
  });

  test('is shown whole only for the jobs whose payloads the caller may read', async () => {
    await gateway.namespace('theirs');
    await failedRun(ERROR, { namespace: 'theirs' });
    const secret = await keyOfBoth();
    for (const url of ['/api/runs', '/api/dead-letters']) {
      const { body } = await gateway.askWith(secret, 'GET', url);
      const errors = body.map((one: { error_message: string }) => one.error_message);
      expect(errors.sort(), url).toEqual([OUTLINE, ERROR].sort());
    }
  });
});

describe('the filter by error', () => {
  const found = async (key: string, query: string) => {
    const { status, body } = await gateway.askWith(key, 'GET', `/api/runs?error=${query}`);
    return status === 200 ? body.length : body.code;
  };

  test('does not search what is hidden', async () => {
    const viewer = await gateway.keyWith({ role: 'viewer' });
    const answer = await gateway.askWith(viewer, 'GET', '/api/runs?error=hunter2');
    expect(answer.body).toMatchObject({
      code: 'forbidden',
      detail: expect.stringContaining('payloads.read'),
    });
    expect((await call(viewer, 'ListRuns', { error: 'hunter2' })).text).toContain('payloads.read');
    expect(await found(viewer, `hunter2&job_id=${jobId}`)).toBe('forbidden');
    const operator = await gateway.keyWith({ role: 'operator' });
    expect(await found(operator, 'hunter2')).toBe(1);
    expect(await found(operator, `hunter2&job_id=${jobId}`)).toBe(1);
  });

  test('searches only the jobs whose payloads the caller may read', async () => {
    await gateway.namespace('theirs');
    await failedRun(ERROR, { namespace: 'theirs' });
    const secret = await keyOfBoth();
    expect(await found(secret, 'hunter2')).toBe(1);
    expect(await found(secret, 'hunter2&namespace=theirs')).toBe('forbidden');
    expect(await found(secret, 'hunter2&namespace=default')).toBe(1);
  });
});
