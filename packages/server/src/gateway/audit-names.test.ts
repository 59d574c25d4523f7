/** What the audit log says of every kind of change is in snake_case, as answers are. */
import { afterAll, expect, it } from 'vitest';
import { GatewayFixture, PASSWORD } from './gateway.fixture.ts';

const gateway = new GatewayFixture();
afterAll(() => gateway.app.close());

const ACTIONS = [
  ...[
    'jobs.create',
    'jobs.update',
    'jobs.restore',
    'jobs.pause',
    'jobs.resume',
    'jobs.skip',
    'jobs.unskip',
    'jobs.cancel',
    'jobs.delete',
    'jobs.run',
  ],
  ...['runs.cancel', 'runs.rerun', 'dead_letters.redrive'],
  ...['namespaces.create', 'namespaces.update', 'namespaces.delete'],
  ...['users.create', 'users.update', 'users.grants', 'users.password', 'users.delete'],
  ...['keys.create', 'keys.update', 'keys.rotate', 'keys.revoke'],
  ...['signing_keys.create', 'signing_keys.delete', 'secrets.set', 'secrets.delete'],
  ...['session.sign_in', 'session.refused', 'session.locked', 'session.revoke', 'session.sign_out'],
];

const ok = async (method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, payload?: object) => {
  const { status, body } = await gateway.ask(method, `/api${path}`, payload && { payload });
  expect(status, `${method} ${path} ${JSON.stringify(body)}`).toBeLessThan(300);
  return body;
};

async function changeJobs(): Promise<void> {
  await ok('POST', '/jobs', { name: 'dies', handler: 'default' });
  const batch = await gateway.claimDue();
  await gateway.settle(batch, { status: 'FAILED', next: { kind: 'dead', reason: 'retries_exhausted' } });
  await ok('POST', `/dead-letters/${batch.runs[0]!.runId}/redrive`);
  const definition = { name: 'x', handler: 'default', interval: '1h', max_retries: 0 };
  const { job_id: id } = await ok('POST', '/jobs', definition);
  await ok('PATCH', `/jobs/${id}`, {
    ...{ timeout_seconds: 5, start_timeout_seconds: 60, spread_seconds: 2, max_concurrency: 2, user_id: 'u' },
    ...{ key: 'a-key', labels: { myTeam: 'Ops' }, resources: { gpuMemory: 2 }, priority: 'high' },
    ...{ payload: { myField: 1 }, retry: { strategy: 'fixed', delay_seconds: 2, max_delay_seconds: 9 } },
    ...{ daylight_saving: { gap: 'skip' }, misfire: { policy: 'all', window_seconds: 60, max_runs: 3 } },
  });
  await ok('PATCH', `/jobs/${id}`, {
    cron_expression: '0 9 * * *',
    timezone: 'Europe/Paris',
    end_at: '2031-01-01T00:00:00Z',
  });
  await ok('POST', `/jobs/${id}/restore`, { version: 1 });
  await ok('POST', `/jobs/${id}/restore`, { version: 3 });
  const { next_run_at: at } = await ok('POST', `/jobs/${id}/skip`, { at: '2030-06-01T07:00:00Z' });
  expect(at).not.toBeNull();
  await ok('POST', `/jobs/${id}/unskip`, { at: '2030-06-01T07:00:00Z' });
  await ok('POST', `/jobs/${id}/pause`);
  await ok('POST', `/jobs/${id}/resume`);
  const { run_id: first } = await ok('POST', `/jobs/${id}/runNow`, { reason: 'why', input: { myField: 2 } });
  await ok('POST', `/runs/${first}/cancel`);
  await ok('POST', `/runs/${first}/rerun`, {});
  await ok('POST', `/jobs/${id}/cancel`);
  await ok('DELETE', `/jobs/${id}?purge=true`);
}

async function changeAccounts(): Promise<void> {
  await ok('POST', '/namespaces', { name: 'ops' });
  await ok('PATCH', '/namespaces/ops', { description: 'theirs' });
  const grants = [{ namespace: 'ops', role: 'editor', own_only: true }];
  const user = await ok('POST', '/users', { name: 'bob', password: PASSWORD, grants });
  const path = `/users/${user.user_id}`;
  await ok('PATCH', path, { display_name: 'Bob B.' });
  await ok('PUT', `${path}/grants`, { grants: [] });
  await ok('POST', `${path}/password`, { password: PASSWORD, end_keys: true });
  const key = await ok('POST', '/keys', { name: 'k', grants, user_id: user.user_id, scopes: ['jobs.read'] });
  await ok('PATCH', `/keys/${key.key_id}`, { name: 'key' });
  await ok('POST', `/keys/${key.key_id}/rotate`, { expires_at: '2031-01-01T00:00:00Z' });
  await ok('DELETE', `/keys/${key.key_id}`);
  await ok('POST', '/namespaces/ops/signing-keys', {});
  const next = await ok('POST', '/namespaces/ops/signing-keys', { overlap_seconds: 60 });
  await ok('DELETE', `/signing-keys/${next.signing_key_id}`);
  await ok('PUT', '/secrets/api.token?namespace=ops', { value: 'a value of some length' });
  await ok('DELETE', '/secrets/api.token?namespace=ops');
  expect((await gateway.post('/api/session', { name: 'bob', password: 'not his phrase' })).status).toBe(401);
  const session = await gateway.signIn('bob');
  await gateway.askAs(session, 'DELETE', '/api/session');
  await gateway.signIn('bob');
  const { body: sessions } = await gateway.ask('GET', '/api/sessions');
  await ok('DELETE', `/sessions/${sessions[0].session_id}`);
  for (let i = 0; i < 6; i += 1)
    await gateway.post('/api/session', { name: 'bob', password: 'not his phrase' });
  await ok('DELETE', path);
  await ok('DELETE', '/namespaces/ops');
}

/** Names of all members, except of what users name: the payload, labels, resources. */
function namesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(namesIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    ['payload', 'labels', 'resources'].includes(name) ? [name] : [name, ...namesIn(inner)],
  );
}

it('every audited action writes what changed in snake_case', async () => {
  await changeJobs();
  await changeAccounts();
  const { body: entries } = await gateway.ask('GET', '/api/audit?limit=1000');
  expect(new Set(entries.map(({ action }: { action: string }) => action))).toEqual(new Set(ACTIONS));
  const names = new Set<string>(
    entries.flatMap(({ before, after }: Record<string, unknown>) => namesIn([before, after])),
  );
  expect([...names].filter((name) => !/^[a-z0-9]+(_[a-z0-9]+)*$/.test(name))).toEqual([]);
  expect([...names].filter((name) => name.endsWith('_ms'))).toEqual([]);
});

it('instants and durations are written as answers have them, and names of users stay', async () => {
  const { body: updates } = await gateway.ask('GET', '/api/audit?action=jobs.update&limit=1000');
  const first = updates.at(-1).after;
  expect(first).toMatchObject({
    ...{ timeout_seconds: 5, start_timeout_seconds: 60, max_concurrency: 2, user_id: 'u', key: 'a-key' },
    ...{ labels: { myTeam: 'Ops' }, resources: { gpuMemory: 2 } },
  });
  expect(updates[0].after.schedule).toMatchObject({ end_at: '2031-01-01T00:00:00.000Z' });
  const { body: signing } = await gateway.ask('GET', '/api/audit?action=signing_keys.create');
  expect(signing[0].after).toEqual({
    starts_at: new Date(gateway.clock.now()).toISOString(),
    others_end_at: new Date(gateway.clock.now() + 60_000).toISOString(),
  });
});
