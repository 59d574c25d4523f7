import { CATALOGUE } from '@carillon/domain';
import { beforeEach, describe, expect, test } from 'vitest';
import { StorageTimeout, StorageUnavailable, TextUnstorable } from '../storage/storage.ts';
import { GatewayFixture, KEY } from './gateway.fixture.ts';

let gateway: GatewayFixture;
beforeEach(() => {
  gateway = new GatewayFixture();
});

const job = (fields: string) => `{"name":"job",${fields}}`;
const deep = (levels: number) => `{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`;

test.each<[what: string, body: string, code: keyof typeof CATALOGUE, field: string | undefined]>([
  ['broken JSON', '{"name":', 'body_not_json', undefined],
  ['no JSON at all', 'name=job', 'body_not_json', undefined],
  ['an array', '[]', 'body_not_json', undefined],
  ['a bare value', '5', 'body_not_json', undefined],
  ['nothing', '', 'body_not_json', undefined],
  ['no name', '{}', 'field_missing', 'name'],
  ['an unknown field', job('"colour":"red"'), 'field_unknown', 'colour'],
  ['an unknown nested field', job('"retry":{"tries":3}'), 'field_unknown', 'retry.tries'],
  ['a read-only field', job('"status":"PAUSED"'), 'field_unknown', 'status'],
  ['two spellings of a field', job('"max_retries":1,"maxRetries":1'), 'field_conflict', 'max_retries'],
  [
    'contradicting schedules',
    job('"cron_expression":"* * * * *","interval":"1h"'),
    'field_conflict',
    'cron_expression',
  ],
  ['an impossible date', job('"schedule_time":"2030-02-30T00:00:00Z"'), 'time_invalid', 'schedule_time'],
  ['a date without offset', job('"schedule_time":"2030-02-03T00:00:00"'), 'time_invalid', 'schedule_time'],
  ['a date before 1970', job('"schedule_time":"1960-01-01T00:00:00Z"'), 'time_out_of_range', 'schedule_time'],
  ['a date after 2100', job('"schedule_time":4200000000'), 'time_out_of_range', 'schedule_time'],
  ['a wrong zone', job('"frequency":"daily","time_zone":"Mars/Olympus"'), 'zone_unknown', 'time_zone'],
  ['a broken cron', job('"cron_expression":"61 * * * *"'), 'cron_invalid', 'cron_expression'],
  ['a cron that never fires', job('"cron_expression":"0 0 30 2 *"'), 'cron_never_fires', 'cron_expression'],
  ['an endless cron', job(`"cron_expression":"${'* '.repeat(50_000)}"`), 'cron_invalid', 'cron_expression'],
  ['a schedule that has ended', job('"frequency":"daily","end_at":1000'), 'schedule_never_fires', 'end_at'],
  ['an interval of nothing', job('"interval":0'), 'interval_invalid', 'interval'],
  ['a huge interval', job('"interval":1e300'), 'interval_invalid', 'interval'],
  ['an unknown frequency', job('"frequency":"sometimes"'), 'interval_invalid', 'frequency'],
  ['an unknown type', job('"schedule_type":"SOMETIMES"'), 'field_invalid', 'schedule_type'],
  ['a huge number', job('"max_retries":1e308'), 'field_invalid', 'max_retries'],
  ['an infinite number', job('"max_retries":1e999'), 'field_invalid', 'max_retries'],
  ['a number as text', job('"max_retries":"3"'), 'field_invalid', 'max_retries'],
  ['a negative timeout', job('"timeout_seconds":-1'), 'field_invalid', 'timeout_seconds'],
  [
    'a number that would be rounded',
    job('"payload":{"id":12345678901234567890}'),
    'field_invalid',
    'payload.id',
  ],
  ['an infinite number inside', job('"payload":{"n":-1e999}'), 'field_invalid', 'payload.n'],
  ['a payload that is no object', job('"payload":"text"'), 'field_invalid', 'payload'],
  [
    'a payload past its limit',
    job(`"payload":{"a":"${'é'.repeat(140_000)}"}`),
    'payload_too_large',
    'payload',
  ],
  ['a payload too deep', job(`"payload":${deep(70)}`), 'field_invalid', 'payload'],
  ['a payload absurdly deep', job(`"payload":${deep(200_000)}`), 'body_too_deep', undefined],
  ['__proto__ as a field', '{"name":"job","__proto__":{"admin":true}}', 'field_unknown', '__proto__'],
  ['__proto__ inside', job('"payload":{"x":{"__proto__":{"admin":true}}}'), 'field_invalid', 'payload.x'],
  ['constructor as a field', job('"constructor":{"prototype":{}}'), 'field_unknown', 'constructor'],
  ['NUL in a name', '{"name":"a\\u0000b"}', 'field_invalid', 'name'],
  ['NUL in a payload', job('"payload":{"a":"\\u0000"}'), 'field_invalid', 'payload.a'],
  ['NUL in a user id', job('"user_id":"\\u0000"'), 'field_invalid', 'user_id'],
  ['NUL in a cron', job('"cron_expression":"* * * * *\\u0000"'), 'cron_invalid', 'cron_expression'],
  ['NUL in a zone', job('"frequency":"daily","time_zone":"UTC\\u0000"'), 'zone_unknown', 'time_zone'],
  ['a lone surrogate in a name', '{"name":"\\ud83d"}', 'field_invalid', 'name'],
  ['a lone surrogate in a payload', job('"payload":{"a":["\\udc00"]}'), 'field_invalid', 'payload.a[0]'],
  ['a name that is too long', `{"name":"${'x'.repeat(201)}"}`, 'field_invalid', 'name'],
  ['a handler with a space', job('"handler":"rm -rf"'), 'field_invalid', 'handler'],
])('%s is refused with a code, the field and a way out', async (_what, body, code, field) => {
  const answer = await gateway.postText('/api/jobs', body);
  expect(answer.body).toEqual({
    type: `urn:carillon:error:${code}`,
    title: expect.stringMatching(/^[A-Z][a-z ]+$/),
    status: CATALOGUE[code].status,
    code,
    ...(field !== undefined && { field }),
    detail: expect.stringMatching(/\.$/),
    fix: CATALOGUE[code].fix,
    request_id: answer.headers['x-request-id'],
  });
  expect(answer.status).toBe(CATALOGUE[code].status);
  expect(answer.status).toBeLessThan(500);
  expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/);
  expect(await gateway.pending()).toEqual([]);
  expect(gateway.errors).toEqual([]);
});

