/** `apply`, `diff` and `export`: jobs as files that are kept in a repository. */
import { type Carillon, CarillonError, type Job, type JobApplied } from '@carillon/client';
import type { Cli } from '../cli.ts';
import { type CommandSpec, command } from '../command.ts';
import { definitionText, exportJob } from '../definitions/export-job.ts';
import { unifiedDiff } from '../definitions/line-diff.ts';
import { makePlan, mapAtOnce, type Plan, type PlannedJob } from '../definitions/plan.ts';
import { type Definitions, readDefinitions, SET_LABEL } from '../definitions/read-files.ts';
import { EXIT, UsageError } from '../errors.ts';
import { explainError } from '../explain-error.ts';
import { choice, contextNamespace, IN_NAMESPACE, labelFilter, text, texts, toggle, YES } from '../flags.ts';
import { countOf, plainText } from '../output/text.ts';
import { isConfirmed } from './actions.ts';
import { schedulesInWords } from './schedule-words.ts';
import { warnOfUnoffered } from './unoffered.ts';

const SOURCE = {
  file: texts(
    '-f, --file <path>',
    'File of jobs in YAML or JSON, or a folder of them; - reads the standard input; may be repeated',
  ),
  namespace: contextNamespace('Namespace of jobs where their file names none'),
  set: text('--set <name>', 'What the files make up together; --prune removes only jobs of this set'),
};

interface Source {
  readonly file?: readonly string[];
  readonly namespace?: string;
  readonly set?: string;
}

async function planOf(
  cli: Cli,
  { file: paths = [], namespace, set }: Source,
  prune: boolean,
): Promise<{ client: Carillon; plan: Plan; definitions: Definitions }> {
  if (paths.length === 0) throw new UsageError('Say which files are meant.', 'Such as -f jobs.yaml.');
  const definitions = await readDefinitions({ paths, world: cli.world, namespace, set });
  const client = await cli.client();
  const plan = await makePlan(client, definitions, { prune });
  for (const [place, count] of plan.elsewhere)
    cli.out.note(
      `The set ${definitions.set} also has ${countOf(count, 'job')} in the namespace ${place}, which no file names, so nothing is removed there. To remove them, apply a file with "namespace: ${place}" and "jobs: []".`,
    );
  if (plan.left.length > 0)
    cli.out.note(
      `${countOf(plan.left.length, 'job')} of the set ${definitions.set} that no file describes any more ${plan.left.length === 1 ? 'stays' : 'stay'} (${someOf(plan.left)}): --prune removes ${plan.left.length === 1 ? 'it' : 'them'}.`,
    );
  for (const set of setsLeft(plan, definitions))
    cli.out.note(`Applied before with --set ${set}: without it, these jobs leave that set.`);
  return { client, definitions, plan };
}

const NAMED_MAX = 5;

function someOf(jobs: readonly Job[]): string {
  const keys = jobs.slice(0, NAMED_MAX).map(({ key }) => key);
  return [...keys, ...(jobs.length > NAMED_MAX ? ['…'] : [])].join(', ');
}

/** The sets that jobs would leave, because none was named this time. */
function setsLeft({ jobs }: Plan, { set }: Definitions): Set<string> {
  if (set !== undefined) return new Set();
  const before = jobs.map(({ planned }) => beforeOf(planned)?.labels?.[SET_LABEL]);
  const after = jobs.map(({ planned }) => planned.labels?.[SET_LABEL]);
  return new Set(before.filter((one, i) => one !== undefined && after[i] === undefined).map(String));
}

const SCHEDULE_FIELDS = new Set(['cron_expression', 'interval', 'schedule_time', 'time_zone', 'start_at']);

