/** `jobs skip` and `jobs unskip`: leave out one coming fire of a job, and take that back. */
import type { CommandSpec } from '../command.ts';
import { command } from '../command.ts';
import { UsageError } from '../errors.ts';
import { text } from '../flags.ts';

const JOB = '01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f';
const JOB_ID = { name: '<job>', description: 'Key, name or id of the job', names: 'job' } as const;

export const skipCommands: readonly CommandSpec[] = [
  command('jobs skip', 'Skip one coming fire of a job', {
    details:
      'The schedule goes on after it, and nothing makes up for it. It is recorded as a skipped run, with your name. `carillon jobs unskip` takes it back until it is due.',
    arguments: [JOB_ID],
    options: { at: text('--at <time>', 'Which fire, such as 2030-01-02T09:00:00Z [the next one]') },
    examples: [`carillon jobs skip ${JOB} --at 2030-01-02T09:00:00Z`, `carillon jobs skip ${JOB}`],
    async run({ args: [id = ''], options, cli }) {
      const client = await cli.client();
      const at = options.at ?? (await client.jobs.get(id)).next_run_at;
      if (at === null) throw new UsageError('The job has no coming fire.');
      const { changed, ...job } = await client.jobs.skip(id, at);
      const what = `${cli.out.shortTime(at)} of ${id}`;
      const next = 'next_run_at' in job ? `; next run: ${cli.out.shortTime(job.next_run_at)}` : '';
      return cli.out.done(
        { changed, ...job },
        changed ? `Skipped ${what}${next}` : `${what} was skipped already`,
      );
    },
  }),
  command('jobs unskip', 'Take back the skip of a fire', {
    details: 'Until the fire is due.',
    arguments: [JOB_ID],
    options: { at: text('--at <time>', 'Which fire [the first that is skipped]') },
    examples: [`carillon jobs unskip ${JOB} --at 2030-01-02T09:00:00Z`],
    async run({ args: [id = ''], options, cli }) {
      const client = await cli.client();
      const at = options.at ?? (await client.jobs.get(id)).skipped_fires[0]?.at;
      if (at === undefined) throw new UsageError('No fire of the job is skipped.');
      const { changed, ...job } = await client.jobs.unskip(id, at);
      const what = `${cli.out.shortTime(at)} of ${id}`;
      return cli.out.done({ changed, ...job }, changed ? `${what} runs again` : `${what} was not skipped`);
    },
  }),
];
