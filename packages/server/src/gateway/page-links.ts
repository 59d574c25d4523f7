/** Link headers (RFC 8288) that lead through a list with the same filters, and its total where that is known for nothing. */
import type { FastifyReply, FastifyRequest } from 'fastify';

/** One more than is shown: it tells whether there is a next page, without counting. */
export function readLimit(limit: number): number {
  return limit + 1;
}

/** What was read with readLimit, as it is shown. */
export function cutPage<Row>(
  rows: readonly Row[],
  limit: number,
): { shown: readonly Row[]; hasMore: boolean } {
  return { shown: rows.slice(0, limit), hasMore: rows.length > limit };
}

export interface PageLinks {
  readonly address: string;
  /** Counted from 1; undefined when the caller follows places instead. */
  readonly page: number | undefined;
  readonly hasMore: boolean;
  /** The parameter that continues after what is shown; undefined: only page numbers do. */
  readonly next: { readonly name: string; readonly value: string } | undefined;
  /** Looking stopped before the page was full: page numbers lead nowhere from here, the place does. */
  readonly stopped?: boolean;
}

export function linkPages(request: FastifyRequest, reply: FastifyReply, links: PageLinks): void {
  const { page, hasMore, next, stopped = false } = links;
  const found: string[] = [];
  const add = (rel: string, name: string, value: string) => {
    found.push(`<${links.address}${withParameter(request.url, name, value)}>; rel="${rel}"`);
  };
  if (hasMore && (page === undefined || stopped) && next) add('next', next.name, next.value);
  else if (hasMore) add('next', 'page', String((page ?? 1) + 1));
  if (page !== undefined && page > 1) add('prev', 'page', String(page - 1));
  if (found.length > 0) reply.header('link', found.join(', '));
}

/** A list that was read from its start to its end has been counted on the way; nothing else is ever counted. */
export function tellTotal(
  reply: FastifyReply,
  list: {
    readonly page: number | undefined;
    readonly limit: number;
    readonly shown: number;
    readonly ended: boolean;
  },
): void {
  const { page = 1, limit, shown, ended } = list;
  if (ended && (page === 1 || shown > 0)) reply.header('x-total-count', String((page - 1) * limit + shown));
}

/** The other way of paging is left out: two places in one list would contradict each other. */
function withParameter(url: string, name: string, value: string): string {
  const [path = '', query = ''] = url.split('?', 2);
  const parameters = new URLSearchParams(query);
  for (const other of ['page', 'after', 'before']) parameters.delete(other);
  parameters.set(name, value);
  return `${path}?${parameters}`;
}
