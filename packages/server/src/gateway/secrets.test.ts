/** Secrets over REST: what is set and shown, who may name them, and what is refused. */
import { beforeEach, describe, expect, test } from 'vitest';
import { GatewayFixture } from './gateway.fixture.ts';

const VALUE = 'correct-horse-battery';
let gateway: GatewayFixture;

beforeEach(() => {
  gateway = new GatewayFixture();
});

const set = (name: string, value: unknown = VALUE, query = '') =>
  gateway.ask('PUT', `/api/secrets/${name}${query}`, { payload: { value } });
const job = (payload: object, more: object = {}) => ({ name: 'j', handler: 'default', payload, ...more });

describe('a secret', () => {
  test('is set, listed, read and deleted, and no answer holds its value', async () => {
    const made = await set('api.token');
    expect(made).toMatchObject({
      status: 200,
      body: { name: 'api.token', namespace: 'default', version: 1, masked: true, updated_by: 'admin key' },
    });
    const again = await set('api.token', 'another value');
    expect(again.body).toMatchObject({ version: 2, created_at: made.body.created_at });
    expect((await gateway.ask('GET', '/api/secrets')).body).toEqual([again.body]);
    expect((await gateway.ask('GET', '/api/secrets/api.token')).body).toEqual(again.body);
    const audit = await gateway.ask('GET', '/api/audit');
    expect(JSON.stringify([made, again, audit])).not.toMatch(/correct-horse|another value/);
    expect((await gateway.ask('DELETE', '/api/secrets/api.token')).status).toBe(204);
    for (const method of ['GET', 'DELETE'] as const)
      expect(await gateway.ask(method, '/api/secrets/api.token')).toMatchObject({
        status: 404,
        body: { code: 'secret_not_found' },
      });
  });

  test('of less than 8 characters is not masked, and says so', async () => {
    expect((await set('pin', '1234567')).body.masked).toBe(false);
    expect((await set('pin', '12345678')).body.masked).toBe(true);
  });

  test('belongs to a namespace', async () => {
    await gateway.namespace('billing');
    await set('token', VALUE, '?namespace=billing');
    expect((await gateway.ask('GET', '/api/secrets')).body).toEqual([]);
    expect((await gateway.ask('GET', '/api/secrets?namespace=billing')).body).toHaveLength(1);
    expect(await set('token', VALUE, '?namespace=nowhere')).toMatchObject({
      status: 404,
      body: { code: 'namespace_not_found' },
    });
  });

  test.each([
    ['Token', VALUE, 'name'],
    ['.token', VALUE, 'name'],
    ['token-', VALUE, 'name'],
    ['x'.repeat(65), VALUE, 'name'],
    ['token', '', 'value'],
    ['token', 'x'.repeat(65_537), 'value'],
    ['token', 'é'.repeat(32_769), 'value'],
    ['token', 17, 'value'],
    ['token', null, 'value'],
  ])('%s with %j is refused', async (name, value, field) => {
    const refused = await set(name, value);
    expect(refused).toMatchObject({ status: 400, body: { field } });
    if (typeof value === 'string' && value !== '') expect(JSON.stringify(refused.body)).not.toContain(value);
  });

  test('of 64 KiB is taken', async () => {
    expect((await set('token', 'x'.repeat(65_536))).status).toBe(200);
  });
});

