/**
 * Signals within one process: listeners are called before send returns. A listener that throws is logged and hurts neither
 * the sender nor the other listeners: a hint must never break the one who gives it.
 */
import type { Log } from '@carillon/foundation';
import type { SignalBus, Signals } from './signal-bus.ts';

type Listeners = { [Name in keyof Signals]: Set<{ readonly hear: (signal: Signals[Name]) => void }> };

export class MemorySignalBus implements SignalBus {
  readonly #log: Log;
  readonly #listeners: Listeners = {
    'runs-open': new Set(),
    'shards-due': new Set(),
    'slots-freed': new Set(),
    'cancel-requested': new Set(),
    'workers-asked': new Set(),
    'shards-moved': new Set(),
    'events-recorded': new Set(),
  };

  constructor(options: { readonly log: Log }) {
    this.#log = options.log;
  }

  send<Name extends keyof Signals>(name: Name, signal: Signals[Name]): void {
    // A copy: who starts to listen during the call hears the next signal, not this one.
    for (const listener of [...this.#listeners[name]]) {
      if (!this.#listeners[name].has(listener)) continue;
      try {
        listener.hear(signal);
      } catch (error) {
        this.#log.error({ signal: name, err: error }, 'a listener failed');
      }
    }
  }

  on<Name extends keyof Signals>(name: Name, listener: (signal: Signals[Name]) => void): () => void {
    // Wrapped, so that a function that listens twice is two listeners.
    const entry = { hear: listener };
    this.#listeners[name].add(entry);
    return () => {
      this.#listeners[name].delete(entry);
    };
  }
}
