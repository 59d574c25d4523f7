/** What a handler says in numbers that neither the protocol nor the database can hold costs it these numbers, and nothing else. */
import { type Handler, HandlerError, type RunContext } from '@carillon/worker';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { SHAPES, WorkerHomeFixture } from './worker-home.fixture.ts';

const SOON = { withinMs: 60_000 };

let home: WorkerHomeFixture;
beforeEach(async () => {
  home = await WorkerHomeFixture.open();
});
afterEach(() => home.close());

const fails = (retryAfterMs: number) => () => {
  throw new HandlerError('busy', { retryAfterMs });
};
const uses = (usage: object) => (run: RunContext) => run.used(usage);

const ODD: Readonly<Record<string, { handler: Handler; status: string; usage?: object }>> = {
  'a pause that is over': { handler: fails(-1_000), status: 'FAILED' },
  'a pause beyond 64 bits': { handler: fails(1e25), status: 'FAILED' },
  'a pause without an end': { handler: fails(Number.POSITIVE_INFINITY), status: 'FAILED' },
  'a pause that is no number': { handler: fails(Number.NaN), status: 'FAILED' },
  'half a byte': {
    handler: uses({ peakMemoryBytes: 1_000.5, cpuSeconds: 0.25 }),
    status: 'SUCCESS',
    usage: { peakMemoryBytes: 1_001, cpuSeconds: 0.25 },
  },
  'less than no memory': {
    handler: uses({ peakMemoryBytes: -1, cpuSeconds: 1 }),
    status: 'SUCCESS',
    usage: { peakMemoryBytes: undefined, cpuSeconds: 1 },
  },
  'memory that is no number': { handler: uses({ peakMemoryBytes: Number.NaN }), status: 'SUCCESS' },
  'memory beyond 64 bits': { handler: uses({ peakMemoryBytes: 1e25 }), status: 'SUCCESS' },
  'time without an end': { handler: uses({ cpuSeconds: Number.POSITIVE_INFINITY }), status: 'SUCCESS' },
  'a text': { handler: uses({ peakMemoryBytes: 'much' }), status: 'SUCCESS' },
};

describe.each(SHAPES)('%s', (shape) => {
  test.each(Object.entries(ODD))('%s', async (_, { handler, status, usage }) => {
    await home.start(shape, { odd: handler, quick: () => 'fine' });
    await eventually(() => home.workerId(), SOON);
    const { jobs } = await home.hand('odd');
    const view = await eventually(async () => {
      const views = await home.world.runsOf(jobs[0]!.jobId, home.clock.now());
      expect(views.at(-1)!.status).toBe(status);
      return views.at(-1)!;
    }, SOON);
    expect({ peakMemoryBytes: view.peakMemoryBytes, cpuSeconds: view.cpuSeconds }).toEqual({
      ...{ peakMemoryBytes: undefined, cpuSeconds: undefined },
      ...usage,
    });
    // On the same stream.
    const good = await home.hand('quick');
    await eventually(async () => expect(await home.statuses(good.jobs[0]!)).toEqual(['SUCCESS']), SOON);
    expect(home.warnings).toEqual([]);
  });
});
