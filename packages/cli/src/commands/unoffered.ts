/** Handlers that no worker offers: their runs wait, and nothing but these words says so before one is looked at. */
import type { Cli } from '../cli.ts';
import { optional } from './actions.ts';

export interface Unoffered {
  /** That no living worker offers. */
  readonly missing: ReadonlySet<string>;
  readonly offered: ReadonlySet<string>;
}

/** Undefined where workers cannot be seen: who may not list them cannot be warned. */
export async function findUnoffered(
  cli: Cli,
  handlers: readonly (string | null | undefined)[],
): Promise<Unoffered | undefined> {
  const wanted = new Set(handlers.flatMap((handler) => handler || []));
  const offered = new Set<string>();
  if (wanted.size === 0) return { missing: wanted, offered };
  const list = async () => (await cli.client()).workers.list().toArray();
  const workers = await optional(list());
  for (const worker of workers ?? [])
    if (worker.alive) for (const handler of worker.handlers) offered.add(handler);
  const missing = new Set([...wanted].filter((handler) => !offered.has(handler)));
  return workers && { missing, offered };
}

/** Their jobs wait, and nothing else shows why. */
export async function warnOfUnoffered(
  cli: Cli,
  handlers: readonly (string | null | undefined)[],
): Promise<void> {
  const { missing, offered } = (await findUnoffered(cli, handlers)) ?? { missing: [], offered: [] };
  for (const handler of missing)
    cli.out.warn(
      `no worker offers the handler "${handler}" at the moment; runs will wait until one does. ${await adviceOn(handler, offered)}`.trim(),
    );
}

async function adviceOn(handler: string, offered: Iterable<string>): Promise<string> {
  if (handler === 'script') return SCRIPTS_OFF;
  // Only here: most commands need nothing of it, and it takes long to load.
  const { nearestWord } = await import('@carillon/contract');
  const meant = nearestWord(handler, offered);
  return meant === undefined ? '' : `Did you mean "${meant}"?`;
}

/** Servers that others can reach run no scripts unless they are told to. */
const SCRIPTS_OFF =
  'The server was started without scripts: start it with --script-enabled, or a worker for scripts beside it: carillon worker --handlers script (docs/scripts.md).';
