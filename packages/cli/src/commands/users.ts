/** `users`: people who can sign in, and their grants. */
import type { Grant } from '@carillon/client';
import type { Cli } from '../cli.ts';
import { type CommandSpec, command } from '../command.ts';
import { EXIT, UsageError } from '../errors.ts';
import { grants, grantText, readGrant, text, toggle, YES } from '../flags.ts';
import { askPassword, askPasswords } from '../output/ask.ts';
import { eachIdCommand, forEachId, isConfirmed, listCommand } from './actions.ts';
import { findUser } from './find-account.ts';
import { ownPassword } from './own-password.ts';

const USER = { name: '<user>', description: 'Name or id', names: 'user' } as const;
const DISPLAY_NAME = text('--display-name <name>', 'What they are called');

export const userCommands: readonly CommandSpec[] = [
  listCommand('users list', 'List users and what they may', {
    options: { name: text('--name <name>', 'With this name') },
    examples: ['carillon users list', 'carillon users list --name ada'],
    read: (client, query) => client.users.list(query),
    columns: () => [
      { header: 'ID', value: (user) => user.user_id, fixed: true },
      { header: 'NAME', value: (user) => user.name },
      { header: 'DISPLAY NAME', value: (user) => user.display_name },
      { header: 'MAY', value: (user) => user.grants.map(grantText).join(' ') },
      { header: 'DISABLED', value: (user) => (user.disabled ? 'yes' : '') },
    ],
    empty: 'No users: `carillon users create` makes the first one.',
    noMatch: 'No user has that name.',
  }),
  command('users create', 'Add a user', {
    details:
      'The password is asked for; without a terminal it is the first line of the standard input. Whoever has signed in shows their ' +
      'own as well: it is asked for after that, or is the second line.',
    arguments: [{ name: '<name>', description: 'What they sign in with' }],
    options: {
      displayName: DISPLAY_NAME,
      grants: grants(
        '--grant <role@namespace>',
        'What they may: editor@billing, viewer (everywhere), operator@billing:own; may be repeated',
      ),
    },
    examples: [
      'carillon users create ada --grant admin',
      'carillon users create bob --display-name "Bob B." --grant editor@billing --grant viewer < password.txt',
    ],
    async run({ args: [name = ''], options: { displayName, grants: given = [] }, cli }) {
      const client = await cli.client();
      cli.announceServer((await cli.connection()).url);
      const { password, own } = await askNewPassword(cli, `Password for ${name}: `);
      if (cli.world.stdin.isTTY && (await askPassword('Once more: ', cli.world)) !== password)
        throw new UsageError('The two passwords differ.');
      const withOwn = ownPassword(cli, own);
      const user = await withOwn((proof) =>
        client.users.create({
          ...{ name, password, grants: given, ...proof },
          ...(displayName !== undefined && { display_name: displayName }),
        }),
      );
      const may = given.length > 0 ? `may: ${given.map(grantText).join(' ')}` : 'may nothing yet';
      cli.out.done(user, `Added ${name} (${user.user_id}); ${may}`);
    },
  }),
  command('users update', 'Change a user', {
    details:
      'To enable a user or to set their password, whoever has signed in is asked for their own password; without a terminal it is ' +
      'the last line of the standard input.',
    arguments: [USER],
    options: {
      displayName: DISPLAY_NAME,
      enable: toggle('--enable', 'Let them in again'),
      password: toggle(
        '--password',
        'Set a new password: asked for, or the first line of the standard input',
      ),
    },
    examples: ['carillon users update ada --display-name "Ada L."', 'carillon users update ada --password'],
    async run({ args: [who = ''], options: { displayName, enable, password }, cli }) {
      const change = {
        ...(displayName !== undefined && { display_name: displayName }),
        ...(enable && { disabled: false }),
      };
      const hasChange = Object.keys(change).length > 0;
      if (!hasChange && !password)
        throw new UsageError('Nothing to change was given.', 'Such as --display-name "Ada L.".');
      const client = await cli.client();
      const { user_id: id, name } = await client.users.get(who);
      if (password) cli.announceServer((await cli.connection()).url);
      const entered = password ? await askNewPassword(cli, `New password for ${name}: `) : undefined;
      const withOwn = ownPassword(cli, entered?.own);
      if (entered)
        await withOwn((proof) => client.users.setPassword(id, { password: entered.password, ...proof }));
      if (hasChange) await withOwn((proof) => client.users.update(id, { ...change, ...proof }));
      cli.out.done({ user_id: id, name, status: 'updated' }, `Updated ${name}`);
    },
  }),
  command('users grant', 'Say what a user may', {
    details:
      'Whoever has signed in is asked for their own password; without a terminal it is the first line of the standard input.',
    arguments: [
      USER,
      { name: '<grant...>', description: 'viewer (everywhere), editor@billing, operator@billing:own' },
    ],
    options: {
      replace: toggle('--replace', 'Only these from now on'),
      revoke: toggle('--revoke', 'Take these away instead'),
    },
    examples: [
      'carillon users grant ada editor@billing',
      'carillon users grant ada viewer --replace',
      'carillon users grant ada editor@billing --revoke',
    ],
    async run({ args: [who = '', ...given], options, cli }) {
      const named = given.map(readGrant);
      const client = await cli.client();
      const { user_id: id, name, grants: current } = await client.users.get(who);
      const others = current.filter((grant) => !named.some((one) => isSameKind(one, grant)));
      const wanted = options.revoke ? others : options.replace ? named : [...others, ...named];
      const withOwn = ownPassword(cli);
      await withOwn(({ current_password: currentPassword }) =>
        client.users.setGrants(id, wanted, { currentPassword }),
      );
      cli.out.done(
        { user_id: id, name, grants: wanted },
        `${name} may: ${wanted.map(grantText).join(' ') || 'nothing'}`,
      );
    },
  }),
  eachIdCommand('users disable', 'Keep users out', {
    details:
      'They can no longer sign in, their sessions end at once, and their keys open nothing; `users update --enable` lets them in again.',
    arguments: [{ name: '<user...>', description: 'Names or ids', names: 'user' }],
    examples: ['carillon users disable bob'],
    act: (client, id) => client.users.update(id, { disabled: true }),
    sentence: (_, user) => `Disabled ${user.name}`,
  }),
  command('users delete', 'Remove users', {
    details:
      'Their keys and sessions go with them; their jobs stay. The last administrator is not removed. Whoever has signed in is asked ' +
      'for their own password; without a terminal it is the first line of the standard input.',
    arguments: [{ name: '<user...>', description: 'Names or ids' }],
    options: { yes: YES },
    examples: ['carillon users delete bob', 'carillon users delete bob --yes'],
    async run({ args, options: { yes }, cli }) {
      const client = await cli.client();
      const question = `Remove ${args.length === 1 ? `the user ${args[0]}` : `${args.length} users`} for good?`;
      if (!(await isConfirmed(cli, { yes, question, otherwise: 'Nothing was removed.' }))) return EXIT.ok;
      const withOwn = ownPassword(cli);
      return forEachId(cli, args, async (who) => {
        const { user_id: id, name } = await findUser(client, who);
        await withOwn(({ current_password: currentPassword }) =>
          client.users.remove(id, { currentPassword }),
        );
        return { answer: { user_id: id, name, status: 'deleted' }, sentence: `Removed ${name}` };
      });
    },
  }),
];

/** The password of a user. Without a terminal, the line after it is that of the caller. */
async function askNewPassword(
  cli: Cli,
  question: string,
): Promise<{ password: string; own: string | undefined }> {
  const isTerminal = cli.world.stdin.isTTY;
  const questions = isTerminal ? [question] : [question, 'Your password: '];
  const [password = '', own] = await askPasswords(questions, cli.world);
  if (password === '' && !isTerminal)
    throw new UsageError(
      'A password is needed, and the standard input holds none.',
      'Give it as the first line of the standard input, such as < password.txt; on a terminal it is asked for.',
    );
  return { password, own };
}

/** A namespace has one grant of each kind: a new role there replaces the old one. */
function isSameKind(a: Grant, b: Grant): boolean {
  return a.namespace === b.namespace && (a.own_only ?? false) === (b.own_only ?? false);
}
