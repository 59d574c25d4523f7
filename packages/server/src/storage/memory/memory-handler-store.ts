/** What workers say of their handlers, in memory. */
import type { HandlerDescription } from '@carillon/domain';
import type { HandlerStore } from '../handler-store.ts';
import type { MemoryState } from './memory-state.ts';

export class MemoryHandlerStore implements HandlerStore {
  readonly #state: Pick<MemoryState, 'handlers' | 'workers'>;

  constructor(state: Pick<MemoryState, 'handlers' | 'workers'>) {
    this.#state = state;
  }

  async recordHandlers(
    described: readonly HandlerDescription[],
    { nowMs, forgetBeforeMs }: { nowMs: number; forgetBeforeMs: number },
  ): Promise<void> {
    const { handlers, workers } = this.#state;
    for (const { name, description, parameters, origin } of described) {
      if (origin === 'worker' && handlers.get(name)?.handler.origin === 'built_in') continue;
      handlers.set(name, { handler: { name, description, parameters, origin }, seenAtMs: nowMs });
    }
    const offered = new Set([...workers.values()].flatMap((worker) => worker.handlers));
    for (const [name, { seenAtMs }] of handlers) {
      if (seenAtMs < forgetBeforeMs && !offered.has(name)) handlers.delete(name);
    }
  }

  async handlerNames({
    after = '',
    limit,
  }: {
    after?: string | undefined;
    limit: number;
  }): Promise<string[]> {
    const names = [...this.#state.handlers.keys()].filter((name) => name > after);
    return names.sort().slice(0, limit);
  }

  async describeHandlers(names: readonly string[]): Promise<HandlerDescription[]> {
    return names.flatMap((name) => this.#state.handlers.get(name)?.handler ?? []);
  }
}
