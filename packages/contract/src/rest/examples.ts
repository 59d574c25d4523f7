/** Examples for the documentation: one job and one team of two in every body and answer. A test checks each against its schema. */

import { defineJob, type JobId } from '@carillon/domain';
import { countExamples } from './count-examples.ts';
import type { DeadLetterView } from './dead-letters.ts';
import { parseJobBody } from './job-body.ts';
import { jobView } from './jobs.ts';
import type { Problem } from './problem.ts';
import type { RunView } from './runs.ts';

const JOB_ID = '01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f';
const RUN_ID = '01893f2e-9d20-7c44-8f1a-3b2c1d0e9f8a';
const NEW_RUN_ID = '01893f30-1b2c-7d55-9e6f-7a8b9c0d1e2f';

const CREATED_MS = Date.UTC(2030, 0, 1, 12);

const cronBody = {
  name: 'Weekday report',
  cron_expression: '0 9 * * 1-5',
  time_zone: 'Europe/Paris',
  max_retries: 2,
  labels: { team: 'billing' },
  user_id: 'u003',
  payload: { url: 'http://example.org/report', method: 'POST', body: { kind: 'weekday' } },
};

const job = jobView({
  job: {
    ...defineJob(parseJobBody(cronBody), CREATED_MS),
    jobId: JOB_ID as JobId,
    shard: 0,
    version: 1,
    status: 'SCHEDULED',
    createdAtMs: CREATED_MS,
    updatedAtMs: CREATED_MS,
  },
  status: 'SCHEDULED',
  nextRunMs: Date.UTC(2030, 0, 2, 8),
});

const run: RunView = {
  run_id: RUN_ID,
  job_id: JOB_ID,
  status: 'SUCCESS',
  worker_id: 'worker-7',
  started_at: '2030-01-02T08:00:00.012Z',
  ended_at: '2030-01-02T08:00:00.480Z',
  updated_at: '2030-01-02T08:00:00.490Z',
  attempt_number: 1,
  error_message: null,
  log_url: `/api/runs/${RUN_ID}/logs`,
  created_at: '2030-01-02T08:00:00.004Z',
  epoch: 1,
  trigger: 'schedule',
  scheduled_at: '2030-01-02T08:00:00.000Z',
  start_delay_ms: 12,
  reason: null,
  result: { status: 200 },
  result_size: null,
  result_url: null,
  occurrences: 1,
  job_version: 1,
  late_report: null,
  request_reason: null,
  progress: { percent: 100, message: null },
  peak_memory_bytes: 14680064,
  cpu_seconds: 0.31,
  start_time: '2030-01-02T08:00:00.012Z',
  end_time: '2030-01-02T08:00:00.480Z',
  modified_time: '2030-01-02T08:00:00.490Z',
  executor_id: 'worker-7',
};
const { payload: _payload, ...listedJob } = job;
const { result: _result, result_size: _size, result_url: _url, ...shortRun } = run;
const listedRun = {
  ...{ ...shortRun, job_name: job.name, namespace: 'default', user_id: 'u003', handler: 'http' },
  tried_again: false,
};

const deadLetter: DeadLetterView = {
  run_id: RUN_ID,
  job_id: JOB_ID,
  job_name: 'Weekday report',
  reason: 'retries_exhausted',
  error_message: 'the answer was 503',
  attempts: 3,
  scheduled_at: '2030-01-02T08:00:00.000Z',
  died_at: '2030-01-02T08:00:09.000Z',
  redriven_run_id: null,
  redriven_as: null,
  resolved_by: null,
};

const problem: Problem = {
  type: 'urn:carillon:error:field_unknown',
  title: 'Field unknown',
  status: 400,
  code: 'field_unknown',
  field: 'colour',
  detail: 'There is no field "colour".',
  fix: 'Remove the field, or correct its spelling.',
  request_id: '7d0f6a5c-0b1e-4c7f-9a55-1f2f6c1f8a01',
};

const worker = {
  worker_id: 'worker-7',
  name: 'gpu-3',
  node_id: '01893f2e-0000-7000-8000-00000000000a',
  remote: true,
  language: 'typescript',
  version: '0.1.0',
  labels: { gpu: 'a100' },
  alive: true,
  lost_at: null,
  lost_runs: 0,
  lost_run_ids: [],
  slots: 50,
  running: 3,
  stuck: 0,
  draining: false,
  handlers: ['http'],
  last_seen_at: '2030-01-02T08:00:03.000Z',
  last_seen: '2030-01-02T08:00:03.000Z',
};

