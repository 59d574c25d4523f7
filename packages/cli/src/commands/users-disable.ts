/** `users disable`: they can no longer sign in, and their keys open nothing. */
import { command } from '../command.ts';
import { findUser } from '../read/find-user.ts';
import { forEachId } from './for-each-id.ts';

export const usersDisable = command({
  name: 'users disable',
  summary: 'Keep users out',
  details:
    'They can no longer sign in and their keys open nothing; `users update --enable` lets them in again.',
  arguments: [{ name: '<user...>', description: 'Names or ids' }],
  examples: ['carillon users disable bob'],
  async run({ args, cli }) {
    const client = await cli.client();
    return forEachId(cli, args, async (who) => {
      const { user_id: id, name } = await findUser(client, who);
      return { answer: await client.users.update(id, { disabled: true }), sentence: `Disabled ${name}` };
    });
  },
});
