import type { Action, Caller, Grant, JobId, RunId } from '@carillon/domain';
import { SERVER } from '@carillon/domain';
import { beforeEach, describe, expect, test } from 'vitest';
import { OperationsFixture } from '../operations.fixture.ts';
import { operationsAs } from '../operations.ts';
import { idRange } from './search.ts';

let fixture: OperationsFixture;
beforeEach(async () => {
  fixture = new OperationsFixture();
  for (const name of ['team-a', 'team-b']) await fixture.operations.createNamespace({ name });
});

const create = async (input: Parameters<OperationsFixture['operations']['createJob']>[0]): Promise<JobId> =>
  (await fixture.operations.createJob(input)).jobId;

const callerWith = (grant: Grant, over: { userId?: string; scopes?: ReadonlySet<Action> } = {}): Caller => ({
  ...{ ...SERVER, kind: 'key', id: 'key', name: 'key', grants: [grant], ...over },
});
const search = async (text: string, caller: Caller = SERVER) =>
  (await operationsAs(caller, fixture.everyones).search(text)).hits;
const titles = async (text: string, caller?: Caller) =>
  (await search(text, caller)).map(({ kind, title }) => `${kind} ${title}`);

test('what begins an id', () => {
  expect(idRange('01893f2e')).toEqual({
    ...{ first: '01893f2e-0000-0000-0000-000000000000', last: '01893f2e-ffff-ffff-ffff-ffffffffffff' },
  });
  expect(idRange('01893f2e-7c1')?.first).toBe('01893f2e-7c10-0000-0000-000000000000');
  expect(idRange('01893f2')).toBeUndefined();
  expect(idRange('01893f2e-nightly')).toBeUndefined();
  expect(idRange(`01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f0`)).toBeUndefined();
});

describe('search', () => {
  test('finds a job and a run by pasted ids, whole or from their beginning, in any case', async () => {
    const jobId = await create({ name: 'nightly', frequency: 'daily' });
    const { runId } = await fixture.operations.runJobNow(jobId);
    expect(await search(` ${jobId.toUpperCase()} `)).toEqual([
      { kind: 'job', id: jobId, title: 'nightly', detail: 'default', namespace: 'default' },
    ]);
    const [run] = await search(runId);
    expect(run).toMatchObject({ kind: 'run', id: runId, title: 'Run of nightly', namespace: 'default' });
    expect(run!.detail).toContain('QUEUED, attempt 1');
    expect((await search(runId.slice(0, 20))).map(({ id }) => id)).toContain(runId);
    // The first run of a one-off has the id of its job.
    const once = await create({ name: 'once' });
    expect((await search(once)).map(({ kind }) => kind)).toEqual(['job', 'run']);
  });

  test('finds names by their beginning first, then by a part of them, and keys', async () => {
    await create({ name: 'A report', frequency: 'daily' });
    await create({ name: 'Reporting', key: 'nightly-report', frequency: 'daily' });
    await create({ name: 'other', key: 'report-2' });
    await create({ name: 'nothing' });
    await create({ name: 'Report once' });
    const found = ['job Reporting', 'job other', 'job Report once', 'job A report'];
    expect(await titles('report')).toEqual(found);
    expect(await titles('nightly-report')).toEqual(['job Reporting']);
    expect(await titles('x')).toEqual([]);
  });

  test('answers twenty at most, and says when there are more', async () => {
    for (let n = 0; n < 25; n += 1) await create({ name: `job ${n}` });
    const { hits, partial } = await fixture.operations.search('job');
    expect([hits.length, partial]).toEqual([20, true]);
    expect((await fixture.operations.search('job 24')).partial).toBe(false);
  });

  test('finds workers, users and namespaces for those who may read them', async () => {
    await create({ name: 'job' });
    await fixture.claimDue();
    await fixture.operations.createUser({ name: 'worker-bee', displayName: 'Bea', grants: [] });
    expect(await titles('WORKER')).toEqual(['worker worker-1', 'user worker-bee']);
    expect(await titles('team')).toEqual(['namespace team-a', 'namespace team-b']);
    const viewer = callerWith({ namespace: 'team-a', role: 'viewer', ownOnly: false });
    expect(await titles('worker', viewer)).toEqual([]);
    expect(await titles('team', viewer)).toEqual(['namespace team-a']);
  });

  test('reads the workers that match, not all of them, and once a second for all who search for the same', async () => {
    const { members } = fixture.storage;
    const listWorkers = members.listWorkers.bind(members);
    const asked: unknown[] = [];
    members.listWorkers = (page) => {
      asked.push([page.text, page.limit <= 100]);
      return listWorkers(page);
    };
    for (const text of ['te', 'team', 'team', 'TEAM']) await search(text);
    expect(asked).toEqual([
      ['te', true],
      ['team', true],
    ]);
    fixture.clock.advance(1_001);
    await search('team');
    expect(asked).toHaveLength(3);
  });

  test('shows nothing of what the caller may not see', async () => {
    const ann = await create({
      name: 'secret plan',
      namespace: 'team-a',
      userId: 'ann',
      key: 'secret-key',
      frequency: 'daily',
    });
    const bob = await create({ name: 'secret list', namespace: 'team-a', userId: 'bob', frequency: 'daily' });
    const all = callerWith({ namespace: 'team-a', role: 'viewer', ownOnly: false });
    const own = callerWith({ namespace: 'team-a', role: 'viewer', ownOnly: true }, { userId: 'bob' });
    const elsewhere = callerWith({ namespace: 'team-b', role: 'admin', ownOnly: false });
    expect(await titles('secret', all)).toEqual(['job secret list', 'job secret plan']);
    expect(await titles('secret', own)).toEqual(['job secret list']);
    expect(await titles('list', own)).toEqual(['job secret list']);
    for (const text of ['secret', 'secret-key', 'plan', ann, bob, ann.slice(0, 8)])
      expect(await titles(text, elsewhere), text).toEqual([]);
    for (const text of ['secret-key', 'plan', ann]) expect(await titles(text, own), text).toEqual([]);
    const jobsOnly = callerWith(
      { namespace: '*', role: 'admin', ownOnly: false },
      { scopes: new Set<Action>(['jobs.read']) },
    );
    expect((await search(ann, jobsOnly)).map(({ kind }) => kind)).toEqual(['job']);
  });
});

