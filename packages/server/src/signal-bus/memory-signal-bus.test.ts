import { silentLog } from '@carillon/foundation';
import { describe, expect, it, vi } from 'vitest';
import { describeSignalBus } from './conformance.ts';
import { MemorySignalBus } from './memory-signal-bus.ts';

describeSignalBus('memory signal bus', async () => {
  const bus = new MemorySignalBus();
  return { sender: bus, receiver: bus, close: async () => {} };
});

describe('memory signal bus, beyond the port', () => {
  it('delivers before send returns, in the order of listening', () => {
    const bus = new MemorySignalBus();
    const heard: string[] = [];
    bus.on('cancel-requested', () => heard.push('first'));
    bus.on('cancel-requested', () => heard.push('second'));
    bus.send('cancel-requested', { runIds: [] });
    expect(heard).toEqual(['first', 'second']);
  });

  it('logs what a listener threw', () => {
    const error = vi.fn();
    const bus = new MemorySignalBus({ log: { ...silentLog, error } });
    const broken = new Error('broken');
    bus.on('runs-released', () => {
      throw broken;
    });
    bus.send('runs-released', { runs: [] });
    expect(error).toHaveBeenCalledWith({ signal: 'runs-released', err: broken }, 'a listener failed');
  });

  it('a listener may stop another, or start one, while a signal is delivered', () => {
    const bus = new MemorySignalBus();
    const heard: string[] = [];
    bus.on('runs-released', () => {
      stopSecond();
      bus.on('runs-released', () => heard.push('late'));
    });
    const stopSecond = bus.on('runs-released', () => heard.push('second'));
    bus.send('runs-released', { runs: [] });
    expect(heard).toEqual([]);
    bus.send('runs-released', { runs: [] });
    expect(heard).toEqual(['late']);
  });
});
