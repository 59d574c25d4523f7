/** What workers say of their handlers, in memory. */
import type { HandlerDescription } from '@carillon/domain';
import { BOUND_SCHEMAS_MAX, type BoundSchema, type HandlerStore } from '../handler-store.ts';
import type { MemoryState } from './memory-state.ts';

type State = Pick<MemoryState, 'handlers' | 'boundHandlers' | 'namespaces' | 'workers'>;

export class MemoryHandlerStore implements HandlerStore {
  readonly #state: State;

  constructor(state: State) {
    this.#state = state;
  }

  async recordHandlers(
    described: readonly HandlerDescription[],
    { nowMs, forgetBeforeMs }: { nowMs: number; forgetBeforeMs: number },
  ): Promise<void> {
    const { handlers } = this.#state;
    for (const { name, description, parameters, origin } of described) {
      if (origin === 'worker' && handlers.get(name)?.handler.origin === 'built_in') continue;
      handlers.set(name, { handler: { name, description, parameters, origin }, seenAtMs: nowMs });
    }
    const offered = this.#offered();
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

  async recordBound(
    schemas: readonly BoundSchema[],
    { nowMs, forgetBeforeMs }: { nowMs: number; forgetBeforeMs: number },
  ): Promise<void> {
    const { boundHandlers: known, namespaces } = this.#state;
    for (const { namespace, name, parameters } of schemas) {
      if (!namespaces.has(namespace)) continue;
      known.delete(keyOf({ namespace, name }));
      known.set(keyOf({ namespace, name }), { namespace, name, parameters, seenAtMs: nowMs });
    }
    const offered = this.#offered();
    for (const [key, { name, seenAtMs }] of known)
      if (seenAtMs < forgetBeforeMs && !offered.has(name)) known.delete(key);
    for (const [, own] of Map.groupBy(known.values(), ({ namespace }) => namespace))
      for (const oldest of own.slice(0, -BOUND_SCHEMAS_MAX)) known.delete(keyOf(oldest));
  }

  async boundSchemas(asked: readonly Pick<BoundSchema, 'namespace' | 'name'>[]): Promise<BoundSchema[]> {
    return asked.flatMap((one) => {
      const known = this.#state.boundHandlers.get(keyOf(one));
      return known ? [{ namespace: known.namespace, name: known.name, parameters: known.parameters }] : [];
    });
  }

  #offered(): Set<string> {
    return new Set([...this.#state.workers.values()].flatMap((worker) => worker.handlers));
  }
}

function keyOf({ namespace, name }: Pick<BoundSchema, 'namespace' | 'name'>): string {
  return `${namespace} ${name}`;
}
