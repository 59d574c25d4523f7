/** The promises of RunQueue, as tests that every adapter passes. Delivery may take a moment; order and completeness may not. */
import { type PendingRun, PRIORITIES, type Priority, type RunId } from '@carillon/domain';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RunQueue } from './run-queue.ts';

export interface RunQueueUnderTest {
  readonly queue: RunQueue;
  close(): Promise<void>;
}

export type MakeRunQueue = (options: { capacity: number }) => Promise<RunQueueUnderTest>;

const CAPACITY = 8;

export function describeRunQueue(name: string, make: MakeRunQueue): void {
  describe(name, () => {
    let under: RunQueueUnderTest;
    let queue: RunQueue;

    beforeEach(async () => {
      under = await make({ capacity: CAPACITY });
      queue = under.queue;
    });
    afterEach(() => under.close());

    /** From whichever line has something. */
    function take(max: number): PendingRun[] {
      const taken: PendingRun[] = [];
      for (const priority of PRIORITIES) taken.push(...queue.take(priority, max - taken.length));
      return taken;
    }

    /** Takes until the wanted number has come. */
    async function takeAll(count: number, piece = 3): Promise<PendingRun[]> {
      const taken: PendingRun[] = [];
      await vi.waitFor(() => {
        for (let got = take(piece); got.length > 0; got = take(piece)) taken.push(...got);
        expect(taken.length).toBeGreaterThanOrEqual(count);
      });
      return taken;
    }

    it('hands over every run as it was published', async () => {
      const runs = someRuns(5);
      await queue.publish(runs);
      expect((await takeAll(5)).toSorted(byId)).toEqual(runs.toSorted(byId));
    });

    it('keeps the order within a shard and priority', async () => {
      const runs = someRuns(60);
      const publishing = (async () => {
        for (let i = 0; i < runs.length; i += 7) await queue.publish(runs.slice(i, i + 7));
      })();
      const taken = await takeAll(runs.length);
      await publishing;
      for (const lane of new Set(runs.map(laneOf))) {
        const inLane = (run: PendingRun) => laneOf(run) === lane;
        expect(taken.filter(inLane)).toEqual(runs.filter(inLane));
      }
    });

    it('answers nothing when there is nothing, and never more than asked for', async () => {
      expect(take(10)).toEqual([]);
      await queue.publish([]);
      await queue.publish(someRuns(4));
      await vi.waitFor(() => expect(take(0)).toEqual([]));
      const taken: PendingRun[] = [];
      await vi.waitFor(() => {
        const got = take(3);
        expect(got.length).toBeLessThanOrEqual(3);
        taken.push(...got);
        expect(taken).toHaveLength(4);
      });
      expect(take(10)).toEqual([]);
    });

    it('a full queue makes the publisher wait, and loses nothing', async () => {
      const runs = someRuns(CAPACITY * 5);
      let accepted = false;
      const publishing = queue.publish(runs).then(() => {
        accepted = true;
      });
      await turn();
      expect(accepted).toBe(false);
      expect(queue.room('medium')).toBe(0);
      const taken = await takeAll(runs.length);
      await publishing;
      expect(taken.toSorted(byId)).toEqual(runs.toSorted(byId));
      expect(new Set(taken.map((run) => run.runId)).size).toBe(runs.length);
    });

    it('says how much room is left: none when full, all when empty', async () => {
      expect(queue.room('low')).toBe(CAPACITY);
      await queue.publish(runsOf('low', 3));
      expect(queue.room('low')).toBe(CAPACITY - 3);
      await queue.publish(runsOf('low', CAPACITY - 3));
      expect(queue.room('low')).toBe(0);
      await takeAll(CAPACITY);
      expect(queue.room('low')).toBe(CAPACITY);
    });

    it('a full line of one priority holds up no other', async () => {
      const waiting = queue.publish(runsOf('low', CAPACITY * 2));
      const urgent = runsOf('high', 2);
      await queue.publish(urgent);
      await vi.waitFor(() => expect(queue.take('high', 10)).toEqual(urgent));
      expect(queue.room('high')).toBe(CAPACITY);
      expect(queue.room('low')).toBe(0);
      await takeAll(CAPACITY * 2);
      await waiting;
    });

    it('tells listeners when there may be something to take, also when a waiting publisher is let in', async () => {
      const taken: PendingRun[] = [];
      queue.onReady(() => taken.push(...take(2)));
      const other = vi.fn();
      queue.onReady(other);
      await queue.publish(someRuns(2));
      await vi.waitFor(() => expect(taken).toHaveLength(2));
      expect(other).toHaveBeenCalled();
      const runs = someRuns(CAPACITY * 3);
      await queue.publish(runs);
      expect(taken.length).toBeGreaterThan(2);
    });
  });
}

function runsOf(priority: Priority, count: number): PendingRun[] {
  return someRuns(count).map((run) => ({ ...run, priority }));
}

/** Runs of four jobs over two shards and all priorities. */
function someRuns(count: number): PendingRun[] {
  return Array.from({ length: count }, (_, i) => ({
    jobId: `00000000-0000-7000-8000-00000000000${i % 4}` as PendingRun['jobId'],
    runId: nextRunId(),
    shard: i % 2,
    priority: PRIORITIES[i % 3]!,
    fireAtMs: Date.UTC(2030, 0, 1) + i,
    nominalAtMs: Date.UTC(2030, 0, 1),
    trigger: 'schedule',
    attempt: 1,
    handler: 'http',
    maxConcurrency: 1,
    overlap: 'queue',
    startTimeoutMs: i % 5 === 0 ? 1_000 : undefined,
  }));
}

let lastRun = 0;
function nextRunId(): RunId {
  lastRun += 1;
  return `00000000-0000-7000-9000-${String(lastRun).padStart(12, '0')}` as RunId;
}

const laneOf = (run: PendingRun): string => `${run.shard}/${run.priority}`;
const byId = (a: PendingRun, b: PendingRun): number => (a.runId < b.runId ? -1 : 1);
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
