/** `jobs cancel`. */
import { command } from '../command.ts';
import { forEachId } from './for-each-id.ts';

const JOB = '01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f';
const ANOTHER = '01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e10';

export const jobsCancel = command({
  name: 'jobs cancel',
  summary: 'Cancel jobs for good',
  details: 'Runs that have started are asked to stop. The job stays readable.',
  arguments: [{ name: '<id...>', description: 'Ids of jobs' }],
  examples: [`carillon jobs cancel ${JOB}`, `carillon jobs cancel ${JOB} ${ANOTHER}`],
  async run({ args, cli }) {
    const client = await cli.client();
    return forEachId(cli, args, async (id) => ({
      answer: await client.jobs.cancel(id),
      sentence: `Cancelled ${id}`,
    }));
  },
});
