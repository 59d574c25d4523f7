/** `users list`: who can sign in, and what they may. */
import { command } from '../command.ts';
import { LIMIT_OPTION, pageSize, readLimited } from '../read/limit-option.ts';
import { grantText } from '../read/roles.ts';

export const usersList = command<{ readonly limit: string }>({
  name: 'users list',
  summary: 'List users and what they may',
  options: [LIMIT_OPTION],
  examples: ['carillon users list'],
  async run({ options, cli }) {
    const client = await cli.client();
    const list = client.users.list({ limit: pageSize(options.limit) });
    cli.out.list(
      await readLimited(list, options.limit, cli.out),
      [
        { header: 'ID', value: ({ user_id }) => user_id, fixed: true },
        { header: 'NAME', value: ({ name }) => name },
        { header: 'DISPLAY NAME', value: (user) => user.display_name },
        { header: 'MAY', value: ({ grants }) => grants.map(grantText).join(' ') },
        { header: 'DISABLED', value: ({ disabled }) => (disabled ? 'yes' : '') },
      ],
      { empty: 'No users: `carillon users create` makes the first one.' },
    );
  },
});
