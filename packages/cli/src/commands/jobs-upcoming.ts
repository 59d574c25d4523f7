/** `jobs upcoming`: what runs soon, across all jobs. */
import { command } from '../command.ts';
import { LIMIT_OPTION, pageSize, readLimited } from '../read/limit-option.ts';

export const jobsUpcoming = command<{ readonly within: string; readonly limit: string }>({
  name: 'jobs upcoming',
  summary: 'List what runs soon',
  options: [
    { flags: '--within <duration>', description: 'How far ahead: 5m, 1h', fallback: '5m' },
    LIMIT_OPTION,
  ],
  examples: ['carillon jobs upcoming', 'carillon jobs upcoming --within 1h'],
  async run({ options, cli }) {
    const client = await cli.client();
    const list = client.jobs.upcoming({ within: options.within, limit: pageSize(options.limit) });
    const runs = await readLimited(list, options.limit, cli.out);
    cli.out.list(
      runs,
      [
        { header: 'RUNS AT', value: (run) => cli.out.shortTime(run.run_time), fixed: true },
        { header: 'JOB', value: ({ job_id }) => job_id, fixed: true },
        { header: 'NAME', value: ({ name }) => name },
        { header: 'HANDLER', value: ({ handler }) => handler },
        { header: 'PRIORITY', value: ({ priority }) => priority },
        { header: 'NAMESPACE', value: ({ namespace }) => namespace },
      ],
      { empty: `Nothing runs within ${options.within}.` },
    );
  },
});
