/** Who sees the values of payloads and of what runs answered, over every interface that shows them, and what the audit log keeps. */
import { beforeEach, describe, expect, test } from 'vitest';
import { GatewayFixture, KEY } from './gateway.fixture.ts';

const SECRET = 'hunter2-hunter2';
const JOB = {
  name: 'nightly',
  schedule_type: 'IMMEDIATE',
  payload: { url: 'https://example.org/x', headers: { authorization: `Bearer ${SECRET}` } },
};

let gateway: GatewayFixture;
let jobId: string;
let runId: string;
beforeEach(async () => {
  gateway = new GatewayFixture();
  jobId = await gateway.createdId(JOB);
  await gateway.settle(await gateway.claimDue(), {
    status: 'SUCCESS',
    next: { kind: 'finish' },
    result: JSON.stringify({ session: SECRET }),
  });
  const { body } = await gateway.ask('GET', `/api/jobs/${jobId}/runs`);
  runId = body[0].run_id;
});

const REST = () => [
  `/api/jobs/${jobId}`,
  '/api/jobs',
  '/api/jobs?sort=name',
  '/api/jobs?include=payload,last_run',
  '/api/jobs?include=payload,last_run&sort=name',
  '/api/runs?include=result',
  `/api/runs?include=result&job_id=${jobId}`,
  `/api/jobs/${jobId}/runs?include=result`,
  `/api/jobs/${jobId}/status`,
  `/api/jobs/${jobId}/runs`,
  `/api/runs/${runId}`,
  `/api/jobs/${jobId}/logs`,
  '/api/events?limit=100',
  '/api/dead-letters',
];
const RPC = (): [string, object][] => [
  ['GetJob', { job_id: jobId }],
  ['ListJobs', {}],
  ['ListJobs', { include: ['payload', 'last_run'] }],
  ['ListRuns', { include: ['result'] }],
  ['GetRun', { run_id: runId }],
  ['ListRuns', { job_id: jobId }],
  ['ListEvents', {}],
];

async function everythingShownTo(key: string): Promise<string> {
  let shown = '';
  for (const url of REST()) {
    const { status, body } = await gateway.askWith(key, 'GET', url);
    expect(status, url).toBe(200);
    shown += `${url}\n${JSON.stringify(body)}\n`;
  }
  for (const [method, payload] of RPC()) {
    const url = `/carillon.v1.JobService/${method}`;
    const answer = await fetch(`${address}${url}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(payload),
    });
    expect(answer.status, url).toBe(200);
    shown += `${url}\n${await answer.text()}\n`;
  }
  return shown;
}

let address: string;
beforeEach(async () => {
  address = await gateway.app.listen({ port: 0, host: '127.0.0.1' });
  return () => gateway.app.close();
});

describe('payloads and results', () => {
  test('a viewer sees their shape, and no value of them', async () => {
    const shown = await everythingShownTo(await gateway.keyWith({ role: 'viewer' }));
    expect(shown).not.toContain(SECRET);
    expect(shown).not.toContain('example.org');
    expect(shown).toContain('"payload":{"url":"[hidden]","headers":{"authorization":"[hidden]"}}');
  });

  test('an observer sees them as they are', async () => {
    const shown = await everythingShownTo(await gateway.keyWith({ role: 'observer' }));
    expect(shown).toContain(`Bearer ${SECRET}`);
    expect(shown).toContain(`"session":"${SECRET}"`);
  });

  test('a key that is limited to jobs.read does not see them', async () => {
    const key = await gateway.keyWith({ role: 'editor' }, { scopes: ['jobs.read'] });
    const { body } = await gateway.askWith(key, 'GET', `/api/jobs/${jobId}`);
    expect(JSON.stringify(body)).not.toContain(SECRET);
  });
});

test('the audit log keeps no credential of a change, and the job keeps it', async () => {
  const changed = {
    payload: { ...JOB.payload, url: `https://ada:${SECRET}@example.org/?api_key=${SECRET}&page=2` },
  };
  const answer = await gateway.ask('PATCH', `/api/jobs/${jobId}`, { payload: changed });
  expect(answer.status).toBe(200);
  const { body } = await gateway.ask('GET', `/api/audit?subject_id=${jobId}`);
  const text = JSON.stringify(body);
  expect(text).toContain('page=2');
  expect(text).not.toContain(SECRET);
  const job = await gateway.ask('GET', `/api/jobs/${jobId}`);
  expect(job.body.payload).toEqual(changed.payload);
});

test('a repeated request is recognised by its payload as it was sent', async () => {
  const headers = { 'idempotency-key': 'once', authorization: `Bearer ${KEY}` };
  const first = await gateway.post('/api/jobs', JOB, headers);
  const again = await gateway.post('/api/jobs', JOB, headers);
  expect([first.status, again.status]).toEqual([201, 200]);
  const other = { ...JOB, payload: { ...JOB.payload, headers: { authorization: 'Bearer another' } } };
  expect((await gateway.post('/api/jobs', other, headers)).body.code).toBe('idempotency_key_reused');
});