describe('names', () => {
  /** Those that nobody sees, and that change the order in which others are read, could make one name look like another. */
  const unseen = ['\u202a', '\u202e', '\u2066', '\u2069', '\u200b', '\u2060', '\ufeff'].map(
    (c) => `ada${c}bob`,
  );
  const names = ['ada\u001b[2Jbob', 'two\nlines', 'a\u007f', '\t', ' ', ...unseen];

  test.each(['\u200c', '\u200d', '\u200e', '\u200f'])(
    'of jobs hold what some scripts need: %j',
    async (character) => {
      const { status } = await gateway.post('/api/jobs', { name: `a${character}b`, handler: 'echo' });
      expect(status).toBe(201);
    },
  );

  test.each(names)('of jobs, namespaces, users, keys and people to show are refused: %j', async (name) => {
    const grant = { namespace: '*', role: 'viewer' };
    const user = (await gateway.post('/api/users', { name: 'ada' })).body;
    const key = (await gateway.post('/api/keys', { name: 'bot', ...grant })).body;
    const patch = (path: string, body: object) => gateway.ask('PATCH', path, { payload: body });
    for (const { status, body } of [
      await gateway.post('/api/jobs', { name, handler: 'echo' }),
      await gateway.post('/api/namespaces', { name }),
      await gateway.post('/api/users', { name }),
      await gateway.post('/api/keys', { name, ...grant }),
      await patch(`/api/keys/${key.key_id}`, { name }),
    ]) {
      expect({ status, ...body }).toMatchObject({ status: 400, code: 'field_invalid', field: 'name' });
      expect(body.detail).toMatch(/^name (holds a control character|is empty)/);
    }
    if (name.trim() === '') return;
    expect((await patch(`/api/users/${user.user_id}`, { display_name: name })).body).toMatchObject({
      code: 'field_invalid',
      field: 'display_name',
    });
  });
});

