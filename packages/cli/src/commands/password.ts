/** `password`: one's own, with the one there is now. That of others is changed with `users update --password`. */
import { command } from '../command.ts';
import { readLogin } from '../connection/stored-login.ts';
import { ask, askPasswords } from '../output/ask.ts';
import { UsageError } from '../program/usage-error.ts';

export const password = command<{ readonly name?: string }>({
  name: 'password',
  summary: 'Change your own password',
  details:
    'Asks for the current and the new one; without a terminal they are the first two lines of the standard input. ' +
    'Ends your sessions; keys and logins of this command stay.',
  options: [{ flags: '--name <name>', description: 'Name you sign in with [that of the stored login]' }],
  examples: ['carillon password', 'carillon password --name ada --url https://carillon.example.org'],
  async run({ options, cli }) {
    const { world } = cli;
    const { url } = await cli.connection();
    const login = await readLogin(world.env);
    // Signed in elsewhere, one may have another name here. A login with a given key carries the name of that key.
    const known = login?.url === url && login.keyId !== undefined ? login.name : undefined;
    const name = options.name ?? known ?? (await ask('Name: ', world));
    const questions = [`Current password of ${name}: `, 'New password: ', 'Once more: '];
    const [current = '', wanted = '', again] = await askPasswords(questions, world);
    if (world.stdin.isTTY && again !== wanted) throw new UsageError('The two new passwords differ.');
    const client = cli.clientOf({ url, key: undefined });
    const user = await client.session.changePassword({ name, password: current }, wanted);
    cli.out.done(
      { user_id: user.user_id, name: user.name, status: 'password_changed' },
      `Changed the password of ${user.name} at ${url}`,
    );
  },
});