test('strips show the last outcomes of the jobs that the caller may see', async () => {
  const ann = await create({ name: 'a', namespace: 'team-a', userId: 'ann', frequency: 'daily' });
  const bob = await create({ name: 'b', namespace: 'team-a', userId: 'bob', frequency: 'daily' });
  await fixture.operations.runJobNow(ann);
  await fixture.settle(await fixture.claimDue(), { status: 'FAILED', error: 'no', next: { kind: 'finish' } });
  const nobody = '00000000-0000-7000-8000-000000000000' as JobId;
  const jobIds = [bob, nobody, ann, bob];
  const own = callerWith({ namespace: 'team-a', role: 'viewer', ownOnly: true }, { userId: 'ann' });
  const strips = await fixture.operations.listStrips({ jobIds, runs: 5 });
  expect(strips).toMatchObject([
    { jobId: bob, runs: [] },
    { jobId: ann, runs: [{ status: 'FAILED', attempt: 1 }] },
  ]);
  const theirs = await operationsAs(own, fixture.everyones).listStrips({ jobIds, runs: 5 });
  expect(theirs.map(({ jobId }) => jobId)).toEqual([ann]);
});

describe('versions', () => {
  test('tell who changed what, newest first, page by page', async () => {
    const jobId = await create({ name: 'job', frequency: 'daily', payload: { url: 'http://example.org/1' } });
    await fixture.operations.updateJob(jobId, { name: 'renamed', payload: { url: 'http://example.org/2' } });
    await fixture.operations.runJobNow(jobId);
    await fixture.operations.pauseJob(jobId);
    const { versions, next } = await fixture.operations.listVersions(jobId, { limit: 10 });
    expect(next).toBeUndefined();
    expect(versions).toMatchObject([
      {
        version: 3,
        action: 'jobs.pause',
        changes: [{ field: 'status', before: 'SCHEDULED', after: 'PAUSED' }],
      },
      {
        ...{ version: 2, action: 'jobs.update', actor: { kind: 'server', name: 'server' } },
        changes: [
          { field: 'name', before: 'job', after: 'renamed' },
          {
            field: 'payload',
            before: { url: 'http://example.org/1' },
            after: { url: 'http://example.org/2' },
          },
        ],
      },
      { version: 1, action: 'jobs.create', atMs: fixture.clock.now() },
    ]);
    const first = await fixture.operations.listVersions(jobId, { limit: 1 });
    expect(first.versions.map(({ version }) => version)).toEqual([3]);
    const rest = await fixture.operations.listVersions(jobId, { limit: 5, beforeId: first.next });
    expect(rest.versions.map(({ version }) => version)).toEqual([2, 1]);
  });

  test('hide the values of payloads from viewers, and everything from those who do not see the job', async () => {
    const jobId = await create({
      name: 'job',
      namespace: 'team-a',
      payload: { url: 'http://example.org/1' },
    });
    await fixture.operations.updateJob(jobId, {
      payload: { url: 'http://example.org/2', headers: { authorization: 'abc' } },
    });
    const viewer = callerWith({ namespace: 'team-a', role: 'viewer', ownOnly: false });
    const { versions } = await operationsAs(viewer, fixture.everyones).listVersions(jobId, { limit: 1 });
    expect(versions[0]!.changes.map(({ field }) => field)).toEqual(['payload']);
    expect(JSON.stringify(versions)).not.toMatch(/example|abc/);
    // Redacted in the log, whoever reads it.
    const all = await fixture.operations.listVersions(jobId, { limit: 1 });
    expect(JSON.stringify(all)).not.toContain('abc');
    const elsewhere = callerWith({ namespace: 'team-b', role: 'admin', ownOnly: false });
    const hidden = operationsAs(elsewhere, fixture.everyones).listVersions(jobId, { limit: 1 });
    await expect(hidden).rejects.toMatchObject({ code: 'job_not_found' });
  });
});