describe('a payload', () => {
  test('keeps the reference, in answers and in the audit log', async () => {
    await set('token');
    const payload = { headers: { 'x-token': '{{secrets.token}}' } };
    const { status, body } = await gateway.post('/api/jobs', job(payload));
    expect([status, body.payload]).toEqual([201, payload]);
    const changed = { ...payload, more: 'Bearer {{secrets.token}}' };
    const patched = await gateway.ask('PATCH', `/api/jobs/${body.job_id}`, { payload: { payload: changed } });
    expect([patched.status, patched.body.payload]).toEqual([200, changed]);
    const audit = await gateway.ask('GET', '/api/audit');
    expect(JSON.stringify([body, patched.body, audit.body])).not.toContain(VALUE);
  });

  test('whose secrets have more than 64 KiB together is refused', async () => {
    await set('one', 'x'.repeat(40_000));
    await set('two', 'é'.repeat(12_768));
    await set('three', 'x');
    const payload = { a: '{{secrets.one}}{{secrets.one}}', b: '{{secrets.two}}' };
    expect((await gateway.post('/api/jobs', job(payload))).status).toBe(201);
    const refused = await gateway.post('/api/jobs', job({ ...payload, c: '{{secrets.three}}' }));
    expect(refused).toMatchObject({
      status: 400,
      body: {
        field: 'payload',
        detail: 'The secrets that the payload names have 65537 bytes together, and may have 65536.',
      },
    });
  });

  test('with a secret that is not there is refused, wherever it is submitted', async () => {
    await set('token');
    const unknown = {
      status: 400,
      body: { code: 'secret_unknown', field: 'payload', detail: expect.stringContaining('nothing') },
    };
    const payload = { a: ['{{secrets.token}}', { b: '{{secrets.nothing}}' }] };
    expect(await gateway.post('/api/jobs', job(payload))).toMatchObject(unknown);
    expect(await gateway.ask('PUT', '/api/jobs/by-key/k', { payload: job(payload) })).toMatchObject(unknown);
    const batch = await gateway.post('/api/jobs/batch', { jobs: [job({}), job(payload)] });
    expect(JSON.stringify(batch.body)).toContain('secret_unknown');
    expect(batch.body[0]).toMatchObject({ status: 'submitted' });
    const jobId = await gateway.createdId(job({ a: 1 }));
    const patch = { payload: { payload } };
    expect(await gateway.ask('PATCH', `/api/jobs/${jobId}`, patch)).toMatchObject(unknown);
    expect(await gateway.post(`/api/jobs/${jobId}/runNow`, { input: payload })).toMatchObject(unknown);
    expect(
      (await gateway.post(`/api/jobs/${jobId}/runNow`, { input: { a: '{{secrets.token}}' } })).status,
    ).toBe(202);
  });

  test.each([
    '{{secrets.}}',
    '{{secrets.Token}}',
    '{{secrets.token',
    '{{secrets.token }}',
    '{{secrets.-a}}',
    '{{ secrets.token }}',
  ])('with %s, which names no secret, is refused', async (text) => {
    await set('token');
    expect(await gateway.post('/api/jobs', job({ text }))).toMatchObject({
      status: 400,
      body: { code: 'field_invalid', field: 'payload', detail: expect.stringContaining('{{!secrets.') },
    });
  });

  test('may hold the text itself', async () => {
    expect(
      (await gateway.post('/api/jobs', job({ text: '{{!secrets.anything}} {{!secrets.x }}' }))).status,
    ).toBe(201);
  });

  test('names secrets of the job’s own namespace alone', async () => {
    await gateway.namespace('billing');
    await set('token', VALUE, '?namespace=billing');
    const payload = { a: '{{secrets.token}}' };
    expect(await gateway.post('/api/jobs', job(payload))).toMatchObject({ status: 400 });
    expect((await gateway.post('/api/jobs', job(payload, { namespace: 'billing' }))).status).toBe(201);
  });
});

describe('who may', () => {
  const payload = { a: '{{secrets.token}}' };

  test('a viewer and an operator see no secrets; an editor names them; an administrator sets them', async () => {
    await set('token');
    const status = async (role: 'viewer' | 'operator' | 'editor' | 'admin') => {
      const key = await gateway.keyWith({ role });
      const ask = async (method: 'GET' | 'PUT', url: string, given = {}) =>
        (await gateway.askWith(key, method, url, given)).status;
      return [
        await ask('GET', '/api/secrets'),
        await ask('GET', '/api/secrets/token'),
        await ask('PUT', '/api/secrets/token', { payload: { value: VALUE } }),
      ];
    };
    expect(await status('viewer')).toEqual([403, 403, 403]);
    expect(await status('operator')).toEqual([403, 403, 403]);
    expect(await status('editor')).toEqual([200, 200, 403]);
    expect(await status('admin')).toEqual([200, 200, 200]);
  });

  test('who may not read secrets names none, and gives no input to a job that does', async () => {
    await set('token');
    const jobId = await gateway.createdId(job(payload));
    const scopes = ['jobs.create', 'jobs.update', 'jobs.read', 'jobs.run', 'payloads.read'] as const;
    const key = await gateway.keyWith({ role: 'editor' }, { scopes });
    const refused = { status: 403, body: { detail: expect.stringContaining('secrets.read') } };
    const ask = (method: 'POST' | 'PATCH', url: string, given: object) =>
      gateway.askWith(key, method, url, { payload: given });
    expect(await ask('POST', '/api/jobs', job(payload))).toMatchObject(refused);
    expect(await ask('PATCH', `/api/jobs/${jobId}`, { payload: { ...payload, b: 1 } })).toMatchObject(
      refused,
    );
    expect(await ask('POST', `/api/jobs/${jobId}/runNow`, { input: { b: 1 } })).toMatchObject(refused);
    expect((await ask('PATCH', `/api/jobs/${jobId}`, { name: 'renamed' })).status).toBe(200);
    expect((await ask('POST', `/api/jobs/${jobId}/runNow`, {})).status).toBe(202);
  });

  test('an editor of another namespace cannot use a secret from there', async () => {
    await set('token');
    const key = await gateway.keyWith({ role: 'admin', namespace: 'billing' });
    for (const url of ['/api/secrets?namespace=default', '/api/secrets/token?namespace=default'])
      expect(await gateway.askWith(key, 'GET', url)).toMatchObject({ status: 404 });
    const mine = { payload: job(payload, { namespace: 'billing' }) };
    expect(await gateway.askWith(key, 'POST', '/api/jobs', mine)).toMatchObject({
      status: 400,
      body: { code: 'secret_unknown' },
    });
    const theirs = { payload: job(payload, { namespace: 'default' }) };
    expect((await gateway.askWith(key, 'POST', '/api/jobs', theirs)).status).toBe(403);
  });
});