describe('bodies', () => {
  test('over the limit are refused', async () => {
    const answer = await gateway.postText('/api/jobs', `{"name":"${'x'.repeat(1024 * 1024)}"}`);
    expect(answer).toMatchObject({ status: 413, body: { code: 'body_too_large' } });
    expect(answer.body.detail).toMatch(/1024 KiB.*body_limit_kb/);
  });

  test('of another type are refused, unless they are empty', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'nonsense']) {
      const answer = await gateway.postText('/api/jobs', 'name=job', type);
      expect(answer).toMatchObject({ status: 415, body: { code: 'content_type_unsupported' } });
    }
    const jobId = await gateway.createdId({ name: 'a', frequency: 'daily' });
    const empty = await gateway.postText(`/api/jobs/${jobId}/pause`, '', 'application/x-www-form-urlencoded');
    expect(empty.status).toBe(200);
    expect((await gateway.postText(`/api/jobs/${jobId}/resume`, '')).status).toBe(200);
    const merge = { payload: '{"name":"b"}', headers: { 'content-type': 'application/merge-patch+json' } };
    expect((await gateway.ask('PATCH', `/api/jobs/${jobId}`, merge)).status).toBe(200);
  });

  test('with broken UTF-8 are refused, not repaired', async () => {
    const bytes = Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]);
    expect(await gateway.postText('/api/jobs', bytes)).toMatchObject({
      status: 400,
      body: { code: 'body_not_json' },
    });
  });

  test('where none belongs are refused', async () => {
    const jobId = await gateway.createdId({ name: 'a', frequency: 'daily' });
    const answer = await gateway.post(`/api/jobs/${jobId}/runNow`, { payload: { x: 1 } });
    expect(answer).toMatchObject({ status: 400, body: { code: 'field_unknown' } });
  });

  test('of null are refused, also where a body may be left out', async () => {
    const jobId = await gateway.createdId({ name: 'a', frequency: 'daily' });
    const refused = { status: 400, body: { code: 'body_not_json' } };
    expect(await gateway.postText(`/api/jobs/${jobId}/runNow`, 'null')).toMatchObject(refused);
    expect(await gateway.postText(`/api/runs/${jobId}/rerun`, 'null')).toMatchObject(refused);
    const removal = { payload: 'null', headers: { 'content-type': 'application/json' } };
    expect(await gateway.ask('DELETE', `/api/users/${jobId}`, removal)).toMatchObject(refused);
    expect((await gateway.postText(`/api/jobs/${jobId}/runNow`, '')).status).toBe(202);
  });
});

describe('paths and queries', () => {
  test.each([
    ['/api/nothing', 'route_not_found'],
    ['/nothing', 'route_not_found'],
    ['/api/jobs/42', 'job_not_found'],
    ['/api/jobs/%00', 'job_not_found'],
    ['/api/jobs/%zz', 'route_not_found'],
    [`/api/jobs/${'x'.repeat(500)}`, 'route_not_found'],
    ['/api/runs/not-a-run', 'run_not_found'],
    ['/api/jobs/00000000-0000-7000-8000-000000000000', 'job_not_found'],
    ['/api/jobs/00000000-0000-7000-8000-000000000000/runs', 'job_not_found'],
    ['/api/jobs/00000000-0000-7000-8000-000000000000/status', 'job_not_found'],
  ])('%s is not found', async (url, code) => {
    expect(await gateway.ask('GET', url)).toMatchObject({
      status: 404,
      body: { code, request_id: expect.any(String) },
    });
  });

  test.each([
    ['/api/jobs?limit=1001', 'field_invalid', 'limit'],
    ['/api/jobs?page=0', 'field_invalid', 'page'],
    ['/api/jobs?user_id=%00', 'field_invalid', 'user_id'],
    ['/api/jobs?status=a&status=b', 'field_invalid', 'status'],
    ['/api/jobs?__proto__=1', 'field_unknown', '__proto__'],
    ['/api/jobs?sort=status', 'field_invalid', 'sort'],
    ['/api/jobs?page=2&after=01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f', 'field_invalid', 'page'],
    ['/api/jobs?page=200&limit=100', 'field_invalid', 'page'],
    ['/api/jobs?label=team', 'field_invalid', 'label'],
    ['/api/jobs?user_id=me', 'field_invalid', 'user_id'],
    ['/api/jobs?created_after=yesterday', 'time_invalid', 'created_after'],
    ['/api/jobs/upcoming?within=8d', 'field_invalid', 'within'],
    ['/api/dead-letters?before=yesterday', 'field_invalid', 'before'],
    ['/api/job/executions?worker_id=%00', 'field_invalid', 'worker_id'],
  ])('%s is refused', async (url, code, field) => {
    expect(await gateway.ask('GET', url)).toMatchObject({ status: 400, body: { code, field } });
  });
});