describe('runs in bulk', () => {
  const failed = { status: 'FAILED', error: 'no', next: { kind: 'finish' } } as const;
  const run = async (jobId: JobId, end: Parameters<OperationsFixture['settle']>[1]): Promise<RunId> => {
    const { runId } = await fixture.operations.runJobNow(jobId);
    await fixture.settle(await fixture.claimDue(), end);
    return runId;
  };

  test('of a filter: a dry run names them, then each is run again once under a key', async () => {
    const jobId = await create({ name: 'job', frequency: 'daily' });
    const lost = await run(jobId, failed);
    // Failed first, and succeeded then: it is not meant.
    const again = { kind: 'again', atMs: fixture.clock.now(), attempt: 2, crashes: 0 } as const;
    await run(jobId, { ...failed, next: again });
    await fixture.settle(await fixture.claimDue(), { status: 'SUCCESS', next: { kind: 'finish' } });
    const of = { selection: { jobId } };
    const dry = await fixture.operations.bulkRuns({ action: 'rerun', of, dryRun: true });
    expect(dry).toMatchObject({
      matched: 1,
      changed: 0,
      refused: 0,
      runIds: [lost],
      results: [],
      next: undefined,
    });
    const request = {
      action: 'rerun',
      of,
      dryRun: false,
      idempotencyKey: 'dialog-1',
      reason: 'mended',
    } as const;
    const done = await fixture.operations.bulkRuns(request);
    expect(done).toMatchObject({ matched: 1, changed: 1, results: [{ runId: lost, outcome: 'changed' }] });
    const { latest } = await fixture.operations.getRun(done.results[0]!.newRunId!);
    expect(latest).toMatchObject({ status: 'QUEUED', requestReason: 'mended' });
    const repeated = await fixture.operations.bulkRuns(request);
    expect(repeated).toMatchObject({ changed: 0, unchanged: 1 });
    expect(repeated.results[0]!.newRunId).toBe(done.results[0]!.newRunId);
  });

  test('of ids: what waits is cancelled, what has ended or is not there is refused one by one', async () => {
    const jobId = await create({ name: 'job', frequency: 'daily' });
    const ended = await run(jobId, failed);
    const { runId: waits } = await fixture.operations.runJobNow(jobId);
    const nobody = '00000000-0000-7000-8000-000000000000' as RunId;
    const runIds = [waits, ended, nobody];
    const dry = await fixture.operations.bulkRuns({ action: 'cancel', of: { runIds }, dryRun: true });
    expect(dry.results.map(({ error }) => error?.code)).toEqual(['run_already_finished', 'run_not_found']);
    const done = await fixture.operations.bulkRuns({ action: 'cancel', of: { runIds }, dryRun: false });
    expect(done).toMatchObject({ matched: 2, changed: 1, unchanged: 0, refused: 2 });
    expect((await fixture.operations.getRun(waits)).latest.status).toBe('CANCELLED');
  });

  test('touches only runs that the caller may change', async () => {
    const jobId = await create({ name: 'job', namespace: 'team-a', userId: 'ann', frequency: 'daily' });
    const ended = await run(jobId, failed);
    const of = { selection: { statuses: ['FAILED'] } } as const;
    const bulk = (caller: Caller, chosen: typeof of | { runIds: RunId[] }) =>
      operationsAs(caller, fixture.everyones).bulkRuns({ action: 'rerun', of: chosen, dryRun: false });
    const own = callerWith({ namespace: 'team-a', role: 'operator', ownOnly: true }, { userId: 'bob' });
    expect(await bulk(own, of)).toMatchObject({ matched: 0, changed: 0 });
    const named = await bulk(own, { runIds: [ended] });
    expect(named.results).toMatchObject([{ outcome: 'refused', error: { code: 'run_not_found' } }]);
    const unknown = operationsAs(own, fixture.everyones).bulkRuns({
      ...{ action: 'rerun', of: { selection: { jobId } }, dryRun: true },
    });
    await expect(unknown).rejects.toMatchObject({ code: 'job_not_found' });
    const viewer = callerWith({ namespace: 'team-a', role: 'viewer', ownOnly: false });
    await expect(bulk(viewer, of)).rejects.toMatchObject({ code: 'forbidden' });
  });
});
