/**
 * What applying definitions would do, asked of the server before anything is changed: a plan is complete, or it is the list of
 * everything that is wrong.
 */
import { type Carillon, CarillonError, type Job, type JobApplied } from '@carillon/client';
import { optional } from '../commands/actions.ts';
import { fieldOfFlag } from '../commands/job-flags.ts';
import { type CommandFailure, UsageError } from '../errors.ts';
import { explainError } from '../explain-error.ts';
import { type Definitions, type JobSource, type Problem, SET_LABEL } from './read-files.ts';

export interface PlannedJob {
  readonly source: JobSource;
  /** The answer of the dry run. */
  readonly planned: JobApplied;
}

export interface Plan {
  readonly jobs: readonly PlannedJob[];
  /** Of the set, and in no file: they are removed. */
  readonly removed: readonly Job[];
  /** The same where nothing is pruned: they stay. */
  readonly left: readonly Job[];
  /** Of the set too, in namespaces that no file names: how many in each. They stay. */
  readonly elsewhere: ReadonlyMap<string, number>;
}

/** Requests at the same time. */
const AT_ONCE = 8;

export async function mapAtOnce<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let from = 0; from < items.length; from += AT_ONCE)
    results.push(...(await Promise.all(items.slice(from, from + AT_ONCE).map(work))));
  return results;
}

export async function makePlan(
  client: Carillon,
  definitions: Definitions,
  { prune }: { prune: boolean },
): Promise<Plan> {
  const { jobs: sources, problems: found } = definitions;
  const problems: Problem[] = [...found];
  const jobs = await mapAtOnce(sources, async (source): Promise<PlannedJob | undefined> => {
    try {
      return { source, planned: await client.jobs.apply(source.job, { dryRun: true }) };
    } catch (error) {
      problems.push(problemOf(error, source));
      return undefined;
    }
  });
  if (problems.length > 0) throw invalid(problems);
  const planned = jobs.filter((job) => job !== undefined);
  if (prune) return { jobs: planned, left: [], ...(await findRemoved(client, definitions, planned)) };
  // Told besides: whoever may apply and not list is not refused for it.
  const known =
    definitions.set === undefined ? undefined : await optional(findRemoved(client, definitions, planned));
  return { jobs: planned, left: known?.removed ?? [], removed: [], elsewhere: new Map() };
}

/** Only what is wrong with the definition: what concerns all of them ends the command. */
function problemOf(error: unknown, { job, file, lineOf }: JobSource): Problem {
  const isAboutJob = error instanceof CarillonError && [400, 404, 409, 413, 422].includes(error.status ?? 0);
  if (!isAboutJob) throw error;
  const { field, code } = error;
  const meant =
    code === 'field_unknown' && !error.message.includes('Did you mean') && fieldOfFlag(field ?? '');
  const message = meant ? `${error.message} Did you mean "${meant}"?` : error.message;
  return {
    file,
    line: lineOf(field),
    field,
    message: `${job.key}: ${message} ${explainError(error).fix ?? ''}`.trim(),
  };
}

function invalid(problems: readonly Problem[]): CommandFailure {
  const lines = problems
    .toSorted((a, b) => (a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1))
    .map(
      ({ file, line, field, message }) =>
        `${file}:${line}: ${field === undefined ? '' : `${field}: `}${message}`,
    );
  return new UsageError(lines.join('\n'), 'Nothing was applied: correct this first.');
}

/** In the namespaces that the files name, and nowhere else: the same name of a set elsewhere is another set. */
async function findRemoved(
  client: Carillon,
  { namespaces, set }: Definitions,
  planned: readonly PlannedJob[],
): Promise<Pick<Plan, 'removed' | 'elsewhere'>> {
  if (set === undefined)
    throw new UsageError(
      '--prune needs the name of the set that the files make up.',
      'Give --set <name>, or write "set: <name>" beside "jobs:" in the file.',
    );
  const kept = new Set(planned.map(({ planned: { namespace, key } }) => `${namespace} ${key}`));
  const named = new Set(planned.map(({ planned: { namespace } }) => namespace));
  for (const namespace of namespaces) if (namespace !== undefined) named.add(namespace);
  const removed: Job[] = [];
  const elsewhere = new Map<string, number>();
  const query = { label: `${SET_LABEL}:${set}`, limit: 200 };
  for (const namespace of named)
    for await (const job of client.jobs.list({ ...query, namespace, include: 'payload' }))
      if (job.key !== null && !kept.has(`${job.namespace} ${job.key}`)) removed.push(job as Job);
  for await (const { namespace, key } of client.jobs.list(query))
    if (key !== null && !named.has(namespace)) elsewhere.set(namespace, (elsewhere.get(namespace) ?? 0) + 1);
  return { removed, elsewhere };
}
