/** Handlers: what jobs can name, what each takes, and how many workers offer it. */
import {
  type Caller,
  EVERYWHERE,
  type HandlerDescription,
  type HandlerOrigin,
  Refusal,
  requireMay,
  visibleTo,
} from '@carillon/domain';
import type { HandlerStore } from '../storage/handler-store.ts';
import type { OperationPorts } from './operation-ports.ts';

export interface ListedHandler extends Omit<HandlerDescription, 'origin'> {
  /** Undefined: a worker offers it and has not said more of it. */
  readonly origin: HandlerOrigin | undefined;
  /** Living workers that offer it to namespaces that the caller sees. */
  readonly workers: number;
}

export function handlerOperations({ storage }: OperationPorts) {
  const { handlers, members } = storage;
  return {
    /** By name, after the given one. */
    async listHandlers(
      caller: Caller,
      { after, limit }: { after?: string | undefined; limit: number },
    ): Promise<ListedHandler[]> {
      requireMay(caller, 'handlers.read');
      const namespaces = namespacesOf(caller);
      const [recorded, offers] = await Promise.all([
        handlers.handlerNames({ after, limit }),
        members.offers({ namespaces, after, limit }),
      ]);
      const counts = new Map(offers.map(({ handler, workers }) => [handler, workers]));
      const names = [...new Set([...recorded, ...counts.keys()])].sort();
      return describe(handlers, names.slice(0, limit), counts);
    },

    async getHandler(caller: Caller, name: string): Promise<ListedHandler> {
      requireMay(caller, 'handlers.read');
      const { length: workers } = await members.workersOffering(name, namespacesOf(caller));
      const [found] = await describe(handlers, [name], new Map([[name, workers]]));
      if (found && (found.origin !== undefined || found.workers > 0)) return found;
      throw new Refusal('handler_not_found', `No worker offers a handler ${name}, or has offered it lately.`);
    },
  };
}

/**
 * Undefined: all. What is offered to other namespaces alone looks as if nobody offered it. What is recorded of handlers comes from workers
 * of all namespaces, and is for everybody.
 */
function namespacesOf(caller: Caller): readonly string[] | undefined {
  const visible = visibleTo(caller, 'handlers.read')?.map(({ namespace }) => namespace);
  return visible?.includes(EVERYWHERE) ? undefined : visible;
}

async function describe(
  store: HandlerStore,
  names: readonly string[],
  counts: ReadonlyMap<string, number>,
): Promise<ListedHandler[]> {
  const known = new Map((await store.describeHandlers(names)).map((handler) => [handler.name, handler]));
  const nothing = { description: undefined, parameters: undefined, origin: undefined };
  return names.map((name) => ({ ...(known.get(name) ?? nothing), name, workers: counts.get(name) ?? 0 }));
}
