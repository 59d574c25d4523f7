/** `jobs create` and `jobs update`: what a job is, from flags or from JSON files. */
import {
  type BatchAnswer,
  CarillonError,
  type Job,
  type JobChanged,
  type JobFields,
  type JsonObject,
  type NewJob,
} from '@carillon/client';
import type { Cli } from '../cli.ts';
import { command } from '../command.ts';
import { EXIT, UsageError } from '../errors.ts';
import { count, isObject, jsonFile, text, toggle } from '../flags.ts';
import { type ProgressBar, withBar } from '../output/progress.ts';
import { countOf } from '../output/text.ts';
import { shortIds } from '../resolve.ts';
import { optional } from './actions.ts';
import { changedFields, JOB_FLAGS, type JobValues, jobFields, needsCurrent } from './job-flags.ts';
import { scheduleWords } from './schedule-words.ts';
import { warnOfUnoffered } from './unoffered.ts';
import { watchJob } from './watch.ts';

const JOB = '01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f';

export const createJob = command('jobs create', 'Create a job', {
  details:
    'Without --cron, --every, --at or --in it runs at once. A handler that no worker offers is warned of, and waited for.',
  arguments: [{ name: '[name]', description: 'Name of the job' }],
  options: {
    ...JOB_FLAGS,
    file: jsonFile('a job, or an array of jobs', isObjectOrArray)(
      '-f, --file <path>',
      'Job as JSON, or an array of them; - reads the standard input',
    ),
    idempotencyKey: text('--idempotency-key <key>', 'The same key again answers the same job'),
    wait: toggle('-w, --wait', 'Show how it goes until it ends; the exit code is 0 only when it completed'),
  },
  examples: [
    'carillon jobs create ping --http https://example.org/ping',
    "carillon jobs create report --http https://example.org/report --cron '0 9 * * 1-5' --tz Europe/Paris",
    'carillon jobs create poll --http https://example.org/poll --every 15m --label team=billing',
    'carillon jobs create clean --script clean.sh --interpreter bash --env KEEP_DAYS=30 --every 1d',
    'carillon jobs create remind --http https://example.org/remind --in 2h --wait',
    'carillon jobs create --file jobs.json',
  ],
  async run({ args: [name], options: { file, idempotencyKey, wait, ...options }, cli }) {
    const fields = jobFields(options);
    const namespace = fields.namespace ?? (await cli.defaultNamespace());
    // What a file says of a job is stronger than the context, and weaker than a flag.
    const byDefault = namespace === undefined ? {} : { namespace };
    if (Array.isArray(file)) {
      if (wait) throw new UsageError('--wait is for one job.');
      const jobs = (file as NewJob[]).map((job) => (isObject(job) ? { ...byDefault, ...job } : job));
      return createMany(cli, jobs, idempotencyKey);
    }
    if (name === undefined && file === undefined)
      throw new UsageError('A job needs a name.', 'carillon jobs create <name> --http <url>');
    if (file === undefined && !saysWhatRuns(fields))
      throw new UsageError(
        'Say what it runs: --http, --script or --handler.',
        `Such as carillon jobs create ${name} --http https://example.org/ping`,
      );
    const job = { ...byDefault, ...file, ...fields, ...(name !== undefined && { name }) } as NewJob;
    const jobId = await createOne(cli, job, { idempotencyKey, wait });
    if (!wait) return EXIT.ok;
    if (job.cron_expression ?? job.interval ?? job.frequency)
      cli.out.note('It runs again and again: watching goes on until Ctrl-C.');
    return watchJob(cli, jobId);
  },
});

/** The server would take a job without it for the handler "default", which is hardly ever meant. A file is taken as it is. */
export function saysWhatRuns({ handler, payload }: JobFields): boolean {
  const { url, script, code_location: place } = payload ?? {};
  return Boolean(handler) || (url ?? script ?? place ?? null) !== null;
}

