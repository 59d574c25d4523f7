/** Jobs by their keys, over REST. */
import { beforeEach, expect, test } from 'vitest';
import { GatewayFixture } from './gateway.fixture.ts';

let gateway: GatewayFixture;
beforeEach(() => {
  gateway = new GatewayFixture();
});

const put = (key: string, payload: object, query = '') =>
  gateway.ask('PUT', `/api/jobs/by-key/${key}${query}`, { payload });

test('a job is created, left alone, replaced, and read by its key', async () => {
  const created = await put('nightly', { interval: '1d' });
  expect(created).toMatchObject({ status: 201, body: { outcome: 'created', key: 'nightly', changes: [] } });
  expect(created.headers).toMatchObject({ etag: '"1"', location: `/api/jobs/${created.body.job_id}` });
  expect(await put('nightly', { interval: '1d', key: 'nightly' })).toMatchObject({
    status: 200,
    body: { outcome: 'unchanged', version: 1 },
  });
  const updated = await put('nightly', { interval: '1d', priority: 'high', max_retries: 1 });
  expect(updated).toMatchObject({ status: 200, headers: { etag: '"2"' }, body: { outcome: 'updated' } });
  expect(updated.body.changes).toEqual([
    { field: 'priority', before: 'medium', after: 'high' },
    { field: 'max_retries', before: 3, after: 1 },
  ]);
  const read = await gateway.ask('GET', '/api/jobs/by-key/nightly');
  expect(read).toMatchObject({ status: 200, headers: { etag: '"2"' } });
  expect(read.body).toMatchObject({ job_id: created.body.job_id, key: 'nightly', priority: 'high' });
  expect((await gateway.ask('GET', '/api/jobs/by-key/other')).status).toBe(404);
});

test('a dry run tells what would be; a job that is not there has no id', async () => {
  const planned = await put('nightly', { interval: '1d' }, '?dry_run=true');
  expect(planned).toMatchObject({ status: 200, body: { outcome: 'created', dry_run: true, job_id: null } });
  expect(planned.headers.location).toBeUndefined();
  expect((await gateway.ask('GET', '/api/jobs/by-key/nightly')).status).toBe(404);
});

test('a namespace is said in the query or in the body, and a key once', async () => {
  await gateway.operations.createNamespace({ name: 'billing' });
  const job = { interval: '1d' };
  expect((await put('a', job, '?namespace=billing')).body).toMatchObject({ namespace: 'billing' });
  expect((await put('a', { ...job, namespace: 'billing' })).body).toMatchObject({ outcome: 'unchanged' });
  expect((await put('a', job)).body).toMatchObject({ outcome: 'created', namespace: 'default' });
  expect((await gateway.ask('GET', '/api/jobs/by-key/a?namespace=billing')).body.namespace).toBe('billing');
  const conflict = { status: 400, body: { code: 'field_conflict' } };
  expect(await put('a', { ...job, namespace: 'default' }, '?namespace=billing')).toMatchObject(conflict);
  expect(await put('a', { ...job, key: 'b' })).toMatchObject(conflict);
});

test('a key is taken in POST too: 409 names the job that has it', async () => {
  const { body } = await put('taken', { interval: '1d' });
  const refused = await gateway.ask('POST', '/api/jobs', { payload: { key: 'taken' } });
  expect(refused).toMatchObject({ status: 409, body: { code: 'job_key_taken', field: 'key' } });
  expect(refused.body.detail).toContain(body.job_id);
});

test.each(['a%2Fb', '..%2fx', '%20', '.x', 'x'.repeat(201)])('%s is no key', async (key) => {
  expect([400, 404, 414]).toContain((await put(key, { interval: '1d' })).status);
  expect([400, 404, 414]).toContain((await gateway.ask('GET', `/api/jobs/by-key/${key}`)).status);
});

test('lists are narrowed by key, by its beginning and by name', async () => {
  for (const key of ['team.a', 'team.b', 'other']) await put(key, { interval: '1d', name: `of ${key}` });
  const keysOf = async (query: string) =>
    (await gateway.ask('GET', `/api/jobs?${query}`)).body.map((job: { key: string }) => job.key);
  expect(await keysOf('key=team.a')).toEqual(['team.a']);
  expect(await keysOf('key_prefix=team.')).toEqual(['team.b', 'team.a']);
  expect(await keysOf('key_prefix=team.&sort=name')).toEqual(['team.a', 'team.b']);
  expect(await keysOf('name=of%20other')).toEqual(['other']);
});