/** By key and namespace, of jobs whose schedule is new. */
async function newSchedules(client: Carillon, { jobs }: Plan): Promise<ReadonlyMap<string, string>> {
  const changed = jobs.flatMap(({ planned }) =>
    planned.outcome === 'created' || planned.changes.some(({ field }) => SCHEDULE_FIELDS.has(field))
      ? [planned]
      : [],
  );
  const words = await schedulesInWords(client, changed);
  return new Map([...words].flatMap(([job, text]) => (text === undefined ? [] : [[placeOf(job), text]])));
}

const placeOf = ({ namespace, key }: Pick<JobApplied, 'namespace' | 'key'>) => `${namespace}/${key}`;

interface Row {
  readonly outcome: 'created' | 'updated' | 'unchanged' | 'removed' | 'failed';
  readonly namespace: string;
  readonly key: string | null;
  readonly job_id: string | null;
  readonly changes: JobApplied['changes'];
}

const rowOf = ({ outcome, namespace, key, job_id, changes }: JobApplied): Row => ({
  ...{ outcome, namespace, key, job_id, changes },
});
const removedRow = ({ namespace, key, job_id }: Job): Row => ({
  ...{ outcome: 'removed', namespace, key, job_id, changes: [] },
});

const apply = command('apply', 'Make the jobs be as files describe them', {
  details:
    'A job is known by its key: it is created, or replaced where it differs. Applying the same files again changes nothing. Where one definition is not valid, nothing is applied.',
  options: {
    ...SOURCE,
    dryRun: toggle('--dry-run', 'Only show what would be done'),
    prune: toggle(
      '--prune',
      'Remove jobs of the set that are in no file any more: they are cancelled and deleted',
    ),
    yes: YES,
  },
  examples: [
    'carillon apply -f jobs.yaml',
    'carillon apply -f jobs/ --set billing --prune --dry-run',
    'carillon apply -f - --dry-run < jobs.yaml',
  ],
  async run({ options: { dryRun = false, prune = false, yes, ...source }, cli }) {
    const { client, plan } = await planOf(cli, source, prune);
    const schedules = cli.out.json ? new Map() : await newSchedules(client, plan);
    const handlers = plan.jobs.map(({ planned }) => planned.handler);
    if (dryRun) {
      showRows(cli, rowsOf(plan), { prefix: 'would be ', schedules });
      await warnOfUnoffered(cli, handlers);
      return EXIT.ok;
    }
    if (plan.removed.length > 0 && !yes) {
      for (const { namespace, key, name } of plan.removed) cli.out.note(`  ${namespace}/${key}  ${name}`);
      const question = `Remove ${countOf(plan.removed.length, 'job')} that no file describes any more?`;
      if (!(await isConfirmed(cli, { yes, question, otherwise: 'Nothing was changed.' }))) return EXIT.ok;
    }
    const rows = [
      ...(await mapAtOnce(plan.jobs, (planned) => applyOne(cli, client, planned))),
      ...(await mapAtOnce(plan.removed, (job) => removeOne(cli, client, job))),
    ];
    showRows(cli, rows, { prefix: '', schedules });
    await warnOfUnoffered(cli, handlers);
    return rows.some(({ outcome }) => outcome === 'failed') ? EXIT.failed : EXIT.ok;
  },
});

const rowsOf = ({ jobs, removed }: Plan): Row[] => [
  ...jobs.map(({ planned }) => rowOf(planned)),
  ...removed.map(removedRow),
];

async function applyOne(cli: Cli, client: Carillon, { source, planned }: PlannedJob): Promise<Row> {
  if (planned.outcome === 'unchanged') return rowOf(planned);
  return orFailed(cli, rowOf(planned), async () => rowOf(await client.jobs.apply(source.job)));
}

function removeOne(cli: Cli, client: Carillon, job: Job): Promise<Row> {
  return orFailed(cli, removedRow(job), async () => {
    await client.jobs.remove(job.job_id);
    return removedRow(job);
  });
}