export const updateJob = command('jobs update', 'Change a job', {
  details:
    'Only what is given changes: other headers, labels, variables and members of retry stay. `--header name:`, `--label name=` and ' +
    '`--env NAME=` remove one; null in a file brings back the default.',
  arguments: [{ name: '<job>', description: 'Key, name or id of the job', names: 'job' }],
  options: {
    name: text('--name <name>', 'New name'),
    ...JOB_FLAGS,
    namespace: text('--namespace <name>', 'Namespace of the job, which cannot change'),
    file: jsonFile('a JSON object', isObject)(
      '-f, --file <path>',
      'Fields as JSON; - reads the standard input',
    ),
    ifVersion: count('--if-version <number>', 'Only when the job still has this version'),
  },
  examples: [
    `carillon jobs update ${JOB} --cron '0 8 * * *'`,
    `carillon jobs update ${JOB} --http https://example.org/v2 --header 'X-Old:'`,
    `carillon jobs update ${JOB} --priority high --if-version 3`,
  ],
  async run({ args: [id = ''], options: { name, file, ifVersion, ...options }, cli }) {
    const given = { ...file, ...(name !== undefined && { name }) };
    if (Object.keys({ ...given, ...options }).length === 0)
      throw new UsageError('Nothing to change was given.', 'Such as --priority high.');
    const updated = await updateOne(cli, id, { given, options, ifVersion });
    cli.out.done(updated, `Updated ${id}: version ${updated.version}`);
    await tellOfSchedule(cli, options);
  },
});

/** How often a change is put together anew, because the job was changed between reading and writing it. */
const TRIES_MAX = 5;

async function updateOne(
  cli: Cli,
  id: string,
  change: { given: JobFields; options: JobValues; ifVersion: number | undefined },
): Promise<JobChanged> {
  const { given, options, ifVersion } = change;
  const client = await cli.client();
  for (let tries = 1; ; tries += 1) {
    const current = needsCurrent(options) ? await client.jobs.get(id) : undefined;
    const fields = { ...given, ...changedFields(options, current) };
    try {
      return await client.jobs.update(id, fields, { ifVersion: ifVersion ?? current?.version });
    } catch (error) {
      const isRaced = error instanceof CarillonError && error.code === 'version_mismatch';
      if (!isRaced || ifVersion !== undefined || tries === TRIES_MAX) throw error;
    }
  }
}

/** What people are surprised by: a time that has passed, and a zone that knows no summer. */
async function tellOfSchedule(
  cli: Cli,
  { schedule_time: at, time_zone: zone }: Pick<JobFields, 'schedule_time' | 'time_zone'>,
): Promise<void> {
  if (typeof at === 'string' && new Date(at).getTime() < Date.now())
    cli.out.warn(`${at} has passed: it runs now.`);
  // Only abbreviations can be such zones; where one is, the server says so.
  if (typeof zone !== 'string' || !/^[A-Za-z]{3}$/.test(zone)) return;
  const client = await cli.client();
  const request = { cron_expression: '@daily', time_zone: zone, count: 1 };
  const preview = await optional(client.schedules.preview(request));
  for (const { kind, message } of preview?.warnings ?? []) if (kind === 'fixed_offset') cli.out.warn(message);
}

function isObjectOrArray(value: unknown): value is JsonObject | unknown[] {
  return isObject(value) || Array.isArray(value);
}

async function createOne(
  cli: Cli,
  job: NewJob,
  { idempotencyKey, wait }: { idempotencyKey: string | undefined; wait: boolean | undefined },
): Promise<string> {
  const client = await cli.client();
  const created = await client.jobs.create(job, { idempotencyKey });
  const { created: _, ...body } = created;
  const { job_id: jobId } = created;
  const isNew = isCreated(created, idempotencyKey);
  const subject = job.name ?? 'the job';
  const sentence = isNew ? `Created ${subject}: ${jobId}` : `${subject} was there already: ${jobId}`;
  // Programs get the body of the response; `created` comes from its status, and the sentence says it to people.
  if (wait) cli.out.entry(body, sentence);
  else cli.out.done(body, sentence);
  const stored = await readStored(cli, job, jobId);
  if (stored?.next_run_at && stored.schedule_type !== 'IMMEDIATE')
    await noteNextRun(cli, stored, isNew ? 'First' : 'Next');
  await noteOthersOfName(cli, job, jobId);
  const handler = job.handler || stored?.handler;
  await tellOfSchedule(cli, job);
  await warnOfUnoffered(cli, [handler]);
  return jobId;
}

async function noteNextRun(cli: Cli, job: Job, which: 'First' | 'Next'): Promise<void> {
  const words = cli.out.json ? undefined : await scheduleWords(await cli.client(), job);
  const then = words === undefined ? '' : `, then ${words}`;
  cli.out.note(`${which} run: ${cli.out.shortTime(job.next_run_at)}${then}`);
}

const NAMESAKES_MAX = 10;

