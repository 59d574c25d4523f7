/** `dlq list`: what was given up. */
import { command } from '../command.ts';
import { deadLetterColumns } from '../output/run-view.ts';
import { LIMIT_OPTION, pageSize, readLimited } from '../read/limit-option.ts';

interface Options {
  readonly job?: string;
  readonly reason?: string;
  readonly namespace?: string;
  readonly limit: string;
}

export const dlqList = command<Options>({
  name: 'dlq list',
  summary: 'List runs that failed for good, latest first',
  options: [
    { flags: '--job <id>', description: 'Of this job' },
    { flags: '--reason <reason>', description: 'Given up for this reason' },
    { flags: '--namespace <name>', description: 'In this namespace' },
    LIMIT_OPTION,
  ],
  examples: ['carillon dlq list', 'carillon dlq list --job 01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f'],
  async run({ options, cli }) {
    const client = await cli.client();
    const list = client.deadLetters.list({
      job_id: options.job,
      reason: options.reason,
      namespace: options.namespace,
      limit: pageSize(options.limit),
    });
    const letters = await readLimited(list, options.limit, cli.out);
    const isFiltered = (options.job ?? options.reason ?? options.namespace) !== undefined;
    const empty = isFiltered ? 'No dead letters match.' : 'No dead letters.';
    cli.out.list(letters, deadLetterColumns(cli.out), { empty });
  },
});
