/** `jobs show`: one job with how it is doing; with --watch until it ends. */
import { command } from '../command.ts';
import { jobFacts } from '../output/job-view.ts';
import { watchUntilEnd } from './watch-until-end.ts';

export const jobsShow = command<{ readonly watch?: boolean }>({
  name: 'jobs show',
  summary: 'Show a job and how it is doing',
  arguments: [{ name: '<id>', description: 'Id of the job' }],
  options: [{ flags: '-w, --watch', description: 'Show every change until the job ends' }],
  examples: [
    'carillon jobs show 01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f',
    'carillon jobs show 01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f --watch',
  ],
  async run({ args: [id = ''], options, cli }) {
    if (options.watch) return watchUntilEnd(cli, id);
    const client = await cli.client();
    const [job, status] = await Promise.all([client.jobs.get(id), client.jobs.status(id)]);
    cli.out.record(
      { ...job, state: status.status, latest_run: status.latest_run },
      jobFacts(job, status, cli.out),
    );
    return undefined;
  },
});