/** Two jobs of one name are allowed, and mostly a mistake. */
async function noteOthersOfName(cli: Cli, { name, key }: NewJob, jobId: string): Promise<void> {
  if (key || cli.out.json) return;
  const client = await cli.client();
  const page = await optional(client.jobs.list({ name, limit: NAMESAKES_MAX }).page());
  const own = page?.items.find(({ job_id: id }) => id === jobId);
  // Also those that have ended: the name stands for more than one job from now on.
  const others = page?.items.filter((job) => job !== own && job.namespace === own?.namespace);
  if (!others?.length) return;
  const short = shortIds(others.map(({ job_id: id }) => id));
  const ids = others.map(({ job_id: id }) => short(id)).join(', ');
  cli.out.warn(`there was a job of this name already (${ids}); --job-key tells jobs apart.`);
}

/** Without a key from the caller nothing can have existed: then false repeats an attempt whose response was lost. */
function isCreated({ created = true }: { created?: boolean }, idempotencyKey: string | undefined): boolean {
  return created || idempotencyKey === undefined;
}

/** Read where the server decides what is shown: the handler of a job without one, the first run of a schedule. */
async function readStored(cli: Cli, job: NewJob, jobId: string): Promise<Job | undefined> {
  const schedule = job.cron_expression ?? job.interval ?? job.frequency ?? job.schedule_time;
  if (job.handler && (cli.out.json || schedule === undefined)) return undefined;
  const client = await cli.client();
  // A key that may only create cannot read the job.
  return optional(client.jobs.get(jobId));
}

async function createMany(
  cli: Cli,
  jobs: readonly NewJob[],
  idempotencyKey: string | undefined,
): Promise<number> {
  const answers = await createInParts(cli, jobs, idempotencyKey);
  const rows = answers.map((answer, i) => ({ answer, job: jobs[i] }));
  cli.out.list(
    rows,
    [
      { header: 'NAME', value: ({ job }) => job?.name },
      { header: 'ID', value: ({ answer }) => ('job_id' in answer ? answer.job_id : ''), fixed: true },
      { header: 'REFUSED', value: ({ answer }) => refusalText(answer) },
    ],
    { empty: 'The file holds no jobs.', json: answers },
  );
  const accepted = answers.filter((answer) => answer.status === 'submitted');
  const created = accepted.filter((answer) => isCreated(answer, idempotencyKey)).length;
  const refused = answers.length - accepted.length;
  cli.out.note(createdText({ created, existed: accepted.length - created, refused }));
  const waiting = rows.filter(({ answer }) => answer.status === 'submitted');
  await warnOfUnoffered(
    cli,
    waiting.map(({ job }) => job?.handler),
  );
  return refused > 0 ? EXIT.failed : EXIT.ok;
}

function refusalText(answer: BatchAnswer): string {
  return 'error' in answer ? `${answer.error.detail} ${answer.error.fix}` : '';
}

/** What the server takes in one request; with a progress bar fewer are sent, so that it moves. */
const PART_MAX = 1_000;
const PART_MAX_WITH_BAR = 100;

async function createInParts(
  cli: Cli,
  jobs: readonly NewJob[],
  idempotencyKey: string | undefined,
): Promise<BatchAnswer[]> {
  const client = await cli.client();
  const signal = cli.untilInterrupted();
  const partMax = cli.out.terminal && idempotencyKey === undefined ? PART_MAX_WITH_BAR : PART_MAX;
  const answers: BatchAnswer[] = [];
  const create = async (bar: ProgressBar) => {
    for (let from = 0; from < jobs.length; from += partMax) {
      const part = jobs.slice(from, from + partMax);
      // A key for each part, as the client derives them.
      const key = idempotencyKey === undefined || from === 0 ? idempotencyKey : `${idempotencyKey}-${from}`;
      answers.push(...(await client.jobs.createMany(part, { idempotencyKey: key, signal })));
      bar.advance(part.length);
    }
    return answers;
  };
  return withBar(cli.out.terminal, jobs.length, create).catch((error: unknown) => {
    if (answers.length > 0) cli.out.note(`Ended after ${answers.length} of ${jobs.length} jobs.`);
    throw error;
  });
}

/** The result of creating many jobs, in one sentence. */
export function createdText(counts: { created: number; existed: number; refused: number }): string {
  const { created, existed, refused } = counts;
  const already = existed === 0 ? '' : `, ${existed} ${existed === 1 ? 'was' : 'were'} there already`;
  return `${countOf(created, 'job')} made${already}, ${refused} refused.`;
}
