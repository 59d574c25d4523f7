/** `jobs create`: one job from options, or one or many from a JSON file. */
import type { BatchAnswer, NewJob } from '@carillon/client';
import type { Cli } from '../cli.ts';
import { command } from '../command.ts';
import { EXIT } from '../program/exit-codes.ts';
import { UsageError } from '../program/usage-error.ts';
import { JOB_OPTIONS, type JobOptions, readJobOptions } from '../read/job-options.ts';
import { isObject, readJsonFile } from '../read/read-json.ts';
import { watchUntilEnd } from './watch-until-end.ts';

interface Options extends JobOptions {
  readonly file?: string;
  readonly idempotencyKey?: string;
  readonly wait?: boolean;
}

export const jobsCreate = command<Options>({
  name: 'jobs create',
  summary: 'Create a job',
  details: 'Without --cron, --every, --at or --in it runs at once.',
  arguments: [{ name: '[name]', description: 'Name of the job' }],
  options: [
    ...JOB_OPTIONS,
    {
      flags: '-f, --file <path>',
      description: 'Job as JSON, or an array of them; - reads the standard input',
    },
    { flags: '--idempotency-key <key>', description: 'The same key again answers the same job' },
    { flags: '-w, --wait', description: 'Show how it goes until it ends; fails when the job fails' },
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
    if (options.wait) return watchUntilEnd(cli, made.job_id);
    cli.out.done(made, `Created ${name ?? 'the job'}: ${made.job_id}`);
    return EXIT.ok;
  },
});

async function createMany(cli: Cli, jobs: readonly NewJob[], options: Options): Promise<number> {
  if (options.wait) throw new UsageError('--wait is for one job.');
  const client = await cli.client();
  const answers = await client.jobs.createMany(jobs, { idempotencyKey: options.idempotencyKey });
  const refused = answers.filter((answer) => answer.status === 'refused').length;
  const rows = answers.map((answer, i) => ({ answer, name: jobs[i]?.name ?? '' }));
  if (cli.out.json) cli.out.done(answers, '');
  else
    cli.out.list(
      rows,
      [
        { header: 'NAME', value: ({ name }) => name },
        { header: 'ID', value: ({ answer }) => ('job_id' in answer ? answer.job_id : ''), whole: true },
        { header: 'REFUSED', value: ({ answer }) => refusalText(answer) },
      ],
      { empty: 'The file holds no jobs.' },
    );
  cli.out.note(`${answers.length - refused} created, ${refused} refused.`);
  return refused > 0 ? EXIT.failed : EXIT.ok;
}

function refusalText(answer: BatchAnswer): string {
  return 'error' in answer ? `${answer.error.detail} ${answer.error.fix}` : '';
}
