/** `jobs resume`. */
import { command } from '../command.ts';
import { forEachId } from './for-each-id.ts';

const JOB = '01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f';
const ANOTHER = '01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e10';

export const jobsResume = command({
  name: 'jobs resume',
  summary: 'Resume paused jobs',
  arguments: [{ name: '<id...>', description: 'Ids of jobs' }],
  examples: [`carillon jobs resume ${JOB}`, `carillon jobs resume ${JOB} ${ANOTHER}`],
  async run({ args, cli }) {
    const client = await cli.client();
    return forEachId(cli, args, async (id) => ({
      answer: await client.jobs.resume(id),
      sentence: `Resumed ${id}`,
    }));
  },
});