const handler = {
  name: 'resize-image',
  description: 'Makes smaller copies of an image.',
  parameters: { type: 'object', properties: { url: { type: 'string' } }, required: ['url'] },
  origin: 'plugin',
  workers: 2,
};

const logs = [
  {
    at: '2030-01-02T08:00:00.004Z',
    message: 'handed to worker worker-7',
    run_id: RUN_ID,
    attempt_number: 1,
    epoch: 1,
    timestamp: '2030-01-02T08:00:00.004Z',
  },
  {
    at: '2030-01-02T08:00:00.012Z',
    message: 'attempt 1 started',
    run_id: RUN_ID,
    attempt_number: 1,
    epoch: 1,
    timestamp: '2030-01-02T08:00:00.012Z',
  },
  {
    at: '2030-01-02T08:00:00.480Z',
    message: 'attempt 1 ended: SUCCESS after 0.468 s',
    run_id: RUN_ID,
    attempt_number: 1,
    epoch: 1,
    timestamp: '2030-01-02T08:00:00.480Z',
  },
];

export const EXAMPLES = {
  jobId: JOB_ID,
  runId: RUN_ID,
  newRunId: NEW_RUN_ID,
  job,
  listedJob,
  run,
  checkpoint: { saved_at: '2030-01-02T08:00:00.300Z', bytes: 13, epoch: 1 },
  shortRun,
  listedRun,
  deadLetter,
  problem,
  worker,
  handler,
  logs,
  ...countExamples({ jobId: JOB_ID, runId: RUN_ID }),
  event: {
    specversion: '1.0',
    id: '74231-1802-0',
    source: 'carillon',
    type: 'io.carillon.job.created',
    subject: `jobs/${JOB_ID}`,
    time: '2030-01-01T12:00:00.000Z',
    datacontenttype: 'application/json',
    data: {
      job_id: JOB_ID,
      name: job.name,
      namespace: 'default',
      user_id: 'u003',
      handler: 'http',
      schedule_type: 'CRON',
      labels: { team: 'billing' },
    },
  },
  jobBodies: {
    now: { name: 'Ping', payload: { url: 'http://example.org/ping' } },
    once: {
      name: 'Reminder',
      schedule_time: '2030-03-01T09:00:00+01:00',
      payload: { url: 'http://example.org/remind' },
    },
    cron: cronBody,
    interval: { name: 'Poll', interval: '15m', payload: { url: 'http://example.org/poll' } },
  },
  preview: {
    description: 'every weekday at 09:00 (Europe/Paris)',
    schedule_type: 'CRON',
    time_zone: 'Europe/Paris',
    fires: [{ at: '2030-01-02T08:00:00.000Z', local: '2030-01-02T09:00:00+01:00', skipped_by: null }],
    warnings: [],
    per_day: [],
    others_at: [{ at: '2030-01-02T08:00:00.000Z', count: 412, more: false }],
  },
} as const;

const USER_ID = '01893f2e-1111-7b3a-9d4e-5a6b7c8d9e0f';
const KEY_ID = '01893f2e-2222-7b3a-9d4e-5a6b7c8d9e0f';
const AT = '2030-01-02T09:00:00.000Z';

const grants = [
  { namespace: 'billing', role: 'viewer', own_only: false },
  { namespace: 'billing', role: 'editor', own_only: true },
] as const;

const user = {
  user_id: USER_ID,
  name: 'ada',
  display_name: 'Ada Lovelace',
  disabled: false,
  has_password: true,
  issuer: null,
  grants,
  created_at: AT,
  updated_at: AT,
};

const key = {
  key_id: KEY_ID,
  name: 'deploy pipeline',
  prefix: 'ck2_k3m8x0q7wd',
  user_id: USER_ID,
  user_name: 'ada',
  grants: [{ namespace: 'billing', role: 'editor', own_only: true }],
  namespace: 'billing',
  role: 'editor',
  own_only: true,
  scopes: ['jobs.read', 'jobs.create'],
  worker: null,
  created_at: AT,
  expires_at: '2031-01-01T00:00:00.000Z',
  last_used_at: null,
  last_used_address: null,
  previous_prefix: null,
  previous_expires_at: null,
  previous_last_used_at: null,
};

const session = {
  session_id: '01893f2e-3333-7b3a-9d4e-5a6b7c8d9e0f',
  user_id: USER_ID,
  user_name: 'ada',
  method: 'password',
  current: true,
  created_at: AT,
  last_seen_at: AT,
  expires_at: '2030-01-09T09:00:00.000Z',
  address: '203.0.113.7',
  user_agent: 'Mozilla/5.0',
};

