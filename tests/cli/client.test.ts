/** The client against a real server: what its types promise is what comes. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Carillon, CarillonError } from '../../packages/client/src/index.ts';
import { eventually } from '../support/eventually.ts';
import { type OneServer, startOneServer } from './one-server.ts';

let one: OneServer;
let carillon: Carillon;
let alive = '';

beforeAll(async () => {
  one = await startOneServer();
  alive = `${one.server.address}/health/live`;
  carillon = new Carillon({ url: one.server.address, key: await one.server.adminKey() });
});

afterAll(() => one?.stop());

test('a job is made once, however often it is sent under one key', async () => {
  const job = { name: 'once', payload: { url: alive } };
  const first = await carillon.jobs.create(job, { idempotencyKey: 'order-17' });
  expect(first.created).toBe(true);
  const again = await carillon.jobs.create(job, { idempotencyKey: 'order-17' });
  expect(again).toMatchObject({ job_id: first.job_id, created: false, changed: false });
});

test('a job is watched until it ends', async () => {
  const { job_id } = await carillon.jobs.create({ name: 'watched', payload: { url: alive } });
  const seen: string[] = [];
  for await (const { status } of carillon.watch(job_id)) seen.push(status);
  expect(seen.at(-1)).toBe('completed');
  const [run] = await carillon.jobs.runs(job_id).toArray();
  expect(run).toMatchObject({ status: 'SUCCESS', attempt_number: 1 });
  expect((await carillon.runs.get(run!.run_id)).attempts).toHaveLength(1);
  expect((await carillon.runs.logs(run!.run_id)).logs.length).toBeGreaterThan(1);
  expect((await carillon.jobs.logs(job_id)).job_id).toBe(job_id);
  const again = await carillon.runs.rerun(run!.run_id, { idempotencyKey: 'again' });
  expect(await carillon.runs.rerun(run!.run_id, { idempotencyKey: 'again' })).toEqual(again);
});

test('many jobs are made at once and read back over all pages', async () => {
  const jobs = Array.from({ length: 25 }, (_, i) => ({
    name: `many ${i}`,
    interval: '1d',
    payload: { url: alive },
    labels: { test: 'many' },
  }));
  const answers = await carillon.jobs.createMany([...jobs, { name: '' }]);
  expect(answers.filter(({ status }) => status === 'submitted')).toHaveLength(25);
  expect(answers.at(-1)).toMatchObject({ status: 'refused', error: { field: 'name' } });
  const names = new Set<string>();
  for await (const job of carillon.jobs.list({ label: 'test:many', limit: 7 })) names.add(job.name);
  expect(names.size).toBe(25);
  const report = await carillon.jobs.bulk({ action: 'cancel', filter: { label: 'test:many' } });
  expect(report).toMatchObject({ matched: 25, changed: 25, next: null });
});

test('all or none of many jobs: what is wrong with one of them is thrown, and nothing is made', async () => {
  const jobs = [{ name: 'whole', schedule_type: 'FUTURE' as const, schedule_time: '2100-01-01T00:00:00Z' }];
  const refused = carillon.jobs.createMany([...jobs, { name: '' }], { atomic: true });
  await expect(refused).rejects.toMatchObject({ code: 'batch_refused' });
  expect((await carillon.jobs.list({ text: 'whole' }).page()).items).toEqual([]);
  expect(await carillon.jobs.createMany(jobs, { atomic: true })).toMatchObject([{ status: 'submitted' }]);
});

test('a job is changed at the version one has seen, and at no other', async () => {
  const { job_id } = await carillon.jobs.create({ name: 'old', interval: '1d', payload: { url: alive } });
  expect(await carillon.jobs.update(job_id, { name: 'new' }, { ifVersion: 1 })).toMatchObject({ version: 2 });
  const stale = carillon.jobs.update(job_id, { name: 'newer' }, { ifVersion: 1 });
  await expect(stale).rejects.toMatchObject({ code: 'version_mismatch', status: 412 });
  expect(await carillon.jobs.pause(job_id)).toMatchObject({ status: 'PAUSED', outcome: 'paused' });
  expect(await carillon.jobs.resume(job_id)).toMatchObject({ status: 'SCHEDULED', outcome: 'resumed' });
  expect(await carillon.jobs.cancel(job_id)).toMatchObject({ status: 'CANCELLED', outcome: 'cancelled' });
  expect(await carillon.jobs.remove(job_id)).toMatchObject({ outcome: 'deleted' });
  await expect(carillon.jobs.get(job_id)).rejects.toBeInstanceOf(CarillonError);
});

test('events are streamed, and taken up after the last one seen', async () => {
  const controller = new AbortController();
  const seen: { id: string; type: string; job: unknown }[] = [];
  const following = (async () => {
    const stream = carillon.events.stream({ type: 'job.created', signal: controller.signal });
    for await (const { id, type, data } of stream) seen.push({ id, type, job: data.job_id });
  })();
  await eventually(
    async () => {
      await carillon.jobs.create({ name: 'streamed', interval: '1d', payload: { url: alive } });
      expect(seen.length).toBeGreaterThanOrEqual(2);
    },
    { withinMs: 60_000 },
  );
  controller.abort();
  await following;
  const [first, second] = seen;
  const after = await carillon.events
    .list({ type: 'job.created', lastEventId: first!.id })
    .toArray({ max: 1 });
  expect(after[0]?.id).toBe(second?.id);
});

test('dead letters are found and sent round again', async () => {
  const { job_id } = await carillon.jobs.create({
    name: 'dead',
    max_retries: 0,
    payload: { url: 'http://127.0.0.1:1/' },
  });
  const letter = await eventually(
    async () => {
      const [found] = await carillon.deadLetters.list({ job_id }).toArray();
      return found ?? expect.fail('not dead yet');
    },
    { withinMs: 60_000 },
  );
  expect(await carillon.deadLetters.get(letter.run_id)).toMatchObject({ job_id, attempts: 1 });
  expect(await carillon.deadLetters.redriveMany({ filter: { job_id }, dry_run: true })).toMatchObject({
    matched: 1,
    redriven: 0,
  });
  expect(await carillon.deadLetters.redrive(letter.run_id)).toMatchObject({ redriven_from: letter.run_id });
});

test('namespaces, users and keys are made, read and removed', async () => {
  await carillon.namespaces.create({ name: 'ops', description: 'Operations' });
  expect(await carillon.namespaces.get('ops')).toMatchObject({ description: 'Operations' });
  const user = await carillon.users.create({
    name: 'grace',
    password: 'a long enough password',
    grants: [{ namespace: 'ops', role: 'editor' }],
  });
  const { key } = await carillon.session.createKeyWithPassword(
    { name: 'grace', password: 'a long enough password' },
    ({ grants }) => ({ name: 'hers', ...grants[0]! }),
  );
  const hers = new Carillon({ url: one.server.address, key: key.key });
  expect(await hers.session.whoami()).toMatchObject({ user_id: user.user_id });
  const { job_id } = await hers.jobs.create({ name: 'hers', interval: '1d', payload: { url: alive } });
  expect(await carillon.jobs.get(job_id)).toMatchObject({ namespace: 'ops', user_id: user.user_id });
  await expect(hers.users.list().page()).rejects.toMatchObject({ code: 'forbidden' });
  await carillon.keys.revoke(key.key_id);
  await expect(hers.jobs.get(job_id)).rejects.toMatchObject({ code: 'unauthorized' });
  await carillon.users.remove(user.user_id);
  await expect(carillon.namespaces.remove('ops')).rejects.toMatchObject({ code: 'namespace_in_use' });
  const [entry] = await carillon.audit.list({ action: 'users.delete', limit: 1 }).toArray({ max: 1 });
  expect(entry?.subject.id).toBe(user.user_id);
});

test('what is asked without storing anything: previews, workers, readiness', async () => {
  const preview = await carillon.schedules.preview({
    cron_expression: '0 9 * * 1-5',
    time_zone: 'Europe/Paris',
    count: 3,
  });
  expect(preview.fires).toHaveLength(3);
  const [worker] = await carillon.workers.list().toArray();
  expect(worker).toMatchObject({ alive: true, handlers: ['http', 'script'] });
  expect(await carillon.workers.get(worker!.worker_id)).toMatchObject({ worker_id: worker!.worker_id });
  expect(await carillon.ready()).toEqual({ ready: true, reasons: [] });
});
