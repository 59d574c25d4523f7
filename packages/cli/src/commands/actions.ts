/** What several commands do: show a list, act on each id, change everything that matches. */
import { type Carillon, CarillonError, type List } from '@carillon/client';
import type { Cli } from '../cli.ts';
import { type Call, type CommandSpec, type CommandText, command } from '../command.ts';
import { EXIT } from '../errors.ts';
import { explainError } from '../explain-error.ts';
import { type Flags, LIMIT, type Values, YES } from '../flags.ts';
import { confirm } from '../output/ask.ts';
import type { Output } from '../output/output.ts';
import { type ProgressBar, withBar } from '../output/progress.ts';
import type { Column } from '../output/table.ts';
import { countOf } from '../output/text.ts';

/** Entries of one request; a longer list is read page by page. */
export const PAGE_MAX = 1_000;

/** One more than is shown: a list without pages tells by it that there are more. */
export function pageSize(limit: number): number {
  return limit === 0 ? PAGE_MAX : Math.min(limit + 1, PAGE_MAX);
}

/** Reads as many entries as are shown (0: all), and says so when there are more. */
export async function readLimited<T>(list: List<T>, limit: number, out: Output): Promise<T[]> {
  const found: T[] = [];
  for await (const { items, hasMore, cursor } of list.pages()) {
    found.push(...items);
    const isInOnePiece = cursor === undefined && found.length === items.length;
    if (isInOnePiece && items.length === PAGE_MAX && (limit === 0 || limit >= PAGE_MAX))
      out.note(`There may be more: the server lists at most ${PAGE_MAX} of these at once.`);
    if (limit === 0 || found.length < limit) continue;
    if (found.length > limit || hasMore) out.note(`There are more: -n ${limit * 2}, or -n 0 for all.`);
    break;
  }
  return limit === 0 ? found : found.slice(0, limit);
}

export interface ListSpec<F extends Flags, T> extends CommandText {
  /** Filters, and --sort; --limit comes after them, unless all entries are shown. */
  readonly options?: F;
  readonly all?: boolean;
  readonly read: (
    client: Carillon,
    query: Values<F> & { readonly limit: number },
  ) => List<T> | Promise<List<T>>;
  readonly columns: (out: Output, items: readonly T[]) => readonly Column<T>[];
  readonly empty: string | ((options: Values<F>) => string);
  /** Instead of `empty` when filters were given. */
  readonly noMatch?: string;
}

/** A command that shows a list of the server. */
export function listCommand<F extends Flags, T>(
  name: string,
  summary: string,
  { options: filters, all = false, read, columns, empty, noMatch, ...rest }: ListSpec<F, T>,
): CommandSpec {
  return command(name, summary, {
    ...rest,
    options: { ...filters, ...(!all && { limit: LIMIT }) },
    async run({ options: { limit = 0, ...given }, cli }) {
      const options = given as unknown as Values<F>;
      const client = await cli.client();
      const list = await read(client, { ...options, limit: pageSize(limit) });
      const items = await readLimited(list, limit, cli.out);
      const isFiltered = Object.keys(options).some((option) => option !== 'sort');
      const whenEmpty = typeof empty === 'string' ? empty : empty(options);
      const told = (isFiltered ? noMatch : undefined) ?? whenEmpty;
      cli.out.list(items, columns(cli.out, items), { empty: `${told}${await whereText(cli, options)}` });
    },
  });
}

/** Says that only the namespace of the context was looked at, where nobody named it. */
async function whereText(cli: Cli, options: object): Promise<string> {
  if (!('namespace' in options)) return '';
  const namespace = await cli.defaultNamespace();
  if (namespace === undefined || options.namespace !== namespace) return '';
  return ` Only the namespace ${namespace} was looked at; --all-namespaces looks everywhere.`;
}

/** One answer for each id. What the server refuses is reported, and the other ids are still processed. */
export async function forEachId<T>(
  cli: Cli,
  ids: readonly string[],
  act: (id: string) => Promise<{ answer: T; sentence: string }>,
): Promise<number> {
  let exitCode: number = EXIT.ok;
  for (const id of ids) {
    try {
      const { answer, sentence } = await act(id);
      cli.out.entry(answer, sentence);
    } catch (error) {
      // Only a response about this id; every other error concerns all of them.
      if (!(error instanceof CarillonError) || error.status === undefined) throw error;
      const explained = explainError(error);
      const { message } = explained;
      cli.out.failure({ ...explained, message: message.includes(id) ? message : `${id}: ${message}` });
      exitCode = explained.exitCode;
    }
  }
  return exitCode;
}

