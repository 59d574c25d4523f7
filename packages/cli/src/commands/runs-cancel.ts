/** `runs cancel`: stops runs that wait or go on. */
import { command } from '../command.ts';
import { forEachId } from './for-each-id.ts';

export const runsCancel = command({
  name: 'runs cancel',
  summary: 'Stop runs',
  details: 'One that is running is asked to stop; one that waits is cancelled at once.',
  arguments: [{ name: '<id...>', description: 'Ids of runs' }],
  examples: ['carillon runs cancel 01893f2e-7c12-7d01-8e11-b0b1b2b3b4b5'],
  async run({ args, cli }) {
    const client = await cli.client();
    return forEachId(cli, args, async (id) => {
      const answer = await client.runs.cancel(id);
      return { answer, sentence: `${answer.status === 'cancelled' ? 'Cancelled' : 'Asked to stop'} ${id}` };
    });
  },
});
