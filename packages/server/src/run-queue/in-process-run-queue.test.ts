import type { PendingRun, RunId } from '@carillon/domain';
import { describe, expect, it } from 'vitest';
import { describeRunQueue } from './conformance.ts';
import { InProcessRunQueue } from './in-process-run-queue.ts';

describeRunQueue('in-process run queue', async (options) => ({
  queue: new InProcessRunQueue(options),
  close: async () => {},
}));

describe('in-process run queue, beyond the port', () => {
  const run = (runId: number) => ({ runId: String(runId) as RunId, priority: 'medium' }) as PendingRun;
  const ids = (runs: readonly PendingRun[]) => runs.map(({ runId }) => Number(runId));

  it('keeps one order over all shards, and lets waiting publishers in by turn', async () => {
    const queue = new InProcessRunQueue({ capacity: 2 });
    const order: string[] = [];
    const first = queue.publish([1, 2, 3].map(run)).then(() => order.push('first'));
    const second = queue.publish([4].map(run)).then(() => order.push('second'));
    expect(ids(queue.take('medium', 1))).toEqual([1]);
    await first;
    expect(order).toEqual(['first']);
    expect(ids(queue.take('medium', 9))).toEqual([2, 3]);
    await second;
    expect(order).toEqual(['first', 'second']);
    expect(ids(queue.take('medium', 9))).toEqual([4]);
  });

  it('a late publisher cannot slip past those that wait', () => {
    const queue = new InProcessRunQueue({ capacity: 3 });
    void queue.publish([1, 2, 3, 4, 5].map(run));
    void queue.publish([6].map(run));
    const taken: number[] = [];
    for (let got = queue.take('medium', 2); got.length > 0; got = queue.take('medium', 2))
      taken.push(...ids(got));
    expect(taken).toEqual([1, 2, 3, 4, 5, 6]);
    expect(queue.room('medium')).toBe(3);
  });

  it('loses nothing over many thousand runs, with a listener that takes at once', async () => {
    const queue = new InProcessRunQueue({ capacity: 1_500 });
    const taken: number[] = [];
    queue.onReady(() => taken.push(...ids(queue.take('medium', 7))));
    const all = Array.from({ length: 20_000 }, (_, i) => i);
    const publishing = queue.publish(all.map(run));
    for (let got = queue.take('medium', 100); got.length > 0; got = queue.take('medium', 100))
      taken.push(...ids(got));
    await publishing;
    expect(taken.toSorted((a, b) => a - b)).toEqual(all);
  });
});
