/** `namespaces list`. */
import { command } from '../command.ts';

export const namespacesList = command({
  name: 'namespaces list',
  summary: 'List namespaces',
  examples: ['carillon namespaces list'],
  async run({ cli }) {
    const client = await cli.client();
    cli.out.list(
      await client.namespaces.list({ limit: 200 }).toArray(),
      [
        { header: 'NAME', value: ({ name }) => name, fixed: true },
        { header: 'DESCRIPTION', value: ({ description }) => description },
        { header: 'CREATED', value: (namespace) => cli.out.shortTime(namespace.created_at), fixed: true },
      ],
      { empty: 'No namespaces.' },
    );
  },
});
