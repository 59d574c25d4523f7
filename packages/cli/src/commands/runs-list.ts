/** `runs list`: the runs of a job, or what a worker is running. */
import { command } from '../command.ts';
import { runColumns } from '../output/run-view.ts';
import { UsageError } from '../program/usage-error.ts';
import { LIMIT_OPTION, pageSize, readLimited } from '../read/limit-option.ts';

export const runsList = command<{ readonly worker?: string; readonly limit: string }>({
  name: 'runs list',
  summary: 'List the runs of a job, newest first',
  arguments: [{ name: '[job]', description: 'Id of the job' }],
  options: [
    { flags: '--worker <id>', description: 'What this worker is running now, instead' },
    { ...LIMIT_OPTION, fallback: '20' },
  ],
  examples: [
    'carillon runs list 01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f',
    'carillon runs list --worker 5b1f6d3c-9a53-4c0e-8a3f-0c1d2e3f4a5b',
  ],
  async run({ args: [job], options, cli }) {
    if ((job === undefined) === (options.worker === undefined))
      throw new UsageError('Name a job, or a worker with --worker.', 'carillon jobs list shows the jobs.');
    const client = await cli.client();
    const query = { limit: pageSize(options.limit) };
    const list =
      options.worker === undefined
        ? client.jobs.runs(job ?? '', query)
        : client.runs.ofWorker(options.worker, query);
    const runs = await readLimited(list, options.limit, cli.out);
    cli.out.list(runs, runColumns(cli.out), { empty: 'No runs.' });
  },
});
