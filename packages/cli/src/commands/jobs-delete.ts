/** `jobs delete`: the job and its history are gone, so a person is asked first. */
import { command } from '../command.ts';
import { confirm } from '../output/ask.ts';
import { EXIT } from '../program/exit-codes.ts';
import { forEachId } from './for-each-id.ts';

export const jobsDelete = command<{ readonly yes?: boolean }>({
  name: 'jobs delete',
  summary: 'Remove jobs with their history',
  arguments: [{ name: '<id...>', description: 'Ids of jobs' }],
  options: [{ flags: '-y, --yes', description: 'Do not ask' }],
  examples: ['carillon jobs delete 01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f --yes'],
  async run({ args, options, cli }) {
    const client = await cli.client();
    const what = args.length === 1 ? 'this job and its history' : `${args.length} jobs and their history`;
    if (!options.yes && !(await confirm(`Remove ${what}?`, cli.world))) {
      cli.out.note('Nothing was removed.');
      return EXIT.ok;
    }
    return forEachId(cli, args, async (id) => ({
      answer: await client.jobs.remove(id),
      sentence: `Removed ${id}`,
    }));
  },
});
