/** What answers to the page are checked by, and how a place deep in a list and a worker are found. */
import { type Carillon, isCarillonError } from '../../packages/client/src/index.ts';

/** Of one of the lists: what its rows must have, and how many there are. */
export type Row = Readonly<Record<string, unknown>>;
export type Page = { readonly items: readonly Row[]; readonly cursor: string | undefined };

export function full(least: number) {
  return ({ items }: Page): string | undefined =>
    items.length >= least ? undefined : `${items.length} rows, and not at least ${least}`;
}

/** Checks that hold whatever has been added to the store since it was filled. */
const alwaysHolding = new WeakSet<object>();

export function holdsAlways(fault: object | undefined): boolean {
  return fault !== undefined && alwaysHolding.has(fault);
}

export function every(field: string, value: string) {
  const fault = ({ items }: Page): string | undefined =>
    items.every((item) => item[field] === value) ? undefined : `rows with another ${field}`;
  alwaysHolding.add(fault);
  return fault;
}

export function has({ items }: Page, field: string, value: string): boolean {
  return items.some((item) => item[field] === value);
}

/** An order that no index keeps is refused for so many jobs: the page says so. */
export function tooMany(error: unknown): Page {
  if (isCarillonError(error) && (error.status ?? 500) < 500) return { items: [], cursor: undefined };
  throw error;
}

export async function cursorAfter(
  pages: number,
  list: () => { pages(): AsyncIterable<{ cursor: string | undefined }> },
): Promise<string> {
  let cursor = '';
  let read = 0;
  for await (const page of list().pages()) {
    cursor = page.cursor ?? cursor;
    read += 1;
    if (read === pages) break;
  }
  return cursor;
}

export async function workerOf(client: Carillon): Promise<string | undefined> {
  const { items } = await client.workers.list({ limit: 1 }).page();
  return (items[0] as unknown as { worker_id: string } | undefined)?.worker_id;
}