describe('the key', () => {
  test.each([
    ['none', undefined],
    ['another', 'Bearer wrong'],
    ['a longer one', `Bearer ${KEY}x`],
    ['another scheme', `Basic ${KEY}`],
    ['no key after the scheme', 'Bearer '],
  ])('with %s nobody gets in', async (_what, authorization) => {
    const headers = authorization === undefined ? {} : { authorization };
    for (const url of ['/api/jobs', '/%61pi/jobs', '/api/jobs/', '/api/nothing']) {
      const response = await gateway.app.inject({ url, headers });
      expect(response.statusCode, url).toBe(401);
      expect(response.headers['www-authenticate']).toBe('Bearer realm="carillon"');
      expect(response.json()).toMatchObject({ code: 'unauthorized' });
    }
  });

  test('is asked for before the body is read', async () => {
    const response = await gateway.app.inject({ method: 'POST', url: '/api/jobs', payload: 'broken' });
    expect(response.statusCode).toBe(401);
  });

  test('must not be empty', () => {
    expect(() => new GatewayFixture({ authenticate: { adminKey: '' } })).toThrow('empty admin key');
  });
});

describe('request ids', () => {
  test('are taken from the caller when harmless, and made otherwise', async () => {
    const given = await gateway.ask('GET', '/api/jobs', { headers: { 'x-request-id': 'abc-1' } });
    expect(given.headers['x-request-id']).toBe('abc-1');
    const odd = await gateway.ask('GET', '/api/jobs/1', { headers: { 'x-request-id': 'a b"c' } });
    expect(odd.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(odd.body.request_id).toBe(odd.headers['x-request-id']);
  });
});

describe('faults', () => {
  test('the unknown is logged whole and answered without a word of it', async () => {
    gateway.storage.jobs.insert = async () => {
      throw new Error('relation "jobs" does not exist at 10.0.0.7');
    };
    const answer = await gateway.post('/api/jobs', { name: 'a' });
    expect(answer).toMatchObject({ status: 500, body: { code: 'internal' } });
    expect(JSON.stringify(answer.body)).not.toContain('relation');
    expect(gateway.errors).toMatchObject([
      { facts: { requestId: answer.body.request_id, err: expect.any(Error) } },
    ]);
  });

  test('a text that the database cannot hold is refused, and told without a stack', async () => {
    gateway.storage.jobs.getForChange = () => Promise.reject(new TextUnstorable('invalid byte sequence'));
    const answer = await gateway.ask('GET', '/api/jobs/00000000-0000-7000-8000-000000000000');
    expect(answer).toMatchObject({ status: 400, body: { code: 'field_invalid' } });
    expect(gateway.errors).toEqual([
      {
        facts: { requestId: answer.body.request_id, reason: 'invalid byte sequence' },
        message: 'a request could not be served',
      },
    ]);
  });

  test.each([
    ['is away', new StorageUnavailable('connect ECONNREFUSED 10.0.0.7:5432')],
    ['takes too long', new StorageTimeout('canceling statement due to lock timeout at 10.0.0.7')],
  ])('a storage that %s is worth another try', async (_, error) => {
    gateway.storage.jobs.getForChange = () => Promise.reject(error);
    const answer = await gateway.ask('GET', '/api/jobs/00000000-0000-7000-8000-000000000000');
    expect(answer).toMatchObject({ status: 503, body: { code: 'storage_unavailable' } });
    expect(answer.headers['retry-after']).toBe('2');
    expect(JSON.stringify(answer.body)).not.toContain('10.0.0.7');
  });
});

describe('health', () => {
  test('needs no key and tells why it is not ready', async () => {
    gateway = new GatewayFixture({
      readiness: async () => ({ ready: false, reasons: ['no shards owned yet'] }),
    });
    expect((await gateway.app.inject('/health/live')).json()).toEqual({ status: 'live' });
    const response = await gateway.app.inject('/health/ready');
    expect(response.statusCode).toBe(503);
    expect(response.json()).toEqual({ status: 'not_ready', reasons: ['no shards owned yet'] });
    expect((await new GatewayFixture().app.inject('/health/ready')).statusCode).toBe(200);
  });

  test('a check that fails means not ready', async () => {
    gateway = new GatewayFixture({ readiness: () => Promise.reject(new Error('secret')) });
    const response = await gateway.app.inject('/health/ready');
    expect(response.statusCode).toBe(503);
    expect(response.body).not.toContain('secret');
  });
});
