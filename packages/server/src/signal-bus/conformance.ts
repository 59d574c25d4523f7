/** The promises of SignalBus, as tests that every adapter passes: on a healthy bus signals arrive, and never do harm. */
import type { JobId, RunId } from '@carillon/domain';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { SignalBus, Signals } from './signal-bus.ts';

export interface SignalBusUnderTest {
  /** Two ends of one bus; within one process they are the same. */
  readonly sender: SignalBus;
  readonly receiver: SignalBus;
  close(): Promise<void>;
}

const jobId = '00000000-0000-7000-8000-000000000001' as JobId;
const runId = '00000000-0000-7000-9000-000000000001' as RunId;

const SAMPLES: Signals = {
  'due-added': {
    shards: [3, 63],
    rows: [
      {
        kind: 'run',
        ...{
          jobId,
          runId,
          shard: 3,
          priority: 'high',
          fireAtMs: 1_900_000_000_000,
          nominalAtMs: 1_900_000_000_000,
        },
        ...{
          trigger: 'manual',
          attempt: 2,
          handler: 'odd "name"',
          maxConcurrency: 4,
          overlap: 'skip',
          startTimeoutMs: 5,
        },
      },
    ],
  },
  'runs-released': { runs: [{ jobId, runId, claimedAtMs: 1 }] },
  'runs-forgotten': { shards: [3] },
  'cancel-requested': { runIds: [runId] },
};
const NAMES = Object.keys(SAMPLES) as (keyof Signals)[];

export function describeSignalBus(name: string, make: () => Promise<SignalBusUnderTest>): void {
  describe(name, () => {
    let under: SignalBusUnderTest;

    beforeEach(async () => {
      under = await make();
    });
    afterEach(() => under.close());

    it.each(NAMES)('%s arrives as it was sent, at every listener', async (signal) => {
      const [first, second] = [vi.fn(), vi.fn()];
      under.receiver.on(signal, first);
      under.receiver.on(signal, second);
      under.sender.send(signal, SAMPLES[signal]);
      await vi.waitFor(() => expect(second).toHaveBeenCalledTimes(1));
      expect(first.mock.calls).toEqual([[SAMPLES[signal]]]);
      expect(second.mock.calls).toEqual([[SAMPLES[signal]]]);
    });

    it('listeners hear only what they listen to', async () => {
      const [released, cancelled] = [vi.fn(), vi.fn()];
      under.receiver.on('runs-released', released);
      under.receiver.on('cancel-requested', cancelled);
      under.sender.send('runs-released', SAMPLES['runs-released']);
      await vi.waitFor(() => expect(released).toHaveBeenCalled());
      expect(cancelled).not.toHaveBeenCalled();
    });

    it('who stopped listening hears nothing more, and stopping twice does no harm', async () => {
      const [gone, there] = [vi.fn(), vi.fn()];
      const stop = under.receiver.on('runs-released', gone);
      under.receiver.on('runs-released', there);
      stop();
      stop();
      under.sender.send('runs-released', SAMPLES['runs-released']);
      await vi.waitFor(() => expect(there).toHaveBeenCalled());
      expect(gone).not.toHaveBeenCalled();
    });

    it('one function that listens twice is two listeners, each with its own way to stop', async () => {
      const listener = vi.fn();
      const stop = under.receiver.on('cancel-requested', listener);
      under.receiver.on('cancel-requested', listener);
      stop();
      under.sender.send('cancel-requested', SAMPLES['cancel-requested']);
      await vi.waitFor(() => expect(listener).toHaveBeenCalledTimes(1));
    });

    it('a listener that throws hurts neither the sender nor the others', async () => {
      const after = vi.fn();
      under.receiver.on('due-added', () => {
        throw new Error('a broken listener');
      });
      under.receiver.on('due-added', after);
      expect(() => under.sender.send('due-added', SAMPLES['due-added'])).not.toThrow();
      await vi.waitFor(() => expect(after).toHaveBeenCalled());
    });

    it('a signal that nobody listens to is lost without a sound', () => {
      for (const signal of NAMES) expect(() => under.sender.send(signal, SAMPLES[signal])).not.toThrow();
    });
  });
}
