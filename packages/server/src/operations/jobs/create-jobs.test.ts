import { type PendingRun, Refusal } from '@carillon/domain';
import { beforeEach, expect, test } from 'vitest';
import { OperationsFixture, turnsDuring } from '../operations.fixture.ts';

let fixture: OperationsFixture;
beforeEach(() => {
  fixture = new OperationsFixture();
});

test('an immediate job is pending now, once', async () => {
  const { operations, clock } = fixture;
  const { jobId, created } = await operations.createJob({ name: 'now' });
  expect(created).toBe(true);
  const rows = await fixture.pendingOf(jobId);
  expect(rows).toMatchObject([
    { state: 'open', fireAtMs: clock.now(), nominalAtMs: clock.now(), attempt: 1 },
  ]);
  expect(await operations.getJob(jobId)).toMatchObject({ job: { version: 1, status: 'SCHEDULED' } });
});

test('a future job is pending at its instant, and one in the past is due at once without jumping the queue', async () => {
  const { operations, clock } = fixture;
  const future = await operations.createJob({ name: 'later', scheduleTime: '2030-01-02T00:00:00Z' });
  expect(await fixture.pendingOf(future.jobId)).toMatchObject([{ fireAtMs: Date.UTC(2030, 0, 2) }]);
  const past = await operations.createJob({ name: 'earlier', scheduleTime: '1999-01-01T00:00:00Z' });
  expect(await fixture.pendingOf(past.jobId)).toMatchObject([
    { fireAtMs: clock.now(), nominalAtMs: clock.now() },
  ]);
});

test('a recurring job gets a cursor at its first occurrence after now, or from start_at on', async () => {
  const { operations } = fixture;
  const daily = await operations.createJob({ name: 'daily', cronExpression: '0 9 * * *' });
  const nineMs = Date.UTC(2030, 0, 2, 9);
  expect(await fixture.pendingOf(daily.jobId)).toMatchObject([
    { schedule: { type: 'CRON' }, nominalAtMs: nineMs, fireAtMs: nineMs, jobVersion: 1 },
  ]);
  const startAt = '2030-06-01T09:00:00Z';
  const later = await operations.createJob({ name: 'from june', cronExpression: '0 9 * * *', startAt });
  expect(await fixture.pendingOf(later.jobId)).toMatchObject([{ nominalAtMs: Date.UTC(2030, 5, 1, 9) }]);
});

test('a spread job fires after its nominal instant, and before the next', async () => {
  const { jobId } = await fixture.operations.createJob({ name: 'herd', interval: '1h', spreadSeconds: 600 });
  const [row] = await fixture.pendingOf(jobId);
  const delayMs = row!.fireAtMs - row!.nominalAtMs;
  expect(delayMs).toBeGreaterThan(0);
  expect(delayMs).toBeLessThan(600_000);
});

test('the signal of a one-off names the lane that its run was stored in, and its instant', async () => {
  const input = {
    name: 'once',
    priority: 'high',
    userId: 'u1',
    scheduleTime: '2030-01-02T00:00:00Z',
  } as const;
  const { jobId } = await fixture.operations.createJob(input);
  const [run] = await fixture.pendingOf(jobId);
  const [{ laneAtMs, runId, ...lane } = {}] = await fixture.storage.leases.lanes({
    after: undefined,
    limit: 2,
  });
  expect(runId).toBe((run as PendingRun).runId);
  expect(laneAtMs).toBe(run!.fireAtMs);
  expect(fixture.sent).toEqual([
    { name: 'runs-open', signal: { lanes: [{ ...lane, atMs: run!.fireAtMs }] } },
    { name: 'events-recorded', signal: {} },
  ]);
});

test('the signal of a recurring job names the shard and the instant that its cursor was stored with', async () => {
  const { jobId } = await fixture.operations.createJob({ name: 'often', interval: '1m', spreadSeconds: 10 });
  const cursor = await fixture.cursorOf(jobId);
  const { shard, fireAtMs: atMs } = cursor!;
  expect(fixture.sent).toEqual([
    { name: 'shards-due', signal: { shards: [{ shard, atMs }] } },
    { name: 'events-recorded', signal: {} },
  ]);
});

test('a repeated request with the same key finds the first job, whatever the order of its fields', async () => {
  const { operations, sent } = fixture;
  const options = { idempotencyKey: 'key-1' };
  const first = await operations.createJob({ name: 'a', payload: { x: 1, y: { b: 1, a: 2 } } }, options);
  const again = await operations.createJob({ payload: { y: { a: 2, b: 1 }, x: 1 }, name: 'a' }, options);
  expect(again).toMatchObject({ jobId: first.jobId, created: false, details: { job: first.details.job } });
  expect(sent.map(({ name }) => name)).toEqual(['runs-open', 'events-recorded']);
  expect(await fixture.pending()).toHaveLength(1);
});