/** What was judged before may have changed meanwhile: that one fails, and the others are still applied. */
async function orFailed(cli: Cli, row: Row, work: () => Promise<Row>): Promise<Row> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof CarillonError) || error.status === undefined) throw error;
    const explained = explainError(error);
    cli.out.failure({ ...explained, message: `${row.namespace}/${row.key}: ${explained.message}` });
    return { ...row, outcome: 'failed', changes: [] };
  }
}

function showRows(
  cli: Cli,
  rows: readonly Row[],
  { prefix, schedules }: { prefix: string; schedules: ReadonlyMap<string, string> },
): void {
  const changed = rows.filter(({ outcome }) => outcome !== 'unchanged');
  const unchanged = rows.length - changed.length;
  cli.out.list(
    changed,
    [
      { header: 'OUTCOME', value: ({ outcome }) => outcome, fixed: true },
      { header: 'KEY', value: ({ key }) => key },
      { header: 'NAMESPACE', value: ({ namespace }) => namespace },
      { header: 'CHANGES', value: ({ changes }) => changes.map(({ field }) => field).join(' ') },
      { header: 'SCHEDULE', value: (row) => schedules.get(placeOf(row)) },
    ],
    { empty: `Nothing changes: ${countOf(unchanged, 'job')} as described.`, json: rows },
  );
  if (changed.length === 0) return;
  const counts = (['created', 'updated', 'removed', 'failed'] as const).flatMap((outcome) => {
    const count = changed.filter((row) => row.outcome === outcome).length;
    return count === 0 ? [] : [`${count} ${prefix}${outcome}`];
  });
  cli.out.note(`${counts.join(', ')}, ${unchanged} unchanged.`);
}

const diff = command('diff', 'Show how the jobs differ from files', {
  details:
    'The exit code is that of diff(1): 0 without differences, 1 when there are some, 2 for every error, such as a server that does not answer. Nothing is changed.',
  troubleExit: EXIT.usage,
  options: { ...SOURCE, prune: toggle('--prune', 'Also jobs of the set that are in no file any more') },
  examples: ['carillon diff -f jobs.yaml', 'carillon diff -f jobs/ --set billing --prune'],
  async run({ options: { prune = false, ...source }, cli }) {
    const { plan } = await planOf(cli, source, prune);
    const rows = rowsOf(plan).filter(({ outcome }) => outcome !== 'unchanged');
    if (cli.out.json) cli.out.done(rows, '');
    else {
      for (const { source: from, planned } of plan.jobs)
        if (planned.outcome !== 'unchanged')
          showDiff(cli, {
            before: beforeOf(planned),
            after: planned as Job,
            file: `${from.file}:${from.lineOf(undefined)}`,
          });
      for (const job of plan.removed) showDiff(cli, { before: job, after: undefined, file: 'in no file' });
    }
    if (rows.length === 0) cli.out.note('There are no differences.');
    return rows.length === 0 ? EXIT.ok : EXIT.failed;
  },
});

/** The job as it is on the server: the answer of the dry run, with the fields as they were. */
function beforeOf(planned: JobApplied): Job | undefined {
  if (planned.outcome === 'created') return undefined;
  const was = Object.fromEntries(planned.changes.map(({ field, before }) => [field, before]));
  return { ...planned, ...was } as Job;
}

function showDiff(
  { out }: Cli,
  { before, after, file }: { before: Job | undefined; after: Job | undefined; file: string },
): void {
  const { namespace, key } = (after ?? before)!;
  // The status is no part of a definition, but a cancelled job comes back.
  const textOf = (job: Job | undefined) =>
    job
      ? definitionText({
          ...(before && after && before.status !== after.status && { status: job.status.toLowerCase() }),
          ...exportJob(job),
        })
      : '';
  out.raw(out.paint.bold(`--- ${before ? `${namespace}/${key} on the server` : 'not on the server'}`));
  out.raw(out.paint.bold(`+++ ${namespace}/${key} ${plainText(file)}`));
  for (const line of unifiedDiff(textOf(before), textOf(after))) {
    const paint = { '-': out.paint.red, '+': out.paint.green, '@': out.paint.cyan }[line.charAt(0)];
    out.raw(paint ? paint(plainText(line)) : plainText(line));
  }
}

