/** `users update`: a new name to be called by, a new password, or back from being disabled. */
import type { UserChange } from '@carillon/client';
import { command } from '../command.ts';
import { askPassword } from '../output/ask.ts';
import { UsageError } from '../program/usage-error.ts';
import { findUser } from '../read/find-user.ts';

interface Options {
  readonly displayName?: string;
  readonly enable?: boolean;
  readonly password?: boolean;
}

export const usersUpdate = command<Options>({
  name: 'users update',
  summary: 'Change a user',
  arguments: [{ name: '<user>', description: 'Name or id' }],
  options: [
    { flags: '--display-name <name>', description: 'What they are called' },
    { flags: '--enable', description: 'Let them in again' },
    {
      flags: '--password',
      description: 'Set a new password: asked for, or the first line of the standard input',
    },
  ],
  examples: ['carillon users update ada --display-name "Ada L."', 'carillon users update ada --password'],
  async run({ args: [who = ''], options, cli }) {
    const change: UserChange = {
      ...(options.displayName !== undefined && { display_name: options.displayName }),
      ...(options.enable && { disabled: false }),
    };
    if (Object.keys(change).length === 0 && !options.password)
      throw new UsageError('Nothing to change was given.', 'Such as --display-name "Ada L.".');
    const client = await cli.client();
    const { user_id: id, name } = await findUser(client, who);
    if (options.password)
      await client.users.setPassword(id, {
        password: await askPassword(`New password for ${name}: `, cli.world),
      });
    if (Object.keys(change).length > 0) await client.users.update(id, change);
    cli.out.done({ user_id: id, name, status: 'updated' }, `Updated ${name}`);
  },
});
