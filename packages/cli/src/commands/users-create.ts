/** `users create`: somebody who can sign in. The password is asked for, or read from the standard input. */
import { command } from '../command.ts';
import { askPassword } from '../output/ask.ts';
import { UsageError } from '../program/usage-error.ts';
import { grantText, readGrant } from '../read/roles.ts';

interface Options {
  readonly displayName?: string;
  readonly grant?: readonly string[];
}

export const usersCreate = command<Options>({
  name: 'users create',
  summary: 'Add a user',
  details: 'The password is asked for; without a terminal it is the first line of the standard input.',
  arguments: [{ name: '<name>', description: 'What they sign in with' }],
  options: [
    { flags: '--display-name <name>', description: 'What they are called' },
    {
      flags: '--grant <role@namespace>',
      description:
        'What they may: editor@billing, viewer (everywhere), operator@billing:own; may be repeated',
      repeatable: true,
    },
  ],
  examples: [
    'carillon users create ada --grant admin',
    'carillon users create bob --display-name "Bob B." --grant editor@billing --grant viewer < password.txt',
  ],
  async run({ args: [name = ''], options, cli }) {
    const grants = (options.grant ?? []).map(readGrant);
    const client = await cli.client();
    const password = await askPassword(`Password for ${name}: `, cli.world);
    if (cli.world.stdin.isTTY && (await askPassword('Once more: ', cli.world)) !== password)
      throw new UsageError('The two passwords differ.');
    const user = await client.users.create({
      name,
      password,
      grants,
      ...(options.displayName !== undefined && { display_name: options.displayName }),
    });
    const may = grants.length > 0 ? `may: ${grants.map(grantText).join(' ')}` : 'may nothing yet';
    cli.out.done(user, `Added ${name} (${user.user_id}); ${may}`);
  },
});
