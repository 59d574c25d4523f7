/** Handlers: what jobs can name, what each takes, and how many workers offer it. */
import {
  type Caller,
  type HandlerDescription,
  type HandlerOrigin,
  Refusal,
  requireMay,
} from '@carillon/domain';
import type { HandlerStore } from '../storage/handler-store.ts';
import type { MemberStore } from '../storage/member-store.ts';
import type { OperationPorts } from './operation-ports.ts';

export interface ListedHandler extends Omit<HandlerDescription, 'origin'> {
  /** Undefined: a worker offers it and has not said more of it. */
  readonly origin: HandlerOrigin | undefined;
  /** Living workers that offer it. */
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
      const [recorded, counts] = await Promise.all([handlers.handlerNames(), offersOf(members)]);
      const names = [...new Set([...recorded, ...counts.keys()])].sort();
      const at = after === undefined ? -1 : names.indexOf(after);
      if (after !== undefined && at < 0) {
        const message = 'cursor is no position of this list; take it as it is from the Link header.';
        throw new Refusal('field_invalid', message, { field: 'cursor' });
      }
      return describe(handlers, names.slice(at + 1, at + 1 + limit), counts);
    },

    async getHandler(caller: Caller, name: string): Promise<ListedHandler> {
      requireMay(caller, 'handlers.read');
      const [found] = await describe(handlers, [name], await offersOf(members));
      if (found && (found.origin !== undefined || found.workers > 0)) return found;
      throw new Refusal('handler_not_found', `No worker offers a handler ${name}, or has offered it lately.`);
    },
  };
}

/** How many living workers offer each handler. */
async function offersOf(members: Pick<MemberStore, 'workers'>): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const { alive, handlers } of await members.workers()) {
    if (alive) for (const name of handlers) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
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
