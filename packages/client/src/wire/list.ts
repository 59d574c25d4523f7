/**
 * A list of the server, read page by page as it is walked: `for await` goes over all of it, `page()` gives the first part
 * alone. Nothing is asked for before somebody reads. Each page tells the cursor after it, where another list can go on, also
 * in another process.
 */
import type { Call, Transport } from './transport.ts';

export interface ListPage<T> {
  readonly items: T[];
  readonly hasMore: boolean;
  /** Goes on after this page, with `from`. A list that grows has one after its last page too. */
  readonly cursor: string | undefined;
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

  /** The same list after the page that answered this cursor, with the filters and the limit that it was read with. */
  from(cursor: string): List<T> {
    return new List(this.#transport, { ...this.#call, query: queryOf(new URLSearchParams(cursor)) });
  }

  /** The first page, as the limit of the query cuts it. */
  async page(): Promise<ListPage<T>> {
    for await (const page of this.pages()) return page;
    return { items: [], hasMore: false, cursor: undefined, total: 0 };
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
        cursor: found && cursorOf(found),
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
  return queryOf(new URL(target, 'http://server').searchParams);
}

function queryOf(parameters: URLSearchParams): Record<string, string[]> {
  const query: Record<string, string[]> = {};
  for (const [name, value] of parameters) query[name] = [...(query[name] ?? []), value];
  return query;
}

/** The whole query, since lists name their position differently and a position holds for its filters only. */
function cursorOf(query: Readonly<Record<string, readonly string[]>>): string {
  const parameters = new URLSearchParams();
  for (const [name, values] of Object.entries(query))
    for (const value of values) parameters.append(name, value);
  return parameters.toString();
}
