/** How much of a list is shown, and the word that there is more. */
import type { List } from '@carillon/client';
import type { OptionSpec } from '../command.ts';
import type { Output } from '../output/output.ts';
import { readCount } from './read-number.ts';

export const LIMIT_OPTION: OptionSpec = {
  flags: '-n, --limit <count>',
  description: 'Show at most so many; 0 for all',
  fallback: '50',
};

/** Entries of one request; more are asked for page by page. */
export const PAGE_MAX = 200;

export function pageSize(limit: string): number {
  const count = readCount(limit, '--limit') ?? 0;
  return count === 0 ? PAGE_MAX : Math.min(count, PAGE_MAX);
}

/** Reads one entry more than is shown, to know whether there are any. */
export async function readLimited<T>(list: List<T>, limit: string, out: Output): Promise<T[]> {
  const count = readCount(limit, '--limit') ?? 0;
  if (count === 0) return list.toArray();
  const found: T[] = [];
  for await (const { items, hasMore } of list.pages()) {
    found.push(...items);
    if (found.length < count) continue;
    if (found.length > count || hasMore) out.note(`There are more: -n ${count * 2}, or -n 0 for all.`);
    break;
  }
  return found.slice(0, count);
}
