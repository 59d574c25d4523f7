import { silentLog } from '@carillon/foundation';
import { describe, expect, it } from 'vitest';
import { describeSignalBus } from './conformance.ts';
import { MemorySignalBus } from './memory-signal-bus.ts';

describeSignalBus('memory signal bus', async (log) => {
  const bus = new MemorySignalBus({ log });
  return { sender: bus, receiver: bus, close: async () => {} };
});

describe('memory signal bus, beyond the port', () => {
  it('delivers before send returns, in the order of listening', () => {
    const bus = new MemorySignalBus({ log: silentLog });
    const heard: string[] = [];
    bus.on('cancel-requested', () => heard.push('first'));
    bus.on('cancel-requested', () => heard.push('second'));
    bus.send('cancel-requested', { runIds: [] });
    expect(heard).toEqual(['first', 'second']);
  });

  it('a listener may stop another, or start one, while a signal is delivered', () => {
    const bus = new MemorySignalBus({ log: silentLog });
    const heard: string[] = [];
    bus.on('slots-freed', () => {
      stopSecond();
      bus.on('slots-freed', () => heard.push('late'));
    });
    const stopSecond = bus.on('slots-freed', () => heard.push('second'));
    bus.send('slots-freed', { jobIds: [] });
    expect(heard).toEqual([]);
    bus.send('slots-freed', { jobIds: [] });
    expect(heard).toEqual(['late']);
  });
});
