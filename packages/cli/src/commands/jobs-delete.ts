/** `jobs delete`: cancelled and gone for good, so a person is asked first. What ran stays until retention drops it. */
import { command } from '../command.ts';
import { confirm } from '../output/ask.ts';
import { EXIT } from '../program/exit-codes.ts';
import { forEachId } from './for-each-id.ts';

export const jobsDelete = command<{ readonly yes?: boolean }>({
  name: 'jobs delete',
  summary: 'Remove jobs',
  details:
    'They are cancelled and their definitions are gone. The history of their runs stays until it is retention_days old.',
  arguments: [{ name: '<id...>', description: 'Ids of jobs' }],
  options: [{ flags: '-y, --yes', description: 'Do not ask' }],
  examples: ['carillon jobs delete 01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f --yes'],
  async run({ args, options, cli }) {
    const client = await cli.client();
    const what = args.length === 1 ? 'this job' : `${args.length} jobs`;
    if (!options.yes && !(await confirm(`Remove ${what} for good?`, cli.world))) {
      cli.out.note('Nothing was removed.');
      return EXIT.ok;
    }
    return forEachId(cli, args, async (id) => ({
      answer: await client.jobs.remove(id),
      sentence: `Removed ${id}`,
    }));
  },
});
