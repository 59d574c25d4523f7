/** Handlers of a worker elsewhere that say which payload they take: all in one way, whatever their schema is written in. */
import { type Caller, SERVER, WORKER_SCOPES } from '@carillon/domain';
import { createWorker, defineHandler, type TypedRun, type Worker } from '@carillon/worker';
import { afterEach, beforeEach, describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { eventually } from '../../../../tests/support/eventually.ts';
import { WorkerHomeFixture } from './worker-home.fixture.ts';

const SOON = { withinMs: 60_000 };
const SIZE = z.object({ width: z.int().default(100) });
const JSON_SCHEMA = { type: 'object', properties: { width: { type: 'integer' } } };

let home: WorkerHomeFixture;
let widths: unknown[];

const idle = () => createWorker({ servers: ['http://127.0.0.1:1'], key: 'none', slots: 1 });

async function working(add: (worker: Worker) => Worker): Promise<void> {
  const { address } = await home.listen();
  await home.startRemote([address], add);
  await eventually(() => home.workerId(), SOON);
}

async function endOf(payload: string): Promise<(string | undefined)[]> {
  const { jobs } = await home.hand('resize', { payload });
  return eventually(async () => {
    const [run] = await home.world.runsOf(jobs[0]!.jobId, home.clock.now());
    if (run?.status !== 'SUCCESS' && run?.status !== 'FAILED') throw new Error(`is ${run?.status}`);
    return [run.status, run.error];
  }, SOON);
}

beforeEach(async () => {
  home = await WorkerHomeFixture.open();
  widths = [];
});

afterEach(() => home.close());

describe.each<[string, (worker: Worker) => Worker]>([
  [
    'given with its schema',
    (worker) =>
      worker.handle('resize', { parameters: SIZE, run: ({ payload }) => widths.push(payload.width) }),
  ],
  [
    'defined before, under the name that it is offered by',
    (worker) =>
      worker.handle(
        'resize',
        defineHandler({ name: 'other', parameters: SIZE, run: ({ payload }) => widths.push(payload.width) }),
      ),
  ],
])('a handler with a typed payload, %s', (_, add) => {
  test('is called with what the schema reads, and not at all when that fails (hazard 21)', async () => {
    await working(add);
    expect(await endOf('{}')).toEqual(['SUCCESS', undefined]);
    expect(await endOf('{"width":"wide"}')).toEqual([
      'FAILED',
      expect.stringMatching(/^the payload does not fit: payload\.width: /),
    ]);
    expect(widths).toEqual([100]);
  });

  test('offers its schema to the servers', async () => {
    await working(add);
    await eventually(() => expect(home.described.map(({ name }) => name)).toEqual(['resize']), SOON);
    expect(JSON.parse(home.described[0]!.parameters)).toMatchObject({
      properties: { width: { type: 'integer', default: 100 } },
    });
  });
});

describe('a handler with a JSON Schema', () => {
  test('offers it; servers check by it, and the worker calls the handler', async () => {
    await working((worker) =>
      worker.handle('resize', { parameters: JSON_SCHEMA, run: ({ payload }) => widths.push(payload.width) }),
    );
    const parameters = JSON.stringify(JSON_SCHEMA);
    await eventually(() => expect(home.described).toEqual([{ name: 'resize', parameters }]), SOON);
    expect(await endOf('{"width":7}')).toEqual(['SUCCESS', undefined]);
    expect(widths).toEqual([7]);
  });
});

test('a worker whose key is bound to namespaces offers its schemas for these', async () => {
  const grants = [{ namespace: 'media', role: 'admin', ownOnly: false }];
  const caller = { ...SERVER, kind: 'key', id: 'key', name: 'key', scopes: WORKER_SCOPES, grants } as Caller;
  const { address } = await home.listen({ caller });
  await home.startRemote([address], (worker) =>
    worker.handle('resize', { parameters: JSON_SCHEMA, run: () => undefined }),
  );
  const parameters = JSON.stringify(JSON_SCHEMA);
  await eventually(
    () => expect(home.described).toEqual([{ name: 'resize', parameters, namespaces: ['media'] }]),
    SOON,
  );
});

test('a handler whose schema cannot be offered is refused by the worker itself', () => {
  const parameters = { description: 'x'.repeat(70_000) };
  expect(() => idle().handle('resize', { parameters, run: () => undefined })).toThrow(/at most 65536/);
});

test('the payload is typed by the schema', () => {
  idle()
    .handle('resize', {
      parameters: SIZE,
      run: (run) => expectTypeOf(run).toEqualTypeOf<TypedRun<{ width: number }>>(),
    })
    .handle('other', {
      parameters: JSON_SCHEMA,
      run: ({ payload }) => expectTypeOf(payload.width).not.toBeNumber(),
    });
});