export interface EachIdSpec<T> extends CommandText {
  /** Of what cannot be undone: `Cancel this job for good?` is asked before anything is done, unless --yes is given. */
  readonly question?: (count: number) => string;
  readonly act: (client: Carillon, id: string) => Promise<T>;
  /** Several ids by fewer requests: what became of each, by its id. */
  readonly actOnMany?: (client: Carillon, ids: readonly string[]) => Promise<(id: string) => T>;
  readonly sentence: (id: string, answer: T) => string;
}

/** A command that does the same to each of its arguments. */
export function eachIdCommand<T>(
  name: string,
  summary: string,
  { act, actOnMany, sentence, question, ...rest }: EachIdSpec<T>,
): CommandSpec {
  return command(name, summary, {
    ...rest,
    ...(question && { options: { yes: YES } }),
    async run({ args, options: { yes }, cli }: Call<{ yes?: boolean }>) {
      const client = await cli.client();
      if (question && !(await isConfirmed(cli, { yes, question: question(args.length) }))) return EXIT.ok;
      const resultOf = args.length > 1 ? await actOnMany?.(client, args) : undefined;
      return forEachId(cli, args, async (id) => {
        const answer = resultOf ? resultOf(id) : await act(client, id);
        return { answer, sentence: sentence(id, answer) };
      });
    },
  });
}

/** Undefined where the request fails: for what a command shows besides its result. */
export async function optional<T>(
  request: Promise<T>,
  isExpected: (error: CarillonError) => boolean = () => true,
): Promise<T | undefined> {
  return request.catch((error: unknown) => {
    if (error instanceof CarillonError && isExpected(error)) return undefined;
    throw error;
  });
}

/** Asks unless --yes was given; `otherwise` is the note for "no". Where nobody can be asked, it throws. */
export async function isConfirmed(
  cli: Cli,
  {
    yes,
    question,
    otherwise = 'Nothing was changed.',
  }: { yes: boolean | undefined; question: string; otherwise?: string },
): Promise<boolean> {
  if (yes || (await confirm(question, cli.world))) return true;
  cli.out.note(otherwise);
  return false;
}

interface PartReport {
  readonly matched: number;
  readonly refused: number;
  /** Where the next request continues; null after the last one. */
  readonly next: string | null;
}

export interface Change<R extends PartReport> {
  /** What is changed, in the singular. */
  readonly noun: string;
  readonly dryRun: boolean | undefined;
  readonly yes: boolean | undefined;
  readonly max?: number | undefined;
  readonly question: (matched: string) => string;
  /** `from`: `next` of the report before. `left`: how many items may still be changed. */
  readonly send: (part: { dryRun: boolean; from: string | undefined; left: number }) => Promise<R>;
  readonly sentence: (report: R) => string;
}

/** Changes everything that matches: counts it first, asks, then changes it with a progress bar. */
export async function changeMatching<R extends PartReport>(cli: Cli, change: Change<R>): Promise<number> {
  const { noun, dryRun, yes, sentence } = change;
  const counted = await sendInParts(change, true);
  const matched = countOf(counted.matched, noun);
  if (dryRun) {
    cli.out.done(counted, `Matching: ${matched}. Nothing was changed.`);
    return EXIT.ok;
  }
  const question = change.question(matched);
  if (counted.matched === 0) {
    cli.out.done(counted, `No ${noun} matches. Nothing was changed.`);
    return EXIT.ok;
  }
  if (!(await isConfirmed(cli, { yes, question }))) return EXIT.ok;
  const report = await withBar(cli.out.terminal, counted.matched, (bar) => sendInParts(change, false, bar));
  cli.out.done(report, sentence(report));
  return report.refused > 0 ? EXIT.failed : EXIT.ok;
}

/** The server processes a bounded number of items per request: repeats until none is left, and adds up the reports. */
async function sendInParts<R extends PartReport>(
  { send, max = Number.POSITIVE_INFINITY }: Change<R>,
  dryRun: boolean,
  bar?: ProgressBar,
): Promise<R> {
  let total: R | undefined;
  do {
    const left = max - (total?.matched ?? 0);
    const part: R = await send({ dryRun, from: total?.next ?? undefined, left });
    bar?.advance(part.matched);
    total = total ? added(total, part) : part;
  } while (total.next !== null && total.matched < max);
  return total;
}

/** Numbers are added; the rest is that of the first report, except where to continue. */
function added<R extends PartReport>(total: R, part: R): R {
  const sums = Object.entries(total).map(([name, value]) => [
    name,
    typeof value === 'number' ? value + Number(part[name as keyof R]) : value,
  ]);
  return { ...Object.fromEntries(sums), next: part.next };
}
