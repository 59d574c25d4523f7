/**
 * A list of the server, read page by page as it is walked: `for await` goes over all of it, `page()` gives the first part
 * alone. Nothing is asked for before somebody reads.
 */
import type { Call, Transport } from './transport.ts';

export interface ListPage<T> {
  readonly items: T[];
  readonly hasMore: boolean;
  /** Where the server says it, the number of all entries. */
  readonly total: number | undefined;
}

export class List<T> implements AsyncIterable<T> {
  readonly #transport: Transport;
  readonly #call: Call;

  constructor(transport: Transport, call: Omit<Call, 'method'>) {
    this.#transport = transport;
    this.#call = { ...call, method: 'GET' };
  }

  /** The first page, as the limit of the query cuts it. */
  async page(): Promise<ListPage<T>> {
    for await (const page of this.pages()) return page;
    return { items: [], hasMore: false, total: 0 };
  }

  async *pages(): AsyncGenerator<ListPage<T>, void, undefined> {
    let call: Call | undefined = this.#call;
    while (call) {
      const { body, headers } = await this.#transport.answer<T[]>(call);
      const found = nextQuery(headers.get('link'));
      // A list that grows always links on, in the end to the same place again.
      const next: Call['query'] = isSame(found, call.query) ? undefined : found;
      const total = headers.get('x-total-count');
      yield {
        items: body,
        hasMore: next !== undefined,
        total: total === null ? undefined : Number(total),
      };
      call = next && { ...this.#call, query: next };
    }
  }

  /** All of it at once; `max` bounds what is read. */
  async toArray({ max = Number.POSITIVE_INFINITY }: { max?: number } = {}): Promise<T[]> {
    const found: T[] = [];
    if (max <= 0) return found;
    for await (const item of this) {
      found.push(item);
      if (found.length >= max) break;
    }
    return found;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const { items } of this.pages()) yield* items;
  }
}

function isSame(a: Call['query'], b: Call['query']): boolean {
  return a !== undefined && JSON.stringify(a) === JSON.stringify(b);
}

/** Only the query is taken from the link: where the server is, this client knows better than a proxy between them. */
export function nextQuery(link: string | null): Record<string, string[]> | undefined {
  const target = link?.match(/<([^>]*)>\s*;[^,]*\brel="?next"?/)?.[1];
  if (target === undefined) return undefined;
  const query: Record<string, string[]> = {};
  for (const [name, value] of new URL(target, 'http://server').searchParams) {
    query[name] = [...(query[name] ?? []), value];
  }
  return query;
}
