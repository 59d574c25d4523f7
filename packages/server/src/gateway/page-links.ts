/** Link headers (RFC 8288) that lead through a list with the same filters. */
import type { FastifyReply, FastifyRequest } from 'fastify';

/** One more than shown is read: it tells whether there is a next page, without counting. */
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
}

export function linkPages(request: FastifyRequest, reply: FastifyReply, links: PageLinks): void {
  const { page, hasMore, next } = links;
  const found: string[] = [];
  const add = (rel: string, name: string, value: string) => {
    found.push(`<${links.address}${withParameter(request.url, name, value)}>; rel="${rel}"`);
  };
  if (hasMore && page === undefined && next) add('next', next.name, next.value);
  else if (hasMore) add('next', 'page', String((page ?? 1) + 1));
  if (page !== undefined && page > 1) add('prev', 'page', String(page - 1));
  if (found.length > 0) reply.header('link', found.join(', '));
}

/** The other way of paging is left out: two places in one list would contradict each other. */
function withParameter(url: string, name: string, value: string): string {
  const [path = '', query = ''] = url.split('?', 2);
  const parameters = new URLSearchParams(query);
  for (const other of ['page', 'after', 'before']) parameters.delete(other);
  parameters.set(name, value);
  return `${path}?${parameters}`;
}