test('the same key with another request is refused', async () => {
  const { operations } = fixture;
  await operations.createJob({ name: 'a' }, { idempotencyKey: 'key-1' });
  const other = operations.createJob({ name: 'b' }, { idempotencyKey: 'key-1' });
  await expect(other).rejects.toMatchObject({ code: 'idempotency_key_reused' });
});

test('a batch is answered item by item, and a bad one harms no other', async () => {
  const { operations } = fixture;
  const answers = await operations.createJobs([
    { name: 'good' },
    { name: 'bad', cronExpression: '0 0 30 2 *' },
    new Refusal('field_unknown', 'colour', { field: 'colour' }),
    { name: 'daily', frequency: 'daily' },
  ]);
  expect(answers).toMatchObject([
    { created: true },
    { code: 'cron_never_fires' },
    { code: 'field_unknown' },
    { created: true },
  ]);
  expect(await fixture.pending()).toHaveLength(2);
  expect(fixture.sent).toMatchObject([
    { name: 'runs-open', signal: { lanes: [{}] } },
    { name: 'shards-due', signal: { shards: [{}] } },
    { name: 'events-recorded' },
  ]);
});

test('others have their turn during a batch, after every two milliseconds of arithmetic', async () => {
  const batch = Array.from({ length: 100 }, (_, index) => ({
    name: 'rare',
    cronExpression: index % 2 === 0 ? `${index % 60} 2 29 2 5#5` : `${index % 60} 2 30 2 *`,
  }));
  fixture.partMs = 1;
  const turns = await turnsDuring(async () => {
    const answers = await fixture.operations.createJobs(batch);
    expect(answers.filter((answer) => !(answer instanceof Refusal))).toHaveLength(50);
  });
  expect(turns).toBeGreaterThanOrEqual(49);
});

test('a repeated batch finds its jobs again', async () => {
  const batch = () => fixture.operations.createJobs([{ name: 'a' }, { name: 'b' }], { idempotencyKey: 'k' });
  const first = await batch();
  expect(await batch()).toEqual(first.map((answer) => ({ ...answer, created: false })));
});

test('an atomic batch is created whole, or not at all and says what is wrong with which', async () => {
  const { operations } = fixture;
  const bad = operations.createJobs(
    [{ name: 'good' }, { name: 'bad', cronExpression: '0 0 30 2 *' }, new Refusal('field_unknown', 'colour')],
    { atomic: true },
  );
  await expect(bad).rejects.toMatchObject({
    code: 'batch_refused',
    entries: [
      { index: 1, refusal: { code: 'cron_never_fires' } },
      { index: 2, refusal: { code: 'field_unknown' } },
    ],
  });
  expect(await fixture.pending()).toEqual([]);
  expect(fixture.sent).toEqual([]);
  const good = await operations.createJobs([{ name: 'a' }, { name: 'b' }], { atomic: true });
  expect(good).toMatchObject([{ created: true }, { created: true }]);
  expect(fixture.sent).toMatchObject([
    { name: 'runs-open', signal: { lanes: [{}, {}] } },
    { name: 'events-recorded' },
  ]);
});

test('an atomic batch under a key that stood for another one is refused whole; the same one finds its jobs', async () => {
  const batch = (...names: string[]) =>
    fixture.operations.createJobs(
      names.map((name) => ({ name })),
      { idempotencyKey: 'k', atomic: true },
    );
  const first = await batch('a', 'b');
  expect(await batch('a', 'b')).toEqual(first.map((answer) => ({ ...answer, created: false })));
  await expect(batch('a', 'other', 'c')).rejects.toMatchObject({
    code: 'batch_refused',
    entries: [{ index: 1, refusal: { code: 'idempotency_key_reused' } }],
  });
  expect(await fixture.pending()).toHaveLength(2);
});

test('a job is refused whose namespace was removed while this server still believed in it', async () => {
  const { operations, storage } = fixture;
  await operations.createNamespace({ name: 'brief' });
  await operations
    .createJob({ name: 'a', namespace: 'brief' })
    .then(({ jobId }) => storage.jobs.remove(jobId));
  // As another server does it.
  await storage.accounts.removeNamespace('brief');
  const late = operations.createJob({ name: 'b', namespace: 'brief' });
  await expect(late).rejects.toMatchObject({ code: 'namespace_not_found', field: 'namespace' });
  expect(await fixture.pending()).toEqual([]);
});
