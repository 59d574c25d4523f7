/** `jobs create` and `jobs update`: what a job is, from flags or from JSON files. */
import type { BatchAnswer, Job, JobFields, JsonObject, NewJob } from '@carillon/client';
import type { Cli } from '../cli.ts';
import { command } from '../command.ts';
import { EXIT, UsageError } from '../errors.ts';
import {
  choice,
  count,
  fromNow,
  headers,
  isObject,
  jsonFile,
  jsonObject,
  labels,
  PRIORITY,
  seconds,
  text,
  toggle,
  type Values,
} from '../flags.ts';
import { type ProgressBar, withBar } from '../output/progress.ts';
import { countOf } from '../output/text.ts';
import { optional } from './actions.ts';
import { watchJob } from './watch.ts';

const JOB = '01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f';

export const JOB_FLAGS = {
  cron_expression: text('--cron <expression>', 'Run by a cron expression: 5 fields, or 6 with seconds first'),
  interval: text('--every <interval>', 'Run again and again: 30s, 15m, 6h, 1d, 2w, 1mo'),
  schedule_time: text('--at <time>', 'Run once: ISO 8601 with an offset, or without one together with --tz'),
  in: fromNow('--in <duration>', 'Run once, after: 30s, 15m, 2h'),
  time_zone: text('--tz <zone>', 'Time zone of the schedule, such as Europe/Paris [UTC]'),
  start_at: text('--start-at <time>', 'No occurrence before'),
  end_at: text('--end-at <time>', 'No occurrence after'),
  http: text('--http <url>', 'Call this address (handler http)', 'payload.url'),
  method: text('--method <method>', 'Of the call [POST with a body, else GET]', 'payload.method'),
  header: headers('--header <name:value>', 'Of the call; may be repeated', 'payload.headers'),
  body: text('--body <text>', 'Of the call; JSON is sent as JSON', 'payload.body'),
  handler: text('--handler <name>', 'What runs it, when it is not --http'),
  payload: jsonObject('--payload <json>', 'For the handler: a JSON object, or @file'),
  priority: PRIORITY,
  max_retries: count('--retries <count>', 'Attempts after the first [3]'),
  timeout_seconds: seconds('--timeout <duration>', 'Longest time of one attempt [5m]'),
  max_concurrency: count('--concurrency <count>', 'Runs of this job at the same time [1]'),
  overlap: choice('--overlap <policy>', 'When that many are running', ['queue', 'skip', 'replace']),
  misfire: choice(
    '--misfire <policy>',
    'Occurrences that could not start in time',
    ['none', 'last', 'all'],
    'misfire.policy',
  ),
  namespace: text('--namespace <name>', 'Namespace of the job'),
  user_id: text('--user <id>', 'Whose job it is'),
  labels: labels('--label <name=value>', 'May be repeated'),
};

type JobValues = Values<typeof JOB_FLAGS>;

export function jobFields(options: JobValues): JobFields {
  const { in: fromDelay, http, method, header, body, payload, misfire, ...fields } = options;
  if (fromDelay !== undefined && fields.schedule_time !== undefined)
    throw new UsageError('--at and --in both say when: give one of them.');
  const all = {
    ...fields,
    schedule_time: fromDelay ?? fields.schedule_time,
    handler: fields.handler ?? (http === undefined ? undefined : 'http'),
    payload: payloadOf(options),
    misfire: misfire && { policy: misfire },
  };
  const given = Object.entries(all).filter(([, value]) => value !== undefined && value !== '');
  return Object.fromEntries(given) as JobFields;
}

function payloadOf({ http, method, header, body, payload }: JobValues): JsonObject | undefined {
  if (http === undefined) {
    if (method ?? header ?? body) throw new UsageError('--method, --header and --body belong to --http.');
    return payload;
  }
  return {
    ...payload,
    url: http,
    ...(method !== undefined && { method: method.toUpperCase() }),
    ...(header && { headers: header }),
    ...(body !== undefined && { body: jsonOrText(body) }),
  };
}

function jsonOrText(body: string): JsonObject | string {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? (value as JsonObject) : body;
  } catch {
    // Not JSON: sent as text.
    return body;
  }
}

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
    'carillon jobs create remind --http https://example.org/remind --in 2h --wait',
    'carillon jobs create --file jobs.json',
  ],
  async run({ args: [name], options: { file, idempotencyKey, wait, ...options }, cli }) {
    const fields = jobFields(options);
    if (Array.isArray(file)) {
      if (wait) throw new UsageError('--wait is for one job.');
      return createMany(cli, file as NewJob[], idempotencyKey);
    }
    if (name === undefined && file === undefined)
      throw new UsageError('A job needs a name.', 'carillon jobs create <name> --http <url>');
    const job = { ...file, ...fields, ...(name !== undefined && { name }) } as NewJob;
    const jobId = await createOne(cli, job, { idempotencyKey, wait });
    if (!wait) return EXIT.ok;
    if (job.cron_expression ?? job.interval ?? job.frequency)
      cli.out.note('It runs again and again: watching goes on until Ctrl-C.');
    return watchJob(cli, jobId);
  },
});

export const updateJob = command('jobs update', 'Change a job', {
  details: 'Only what is given changes; null in a file brings back the default.',
  arguments: [{ name: '<id>', description: 'Id of the job' }],
  options: {
    name: text('--name <name>', 'New name'),
    ...JOB_FLAGS,
    file: jsonFile('a JSON object', isObject)(
      '-f, --file <path>',
      'Fields as JSON; - reads the standard input',
    ),
    ifVersion: count('--if-version <number>', 'Only when the job still has this version'),
  },
  examples: [
    `carillon jobs update ${JOB} --cron '0 8 * * *'`,
    `carillon jobs update ${JOB} --priority high --if-version 3`,
  ],
  async run({ args: [id = ''], options: { name, file, ifVersion, ...options }, cli }) {
    const change = { ...file, ...jobFields(options), ...(name !== undefined && { name }) };
    if (Object.keys(change).length === 0)
      throw new UsageError('Nothing to change was given.', 'Such as --priority high.');
    const client = await cli.client();
    const updated = await client.jobs.update(id, change, { ifVersion });
    cli.out.done(updated, `Updated ${id}: version ${updated.version}`);
  },
});

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
  if (stored?.next_run_time && stored.schedule_type !== 'IMMEDIATE')
    cli.out.note(`${isNew ? 'First' : 'Next'} run: ${cli.out.shortTime(stored.next_run_time)}`);
  const handler = job.handler || stored?.handler;
  await warnWithoutWorkers(cli, [handler]);
  return jobId;
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
  await warnWithoutWorkers(
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

/** Warns of handlers that no worker offers: their jobs wait, and nothing else shows why. */
export async function warnWithoutWorkers(
  cli: Cli,
  handlers: readonly (string | null | undefined)[],
): Promise<void> {
  const missing = new Set(handlers.filter(Boolean));
  if (missing.size === 0) return;
  const client = await cli.client();
  const workers = await optional(client.workers.list().toArray());
  // Who may not list workers cannot be warned.
  if (!workers) return;
  for (const { alive, handlers: offered } of workers)
    if (alive) for (const handler of offered) missing.delete(handler);
  for (const handler of missing)
    cli.out.warn(`no worker offers the handler "${handler}" at the moment; runs will wait until one does.`);
}