const exportJobs = command('export', 'Print jobs as a file that can be applied', {
  details:
    'Only what differs from the defaults is written, and applying it changes nothing. Jobs that are over or cancelled are left out unless --status names them, and so are jobs without a key.',
  options: {
    namespace: IN_NAMESPACE,
    label: labelFilter('--label <name=value>', 'With this label; may be repeated'),
    handler: text('--handler <name>', 'Run by this handler'),
    text: text('--text <part>', 'Whose name contains this'),
    key_prefix: text('--key-prefix <text>', 'Whose key begins with this'),
    type: choice('--type <type>', 'Kind of schedule', [
      ...(['immediate', 'future', 'cron', 'interval', 'one_time', 'recurring'] as const),
    ]),
    status: texts('--status <status>', 'With this status; may be repeated [scheduled, running, paused]'),
    addKeys: toggle(
      '--add-keys',
      'Give jobs without a key one that is made of their name, and print them too',
    ),
  },
  examples: [
    'carillon export > jobs.yaml',
    'carillon export --namespace billing --label team=invoices > billing.yaml',
    'carillon export --type recurring --add-keys > jobs.yaml',
  ],
  async run({ options: { addKeys = false, status = ['scheduled', 'running', 'paused'], ...filter }, cli }) {
    const client = await cli.client();
    const query = { ...filter, status, include: 'payload', limit: 200 };
    const found = (await client.jobs.list(query as never).toArray()) as Job[];
    const keyless = found.filter(({ key }) => key === null);
    if (keyless.length > 0 && !addKeys)
      cli.out.warn(
        `${countOf(keyless.length, 'job')} without a key left out; --add-keys gives them one, or \`carillon jobs update <job> --job-key <key>\`.`,
      );
    const jobs = found.filter(({ key }) => key !== null);
    if (addKeys)
      for (const job of keyless) {
        const keyed = await withKey(client, job);
        cli.out.note(`Gave ${plainText(job.name)} (${job.job_id}) the key ${keyed.key}.`);
        jobs.push(keyed);
      }
    jobs.sort((a, b) => compare(a.namespace, b.namespace) || compare(a.key ?? '', b.key ?? ''));
    if (cli.out.json)
      cli.out.done({ jobs: jobs.map((job) => ({ namespace: job.namespace, ...exportJob(job) })) }, '');
    else if (jobs.length === 0) cli.out.note('No jobs match.');
    else cli.out.raw(yamlOf(jobs));
  },
});

/** A document for each namespace. */
function yamlOf(jobs: readonly Job[]): string {
  const groups = Map.groupBy(jobs, ({ namespace }) => namespace);
  const documents = [...groups].map(([namespace, group]) =>
    definitionText({ namespace, jobs: group.map(exportJob) }).trimEnd(),
  );
  return documents.join('\n---\n');
}

const KEY_TRIES_MAX = 100;

/** `Nightly report` becomes nightly-report; where that is taken, nightly-report-2. */
async function withKey(client: Carillon, job: Job): Promise<Job> {
  const words = job.name.toLowerCase().replaceAll(/[^a-z0-9._:]+/g, '-');
  const stem = words.replaceAll(/^[^a-z0-9]+|[^a-z0-9]+$/g, '').slice(0, 190) || 'job';
  for (let n = 1; ; n += 1) {
    const key = n === 1 ? stem : `${stem}-${n}`;
    try {
      await client.jobs.update(job.job_id, { key });
      return { ...job, key };
    } catch (error) {
      const isTaken = error instanceof CarillonError && error.code === 'job_key_taken';
      if (!isTaken || n === KEY_TRIES_MAX) throw error;
    }
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

export const applyCommands: readonly CommandSpec[] = [apply, diff, exportJobs];
