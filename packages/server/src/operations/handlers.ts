/** Handlers: what jobs can name, what each takes, and how many workers offer it. */
import {
  type Caller,
  type HandlerDescription,
  type HandlerOrigin,
  Refusal,
  requireMay,
} from '@carillon/domain';
import type { OperationPorts } from './operation-ports.ts';

export interface ListedHandler extends Omit<HandlerDescription, 'origin'> {
  /** Undefined: a worker offers it and has not said more of it. */
  readonly origin: HandlerOrigin | undefined;
  /** Living workers that offer it. */
  readonly workers: number;
}

export function handlerOperations({ storage: { handlers, members } }: OperationPorts) {
  async function offers(): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    for (const { alive, handlers: names } of await members.workers()) {
      if (alive) for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    return counts;
  }

  async function describe(names: readonly string[], counts: Map<string, number>): Promise<ListedHandler[]> {
    const known = new Map((await handlers.describeHandlers(names)).map((handler) => [handler.name, handler]));
    const nothing = { description: undefined, parameters: undefined, origin: undefined };
    return names.map((name) => ({ ...(known.get(name) ?? nothing), name, workers: counts.get(name) ?? 0 }));
  }

  return {
    /** By name, after the given one. */
    async listHandlers(
      caller: Caller,
      { after, limit }: { after?: string | undefined; limit: number },
    ): Promise<ListedHandler[]> {
      requireMay(caller, 'handlers.read');
      const [recorded, counts] = await Promise.all([handlers.handlerNames(), offers()]);
      const names = [...new Set([...recorded, ...counts.keys()])].sort();
      const at = after === undefined ? -1 : names.indexOf(after);
      if (after !== undefined && at < 0) {
        const message = 'cursor is no position of this list; take it as it is from the Link header.';
        throw new Refusal('field_invalid', message, { field: 'cursor' });
      }
      return describe(names.slice(at + 1, at + 1 + limit), counts);
    },

    async getHandler(caller: Caller, name: string): Promise<ListedHandler> {
      requireMay(caller, 'handlers.read');
      const [found] = await describe([name], await offers());
      if (found && (found.origin !== undefined || found.workers > 0)) return found;
      throw new Refusal('handler_not_found', `No worker offers a handler ${name}, or has offered it lately.`);
    },
  };
}
