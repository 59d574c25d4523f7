import type { BootId, HandlerDescription, NodeId, WorkerId } from '@carillon/domain';
import { Refusal, SERVER } from '@carillon/domain';
import { beforeEach, describe, expect, test } from 'vitest';
import { OperationsFixture } from './operations.fixture.ts';
import { operationsAs } from './operations.ts';

let fixture: OperationsFixture;
const RESIZE: HandlerDescription = {
  name: 'resize',
  description: 'Resizes images.',
  parameters: JSON.stringify({
    type: 'object',
    properties: { url: { type: 'string' }, width: { type: 'integer' } },
    required: ['url'],
  }),
  origin: 'plugin',
};
const GOOD = { name: 'good', handler: 'resize', payload: { url: 'x' } };
const BAD = { name: 'bad', handler: 'resize', payload: { url: 'x', width: 'wide' } };
const MISFIT = {
  code: 'field_invalid',
  field: 'payload.width',
  message: 'payload.width must be of type integer.',
};

beforeEach(async () => {
  fixture = new OperationsFixture();
  await fixture.handlers.recordSchemas([RESIZE]);
});

describe('a payload that its handler does not take is refused', () => {
  test('when a job is created', async () => {
    await expect(fixture.operations.createJob(BAD)).rejects.toMatchObject(MISFIT);
    await fixture.operations.createJob(GOOD);
    expect(await fixture.pending()).toHaveLength(1);
  });

  test('when many are created: the misfit alone, or all of an atomic batch', async () => {
    const { operations } = fixture;
    const answers = await operations.createJobs([GOOD, BAD, GOOD]);
    expect(answers).toMatchObject([{ created: true }, MISFIT, { created: true }]);
    expect(answers[1]).toBeInstanceOf(Refusal);
    await expect(operations.createJobs([GOOD, BAD], { atomic: true })).rejects.toMatchObject({
      ...{ code: 'batch_refused', entries: [{ index: 1, refusal: MISFIT }] },
    });
    expect(await fixture.pending()).toHaveLength(2);
  });

  test('when a job is changed: its payload or its handler', async () => {
    const { operations } = fixture;
    const { jobId } = await operations.createJob(GOOD);
    await expect(operations.updateJob(jobId, { payload: BAD.payload })).rejects.toMatchObject(MISFIT);
    const other = await operations.createJob({ ...BAD, handler: 'other' });
    await expect(operations.updateJob(other.jobId, { handler: 'resize' })).rejects.toMatchObject(MISFIT);
    expect((await operations.getJob(jobId)).job.version).toBe(1);
  });

  test('when a job is applied, new or not, in a dry run too', async () => {
    const { operations } = fixture;
    for (const dryRun of [true, false])
      await expect(operations.applyJob({ key: 'a', input: BAD, dryRun })).rejects.toMatchObject(MISFIT);
    await operations.applyJob({ key: 'a', input: GOOD });
    for (const dryRun of [true, false])
      await expect(operations.applyJob({ key: 'a', input: BAD, dryRun })).rejects.toMatchObject(MISFIT);
  });

  test('when a run is asked for: the input merged over the payload is judged', async () => {
    const { operations } = fixture;
    const { jobId } = await operations.createJob(GOOD);
    const input = { width: 'wide' };
    await expect(operations.runJobNow(jobId, { input })).rejects.toMatchObject(MISFIT);
    await expect(operations.runJobNow(jobId, { input: { url: null } })).rejects.toMatchObject({
      ...{ code: 'field_missing', field: 'payload.url' },
    });
    await expect(operations.runJobNow(jobId, { input: { width: 3 } })).resolves.toMatchObject({
      added: true,
    });
  });
});

test('a job whose handler has changed its mind can still be edited, paused and run', async () => {
  const { operations } = fixture;
  const { jobId } = await operations.createJob(GOOD);
  await fixture.handlers.recordSchemas([{ ...RESIZE, parameters: '{"required":["urls"]}' }]);
  await operations.updateJob(jobId, { name: 'another name' });
  await operations.pauseJob(jobId);
  await operations.runJobNow(jobId);
  await expect(operations.updateJob(jobId, { payload: { url: 'y' } })).rejects.toMatchObject({
    field: 'payload.urls',
  });
});

describe('handlers are shown', () => {
  beforeEach(async () => {
    for (const id of ['w1', 'w2'])
      await fixture.storage.members.registerWorker(
        {
          workerId: id as WorkerId,
          nodeId: '00000000-0000-7000-8000-00000000000a' as NodeId,
          bootId: '00000000-0000-7000-8000-00000000000b' as BootId,
          ...{
            incarnation: 1,
            session: 0,
            slots: 1,
            handlers: id === 'w1' ? ['resize', 'silent'] : ['resize'],
          },
        },
        fixture.clock.now(),
      );
  });
  const silent = {
    ...{ name: 'silent', description: undefined, parameters: undefined, origin: undefined, workers: 1 },
  };

  test('by name, with how many workers offer each', async () => {
    const { operations } = fixture;
    expect(await operations.listHandlers({ limit: 10 })).toEqual([{ ...RESIZE, workers: 2 }, silent]);
    expect(await operations.listHandlers({ limit: 1 })).toMatchObject([{ name: 'resize' }]);
    expect(await operations.listHandlers({ after: 'resize', limit: 10 })).toEqual([silent]);
  });

  test('one by one, also while no worker offers it', async () => {
    const { operations, storage } = fixture;
    expect(await operations.getHandler('silent')).toEqual(silent);
    await storage.members.forgetWorkers(['w1', 'w2'] as WorkerId[]);
    expect(await operations.getHandler('resize')).toEqual({ ...RESIZE, workers: 0 });
    await expect(operations.getHandler('silent')).rejects.toMatchObject({ code: 'handler_not_found' });
  });

  test('to callers of the namespaces that they are offered to, and of others as if nobody offered them', async () => {
    const { operations, storage, clock } = fixture;
    const bound = {
      workerId: 'w3' as WorkerId,
      handlers: ['merger', 'resize'],
      namespaces: ['beta', 'gamma'],
    };
    const [known] = await storage.members.workers();
    await storage.members.registerWorker({ ...known!, ...bound }, clock.now());
    const viewerOf = (namespace: string, ownOnly = false) =>
      operationsAs(
        {
          ...SERVER,
          kind: 'key',
          id: 'key',
          name: 'viewer',
          userId: 'ann',
          grants: [{ namespace, role: 'viewer', ownOnly }],
        },
        fixture.everyones,
      );
    const seenBy = async ({ listHandlers }: Pick<typeof operations, 'listHandlers'>) =>
      (await listHandlers({ limit: 10 })).map(({ name, workers }) => [name, workers]);
    const everything = [
      ['merger', 1],
      ['resize', 3],
      ['silent', 1],
    ];
    expect(await seenBy(operations)).toEqual(everything);
    expect(await seenBy(viewerOf('beta'))).toEqual(everything);
    expect(await seenBy(viewerOf('beta', true))).toEqual(everything);
    expect(await seenBy(viewerOf('*', true))).toEqual(everything);
    const stranger = viewerOf('alpha');
    expect(await seenBy(stranger)).toEqual([
      ['resize', 2],
      ['silent', 1],
    ]);
    await expect(stranger.getHandler('merger')).rejects.toMatchObject({ code: 'handler_not_found' });
    expect(await stranger.getHandler('resize')).toMatchObject({ workers: 2 });
    expect(await viewerOf('gamma').getHandler('merger')).toMatchObject({ workers: 1 });
  });
});
