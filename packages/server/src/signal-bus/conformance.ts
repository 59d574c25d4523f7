/** The promises of SignalBus, as tests that every adapter passes: on a healthy bus signals arrive, and never do harm. */
import type { JobId, RunId } from '@carillon/domain';
import { type Log, silentLog } from '@carillon/foundation';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import type { SignalBus, Signals } from './signal-bus.ts';

export interface SignalBusUnderTest {
  /** Two ends of one bus; within one process they are the same. */
  readonly sender: SignalBus;
  readonly receiver: SignalBus;
  close(): Promise<void>;
}

const SOON = { withinMs: 5_000 };
const jobId = '00000000-0000-7000-8000-000000000001' as JobId;
const otherJobId = 'ffffffff-ffff-7fff-bfff-ffffffffffff' as JobId;
const runId = '00000000-0000-7000-9000-000000000001' as RunId;

const SAMPLES: Signals = {
  'runs-open': {
    lanes: [
      { part: 3, priority: 'high', handlerKey: 12, tenant: 4_000_000_000, atMs: 1_900_000_000_000 },
      { part: 3, priority: 'low', handlerKey: 12, tenant: 0, atMs: 0 },
    ],
  },
  'shards-due': {
    shards: [
      { shard: 63, atMs: 1_900_000_000_000 },
      { shard: 0, atMs: -1 },
    ],
  },
  'slots-freed': { jobIds: [jobId, otherJobId] },
  'cancel-requested': { runIds: [runId] },
  'workers-asked': {},
  'shards-moved': {},
  'events-recorded': {},
};
/** The forms that name nothing and mean anything. */
const ANY: Partial<Signals> = {
  'runs-open': { lanes: [] },
  'shards-due': { shards: [] },
  'slots-freed': { jobIds: [] },
};
const NAMES = Object.keys(SAMPLES) as (keyof Signals)[];

export function describeSignalBus(name: string, make: (log: Log) => Promise<SignalBusUnderTest>): void {
  describe(name, () => {
    let under: SignalBusUnderTest;
    const error = vi.fn();

    beforeEach(async () => {
      error.mockClear();
      under = await make({ ...silentLog, error });
    });
    afterEach(() => under.close());

    it.each(NAMES)('%s arrives as it was sent, at every listener', async (signal) => {
      const [first, second] = [vi.fn(), vi.fn()];
      under.receiver.on(signal, first);
      under.receiver.on(signal, second);
      under.sender.send(signal, SAMPLES[signal]);
      await eventually(() => expect(second).toHaveBeenCalledTimes(1), SOON);
      expect(first.mock.calls).toEqual([[SAMPLES[signal]]]);
      expect(second.mock.calls).toEqual([[SAMPLES[signal]]]);
    });

    it.each(Object.keys(ANY) as (keyof Signals)[])('%s arrives in its "any" form too', async (signal) => {
      const listener = vi.fn();
      under.receiver.on(signal, listener);
      under.sender.send(signal, ANY[signal]!);
      await eventually(() => expect(listener.mock.calls).toEqual([[ANY[signal]]]), SOON);
    });

    it('listeners hear only what they listen to', async () => {
      const [freed, cancelled] = [vi.fn(), vi.fn()];
      under.receiver.on('slots-freed', freed);
      under.receiver.on('cancel-requested', cancelled);
      under.sender.send('slots-freed', SAMPLES['slots-freed']);
      await eventually(() => expect(freed).toHaveBeenCalled(), SOON);
      expect(cancelled).not.toHaveBeenCalled();
    });

    it('the process of the sender hears before send returns, and once', async () => {
      const [heard, answered] = [vi.fn(), vi.fn()];
      under.sender.on('cancel-requested', heard);
      under.sender.on('events-recorded', answered);
      under.receiver.on('cancel-requested', () => under.receiver.send('events-recorded', {}));
      under.sender.send('cancel-requested', SAMPLES['cancel-requested']);
      expect(heard).toHaveBeenCalledTimes(1);
      // The answer comes after whatever the sender would have heard of itself.
      await eventually(() => expect(answered).toHaveBeenCalled(), SOON);
      expect(heard).toHaveBeenCalledTimes(1);
    });

    it('who stopped listening hears nothing more, and stopping twice does no harm', async () => {
      const [gone, there] = [vi.fn(), vi.fn()];
      const stop = under.receiver.on('slots-freed', gone);
      under.receiver.on('slots-freed', there);
      stop();
      stop();
      under.sender.send('slots-freed', SAMPLES['slots-freed']);
      await eventually(() => expect(there).toHaveBeenCalled(), SOON);
      expect(gone).not.toHaveBeenCalled();
    });

    it('one function that listens twice is two listeners, each with its own way to stop', async () => {
      const listener = vi.fn();
      const stop = under.receiver.on('cancel-requested', listener);
      under.receiver.on('cancel-requested', listener);
      stop();
      under.sender.send('cancel-requested', SAMPLES['cancel-requested']);
      await eventually(() => expect(listener).toHaveBeenCalledTimes(1), SOON);
    });

    it('a listener that throws is logged, and hurts neither the sender nor the others', async () => {
      const after = vi.fn();
      const broken = new Error('a broken listener');
      under.receiver.on('runs-open', () => {
        throw broken;
      });
      under.receiver.on('runs-open', after);
      expect(() => under.sender.send('runs-open', SAMPLES['runs-open'])).not.toThrow();
      await eventually(() => expect(after).toHaveBeenCalled(), SOON);
      expect(error).toHaveBeenCalledWith({ signal: 'runs-open', err: broken }, 'a listener failed');
    });

    it('a signal that nobody listens to is lost without a sound', () => {
      for (const signal of NAMES) expect(() => under.sender.send(signal, SAMPLES[signal])).not.toThrow();
      expect(error).not.toHaveBeenCalled();
    });
  });
}
