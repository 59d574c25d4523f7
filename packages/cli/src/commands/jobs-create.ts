/** `jobs create`: one job from options, or one or many from a JSON file. */
import { type BatchAnswer, CarillonError, type Job, type JobCreated, type NewJob } from '@carillon/client';
import type { Cli } from '../cli.ts';
import { command } from '../command.ts';
import { madeText } from '../output/made-text.ts';
import { ProgressBar } from '../output/progress-bar.ts';
import { EXIT } from '../program/exit-codes.ts';
import { UsageError } from '../program/usage-error.ts';
import { JOB_OPTIONS, type JobOptions, readJobOptions } from '../read/job-options.ts';
import { isObject, readJsonFile } from '../read/read-json.ts';
import { warnWithoutWorkers } from './warn-without-workers.ts';
import { watchUntilEnd } from './watch-until-end.ts';

interface Options extends JobOptions {
  readonly file?: string;
  readonly idempotencyKey?: string;
  readonly wait?: boolean;
}

export const jobsCreate = command<Options>({
  name: 'jobs create',
  summary: 'Create a job',
  details:
    'Without --cron, --every, --at or --in it runs at once. A handler that no worker offers is warned of, and waited for.',
  arguments: [{ name: '[name]', description: 'Name of the job' }],
  options: [
    ...JOB_OPTIONS,
    {
      flags: '-f, --file <path>',
      description: 'Job as JSON, or an array of them; - reads the standard input',
    },
    { flags: '--idempotency-key <key>', description: 'The same key again answers the same job' },
    {
      flags: '-w, --wait',
      description: 'Show how it goes until it ends; the exit code is 0 only when it completed',
    },
  ],
  examples: [
    'carillon jobs create ping --http https://example.org/ping',
    "carillon jobs create report --http https://example.org/report --cron '0 9 * * 1-5' --tz Europe/Paris",
    'carillon jobs create poll --http https://example.org/poll --every 15m --label team=billing',
    'carillon jobs create remind --http https://example.org/remind --in 2h --wait',
    'carillon jobs create --file jobs.json',
  ],
  async run({ args, options, cli }) {
    const fields = await readJobOptions(options, cli.world);
    const file = options.file === undefined ? undefined : await readJsonFile(options.file, cli.world);
    if (Array.isArray(file)) return createMany(cli, file as NewJob[], options);
    if (file !== undefined && !isObject(file))
      throw new UsageError(`${options.file} must hold a job, or an array of jobs.`);
    const name = args[0] ?? (file as { name?: string } | undefined)?.name;
    if (name === undefined && file === undefined)
      throw new UsageError('A job needs a name.', 'carillon jobs create <name> --http <url>');
    const client = await cli.client();
    const job = { ...file, ...fields, ...(args[0] !== undefined && { name: args[0] }) } as NewJob;
    const made = await client.jobs.create(job, { idempotencyKey: options.idempotencyKey });
    const isNew = isCreated(made, options);
    const subject = name ?? 'the job';
    const sentence = isNew
      ? `Created ${subject}: ${made.job_id}`
      : `${subject} was there already: ${made.job_id}`;
    // For programs the answer as the server gave it: `created` comes from its status, and is told to people by the sentence.
    const answer = { job_id: made.job_id, status: made.status };
    if (options.wait) cli.out.entry(answer, sentence);
    else cli.out.done(answer, sentence);
    const stored = await readWhereNeeded(cli, job, made.job_id);
    if (stored?.next_run_time && stored.schedule_type !== 'IMMEDIATE')
      cli.out.note(`${isNew ? 'First' : 'Next'} run: ${cli.out.shortTime(stored.next_run_time)}`);
    const handler = job.handler || stored?.handler;
    await warnWithoutWorkers(cli, handler ? [handler] : []);
    if (!options.wait) return EXIT.ok;
    if (job.cron_expression ?? job.interval ?? job.frequency)
      cli.out.note('It runs again and again: watching goes on until Ctrl-C.');
    return watchUntilEnd(cli, made.job_id);
  },
});

/** Without a key of the caller's nothing can have been there: then false is the echo of a try whose answer was lost. */
function isCreated({ created = true }: JobCreated, { idempotencyKey }: Options): boolean {
  return created || idempotencyKey === undefined;
}

/** The server chooses a handler where none was named, and knows when a schedule fires first. */
async function readWhereNeeded(cli: Cli, job: NewJob, jobId: string): Promise<Job | undefined> {
  const schedule = job.cron_expression ?? job.interval ?? job.frequency ?? job.schedule_time;
  if (job.handler && (cli.out.json || schedule === undefined)) return undefined;
  const client = await cli.client();
  try {
    return await client.jobs.get(jobId);
  } catch (error) {
    // The job is made; a key that may only create cannot read it.
    if (error instanceof CarillonError) return undefined;
    throw error;
  }
}

/** What the server takes in one request; on a terminal less, so that the bar moves. */
const PART_MAX = 1_000;
const WATCHED_PART_MAX = 100;

async function createInParts(
  cli: Cli,
  jobs: readonly NewJob[],
  idempotencyKey: string | undefined,
): Promise<BatchAnswer[]> {
  const client = await cli.client();
  const signal = cli.untilInterrupted();
  const partMax = cli.out.terminal && idempotencyKey === undefined ? WATCHED_PART_MAX : PART_MAX;
  const bar = new ProgressBar(jobs.length, cli.out.terminal);
  const answers: BatchAnswer[] = [];
  try {
    for (let from = 0; from < jobs.length; from += partMax) {
      const part = jobs.slice(from, from + partMax);
      // As the client counts them: a key of its own for each part.
      const key = idempotencyKey === undefined || from === 0 ? idempotencyKey : `${idempotencyKey}-${from}`;
      answers.push(...(await client.jobs.createMany(part, { idempotencyKey: key, signal })));
      bar.advance(part.length);
    }
  } catch (error) {
    bar.end();
    if (answers.length > 0) cli.out.note(`Ended after ${answers.length} of ${jobs.length} jobs.`);
    throw error;
  }
  bar.end();
  return answers;
}

async function createMany(cli: Cli, jobs: readonly NewJob[], options: Options): Promise<number> {
  if (options.wait) throw new UsageError('--wait is for one job.');
  const answers = await createInParts(cli, jobs, options.idempotencyKey);
  const refused = answers.filter((answer) => answer.status === 'refused').length;
  const rows = answers.map((answer, i) => ({ answer, name: jobs[i]?.name ?? '' }));
  if (cli.out.json) cli.out.done(answers, '');
  else
    cli.out.list(
      rows,
      [
        { header: 'NAME', value: ({ name }) => name },
        { header: 'ID', value: ({ answer }) => ('job_id' in answer ? answer.job_id : ''), fixed: true },
        { header: 'REFUSED', value: ({ answer }) => refusalText(answer) },
      ],
      { empty: 'The file holds no jobs.' },
    );
  const accepted = answers.filter((answer) => answer.status === 'submitted');
  const fresh = accepted.filter((answer) => isCreated(answer, options)).length;
  cli.out.note(madeText({ made: fresh, there: accepted.length - fresh, refused }));
  const made = jobs.filter((_, i) => answers[i]?.status === 'submitted');
  await warnWithoutWorkers(
    cli,
    made.flatMap(({ handler }) => handler ?? []),
  );
  return refused > 0 ? EXIT.failed : EXIT.ok;
}

function refusalText(answer: BatchAnswer): string {
  return 'error' in answer ? `${answer.error.detail} ${answer.error.fix}` : '';
}
