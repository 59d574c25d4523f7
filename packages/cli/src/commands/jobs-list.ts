/** `jobs list`: jobs, newest first, by any of their facts. */
import type { JobFilter, Priority } from '@carillon/client';
import { command } from '../command.ts';
import { jobColumns } from '../output/job-view.ts';
import { LIMIT_OPTION, pageSize, readLimited } from '../read/limit-option.ts';
import { readLabels } from '../read/read-pairs.ts';

interface Options {
  readonly status?: readonly string[];
  readonly type?: string;
  readonly priority?: Priority;
  readonly user?: string;
  readonly namespace?: string;
  readonly label?: readonly string[];
  readonly handler?: string;
  readonly text?: string;
  readonly sort?: JobFilter['sort'];
  readonly limit: string;
}

export const jobsList = command<Options>({
  name: 'jobs list',
  summary: 'List jobs, newest first',
  options: [
    {
      flags: '--status <status>',
      description: 'pending (or scheduled), paused, cancelled, completed or failed; may be repeated',
      repeatable: true,
    },
    {
      flags: '--type <type>',
      description: 'Kind of schedule',
      choices: ['immediate', 'future', 'cron', 'interval', 'one-time', 'recurring'],
    },
    { flags: '--priority <level>', description: 'How urgent', choices: ['low', 'medium', 'high'] },
    { flags: '--user <id>', description: 'Whose jobs; "me" for your own' },
    { flags: '--namespace <name>', description: 'In this namespace' },
    { flags: '--label <name=value>', description: 'With this label; may be repeated', repeatable: true },
    { flags: '--handler <name>', description: 'Run by this handler' },
    { flags: '--text <part>', description: 'Whose name contains this' },
    {
      flags: '--sort <order>',
      description: 'By this, and with - in front the other way round; newest first unless said otherwise',
      choices: ['created_at', 'updated_at', 'name', 'priority', 'next_run_time'].flatMap((key) => [
        key,
        `-${key}`,
      ]),
    },
    LIMIT_OPTION,
  ],
  examples: [
    'carillon jobs list',
    'carillon jobs list --status failed --label team=billing',
    'carillon jobs list --sort next_run_time -n 10',
    "carillon jobs list --json -n 0 | jq -r '.[].job_id'",
  ],
  async run({ options, cli }) {
    const client = await cli.client();
    const filter = {
      status: options.status,
      type: options.type,
      priority: options.priority,
      user_id: options.user,
      namespace: options.namespace,
      label: readLabels(options.label ?? []),
      handler: options.handler,
      text: options.text,
    };
    const list = client.jobs.list({ ...filter, sort: options.sort, limit: pageSize(options.limit) });
    const jobs = await readLimited(list, options.limit, cli.out);
    const isFiltered = Object.values(filter).some((value) => value !== undefined && value.length > 0);
    cli.out.list(jobs, jobColumns(cli.out), { empty: isFiltered ? 'No jobs match.' : 'No jobs.' });
  },
});
