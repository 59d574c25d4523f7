/** `keys list`: which keys there are; never the keys themselves. */
import { command } from '../command.ts';
import { LIMIT_OPTION, pageSize, readLimited } from '../read/limit-option.ts';

export const keysList = command<{ readonly limit: string }>({
  name: 'keys list',
  summary: 'List API keys',
  options: [LIMIT_OPTION],
  examples: ['carillon keys list'],
  async run({ options, cli }) {
    const client = await cli.client();
    const { out } = cli;
    const keys = await readLimited(client.keys.list({ limit: pageSize(options.limit) }), options.limit, out);
    out.list(
      keys,
      [
        { header: 'ID', value: ({ key_id }) => key_id, fixed: true },
        { header: 'NAME', value: ({ name }) => name },
        { header: 'PREFIX', value: ({ prefix }) => prefix, fixed: true },
        { header: 'ROLE', value: (key) => (key.own_only ? `${key.role}, own jobs` : key.role) },
        { header: 'NAMESPACE', value: ({ namespace }) => namespace },
        { header: 'EXPIRES', value: (key) => out.shortTime(key.expires_at) },
        { header: 'LAST USED', value: (key) => out.shortTime(key.last_used_at) },
      ],
      { empty: 'No keys.' },
    );
  },
});
