/** `workers`: who runs jobs. */
import { command } from '../command.ts';

export const workers = command({
  name: 'workers',
  summary: 'List who runs jobs',
  examples: ['carillon workers'],
  async run({ cli }) {
    const client = await cli.client();
    const { out } = cli;
    out.list(
      await client.workers.list().toArray(),
      [
        { header: 'ID', value: ({ worker_id }) => worker_id, fixed: true },
        {
          header: 'ALIVE',
          value: ({ alive }) => (alive ? 'yes' : 'no'),
          paint: (text, { alive }) => (alive ? out.paint.green(text) : out.paint.red(text)),
        },
        { header: 'RUNNING', value: ({ running }) => running, right: true },
        { header: 'SLOTS', value: ({ slots }) => slots, right: true },
        { header: 'HANDLERS', value: ({ handlers }) => handlers.join(', ') },
        { header: 'LAST SEEN', value: (worker) => out.shortTime(worker.last_seen), fixed: true },
      ],
      { empty: 'No workers.' },
    );
  },
});