const signingKey = {
  signing_key_id: '01893f2e-7c14-7d00-8a1b-2c3d4e5f6a7b',
  namespace: 'billing',
  created_at: AT,
  starts_at: AT,
  ends_at: null,
};

export const ACCOUNT_EXAMPLES = {
  namespace: { name: 'billing', description: 'Invoices and reminders', created_at: AT },
  namespaceBody: { name: 'billing', description: 'Invoices and reminders' },
  user,
  userBody: { name: 'ada', display_name: 'Ada Lovelace', password: 'a long phrase of her own', grants },
  grantsBody: { grants },
  passwordBody: { password: 'another long phrase', current_password: 'a long phrase of her own' },
  signInBody: { name: 'ada', password: 'a long phrase of her own' },
  signInMethods: {
    ...{ password: true, ticket: true, key: true },
    oidc: { label: 'Example Corp', start_url: '/api/oidc/start', logout_url: '/api/oidc/logout' },
  },
  ticketBody: { ticket: 'rT9mO1c0XbqS8mJm9c3kq0cF6m2mB7x7W1rY2nV8Qk1' },
  adminKeyBody: { key: 'what <data>/admin.key holds' },
  signedIn: {
    user,
    csrf_token: 'qk1Jb0v1m3H2lq8mJm9c3kq0cF6m2mB7x7W1rY2nV8Q',
    expires_at: session.expires_at,
  },
  caller: {
    kind: 'user',
    id: USER_ID,
    name: 'ada',
    user_id: USER_ID,
    user_name: 'ada',
    grants,
    scopes: null,
    method: 'password',
    csrf_token: 'qk1Jb0v1m3H2lq8mJm9c3kq0cF6m2mB7x7W1rY2nV8Q',
    expires_at: session.expires_at,
    command_flags: ' --data /srv/carillon',
  },
  session,
  key,
  workerKeyBody: {
    name: 'thumbnails',
    worker: { handlers: ['resize-image', 'script'], namespaces: ['media'] },
  },
  keyBody: {
    name: 'deploy pipeline',
    namespace: 'billing',
    role: 'editor',
    own_only: true,
    scopes: ['jobs.read', 'jobs.create'],
    expires_at: '2031-01-01T00:00:00Z',
  },
  createdKey: { ...key, key: 'ck2_k3m8x0q7wd_Zr6cUo1b9w2Yx5sT8vQ0eL4hN7jM3kP6dF1gA9iB2cE1uiSpV' },
  severalGrantsBody: { name: 'console', grants, expires_at: '2030-01-09T00:00:00Z' },
  keyChange: { name: 'deploy pipeline of billing' },
  rotationBody: { overlap: '24h' },
  rotatedKey: {
    ...key,
    prefix: 'ck2_p9f2r7t4ya',
    previous_prefix: key.prefix,
    previous_expires_at: '2030-01-03T09:00:00.000Z',
    key: 'ck2_p9f2r7t4ya_Zr6cUo1b9w2Yx5sT8vQ0eL4hN7jM3kP6dF1gA9iB2cE3PCQDP',
  },
  signingKey,
  secret: {
    name: 'api-token',
    namespace: 'billing',
    version: 3,
    masked: true,
    created_at: AT,
    created_by: 'ada',
    updated_at: AT,
    updated_by: 'ada',
  },
  viewBody: { screen: 'jobs', name: 'Paused, mine', query: { status: 'PAUSED', user: 'me', sort: 'name' } },
  view: {
    view_id: '01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f',
    screen: 'jobs',
    name: 'Paused, mine',
    query: { status: 'PAUSED', user: 'me', sort: 'name' },
    updated_at: AT,
  },
  preferences: { zone: 'Europe/Paris', scheme: 'dark', shortcuts: true },
  createdSigningKey: { ...signingKey, secret: 'whsec_q7mQ0nV4cX1sT8vQ0eL4hN7jM3kP6dF1gA9iB2cE5rU=' },
  audit: {
    audit_id: 4711,
    at: AT,
    actor: {
      kind: 'user',
      id: USER_ID,
      name: 'ada',
      via: { kind: 'session', id: session.session_id, name: null },
    },
    action: 'keys.create',
    namespace: 'billing',
    subject: { kind: 'key', id: KEY_ID, name: 'deploy pipeline' },
    before: null,
    after: { name: 'deploy pipeline', prefix: 'ck2_k3m8x0q7wd' },
    address: '203.0.113.7',
    user_agent: 'curl/8.5.0',
    request_id: '7d2f0f6e-3c6a-4f7e-9d43-0a1b2c3d4e5f',
  },
} as const;
