/** `namespaces delete`: only an empty one. */
import { command } from '../command.ts';
import { forEachId } from './for-each-id.ts';

export const namespacesDelete = command({
  name: 'namespaces delete',
  summary: 'Remove namespaces that hold no jobs',
  arguments: [{ name: '<name...>', description: 'Names of namespaces' }],
  examples: ['carillon namespaces delete old-project'],
  async run({ args, cli }) {
    const client = await cli.client();
    return forEachId(cli, args, async (name) => ({
      answer: (await client.namespaces.remove(name)) ?? { name, status: 'deleted' },
      sentence: `Removed ${name}`,
    }));
  },
});
