/** Signing in and out, and one's own password. */
import { hostname } from 'node:os';
import { CarillonError, type Grant, type User } from '@carillon/client';
import type { Cli } from '../cli.ts';
import { type CommandSpec, command } from '../command.ts';
import { loginFile, readLogin, removeLogin, type StoredLogin, writeLogin } from '../connection.ts';
import { CommandFailure, UsageError } from '../errors.ts';
import { fromNow, grantText, ROLES, text, withDefault } from '../flags.ts';
import { ask, askPassword, askPasswords } from '../output/ask.ts';

const LOCAL_URL = 'http://127.0.0.1:7420';

const login = command('login', 'Sign in and stay signed in', {
  details:
    'With a name, the password is asked for and a key of your own is made on the server. With --key, that one is kept. ' +
    'Either is stored as a context in ~/.config/carillon/contexts.json, readable by you alone.',
  options: {
    name: text('--name <name>', 'Name to sign in with'),
    namespace: text('--namespace <name>', 'Which of your grants the key gets [the widest]'),
    expires_at: withDefault(fromNow('--expires-in <duration>', 'The key that is made ends after'), '30d'),
  },
  examples: [
    'carillon login --url https://carillon.example.org --name ada',
    'carillon login --url https://carillon.example.org --key ck_…',
  ],
  async run({ options, cli }) {
    const { env } = cli.world;
    const key = cli.globals.key ?? (env.CARILLON_KEY || undefined);
    const url = cli.globals.url ?? (await knownUrl(cli, { hasKey: key !== undefined }));
    const stored =
      key !== undefined && options.name === undefined
        ? await checkKey(cli, { url, key })
        : await signIn(cli, url, options);
    await writeLogin(env, stored);
    const { name } = stored;
    const file = loginFile(env);
    cli.out.done({ url, name, file }, `Signed in at ${url} as ${name}. Kept in ${file}.`);
  },
});

/** The server that other commands would connect to. A key that was given is not sent to one that only a folder names. */
async function knownUrl(cli: Cli, { hasKey }: { hasKey: boolean }): Promise<string> {
  const known = await cli.connection().catch((error: unknown) => {
    if (error instanceof CarillonError && error.code === 'no_server') return undefined;
    throw error;
  });
  // None is known yet: the default address of a server on this machine.
  if (!known) return LOCAL_URL;
  if (hasKey && known.isOfFolder)
    throw new UsageError('Which server is the key for?', `Name it with --url, such as --url ${known.url}`);
  return known.url;
}

/** A key that does not work is not stored. */
async function checkKey(cli: Cli, at: { url: string; key: string }): Promise<StoredLogin> {
  const who = await cli.clientOf(at).session.whoami();
  return { ...at, name: who.name };
}

async function signIn(
  cli: Cli,
  url: string,
  options: { name?: string; namespace?: string; expires_at: string },
): Promise<StoredLogin> {
  cli.announceServer(url);
  const name = options.name ?? (await ask('Name: ', cli.world));
  const password = await askPassword('Password: ', cli.world);
  const { session } = cli.clientOf({ url, key: undefined });
  const { user, key } = await session.createKeyWithPassword({ name, password }, (who) => ({
    name: `carillon login on ${hostname()}`.slice(0, 100),
    expires_at: options.expires_at,
    ...chooseGrant(who, options.namespace),
  }));
  if (user.grants.length > 1) {
    cli.out.note(`This login may: ${grantText(key)}. You also have other grants: choose with --namespace.`);
  }
  return { url, key: key.key, keyId: key.key_id, name: user.name };
}

/** A key carries one grant: that of the namespace given, else the widest. */
function chooseGrant({ name, grants }: User, namespace: string | undefined): Grant {
  const fitting = grants.filter((grant) => namespace === undefined || grant.namespace === namespace);
  const [widest] = [...fitting].sort((a, b) => breadth(b) - breadth(a));
  if (widest) return widest;
  const where = namespace === undefined ? 'anywhere' : `in ${namespace}`;
  throw new CommandFailure(
    `${name} may do nothing ${where}.`,
    `Somebody who may can change that: carillon users grant ${name} viewer`,
  );
}

function breadth({ namespace, role, own_only: ownOnly }: Grant): number {
  return (namespace === '*' ? 100 : 0) + (ownOnly ? 0 : 10) + ROLES.indexOf(role);
}

const logout = command('logout', 'Forget the stored login', {
  details: 'A key that `login` made is revoked.',
  examples: ['carillon logout'],
  async run({ cli }) {
    const { env } = cli.world;
    const stored = await readLogin(env);
    if (!stored) {
      cli.out.done({ status: 'not_signed_in' }, 'Nobody was signed in.');
      return;
    }
    const { url, keyId } = stored;
    if (keyId !== undefined) {
      const { keys } = cli.clientOf(stored);
      await keys.revoke(keyId).catch((error: unknown) => {
        // Signing out always succeeds; a key that stays valid is worth a warning.
        if (!(error instanceof CarillonError)) throw error;
        if (error.status !== 401 && error.status !== 404)
          cli.out.warn(`The key ${keyId} could not be revoked: ${error.message}`);
      });
    }
    await removeLogin(env);
    cli.out.done({ status: 'signed_out', url }, `Signed out of ${url}.`);
  },
});

const whoami = command('whoami', 'Show who you are to the server', {
  examples: ['carillon whoami'],
  async run({ cli }) {
    const { url, key, from } = await cli.connection();
    const stored = await readLogin(cli.world.env);
    const client = await cli.client();
    const who = await client.session.whoami();
    cli.out.record({ url, ...who }, [
      // The server knows a login by its key, whose name says where it was made, not by whom.
      ['signed in as', key !== undefined && stored?.key === key ? stored.name : undefined],
      ['name', who.name],
      ['kind', who.kind],
      ['user', who.user_id],
      ['may', who.grants.map(grantText).join(' ')],
      ['only', who.scopes?.join(' ')],
      ['server', url],
      ['found through', from],
    ]);
  },
});

const password = command('password', 'Change your own password', {
  details:
    'Asks for the current and the new one; without a terminal they are the first two lines of the standard input. ' +
    'Ends your sessions; keys and logins of this command stay.',
  options: { name: text('--name <name>', 'Name you sign in with [that of the stored login]') },
  examples: ['carillon password', 'carillon password --name ada --url https://carillon.example.org'],
  async run({ options, cli }) {
    const { world } = cli;
    const { url } = await cli.connection();
    const stored = await readLogin(world.env);
    // Another server may know this person by another name. A login with a given key has the name of that key.
    const known = stored?.url === url && stored.keyId !== undefined ? stored.name : undefined;
    const name = options.name ?? known ?? (await ask('Name: ', world));
    cli.announceServer(url);
    const questions = [`Current password of ${name}: `, 'New password: ', 'Once more: '];
    const [current = '', wanted = '', again] = await askPasswords(questions, world);
    if (world.stdin.isTTY && again !== wanted) throw new UsageError('The two new passwords differ.');
    const { session } = cli.clientOf({ url, key: undefined });
    const user = await session.changePassword({ name, password: current }, wanted);
    cli.out.done(
      { user_id: user.user_id, name: user.name, status: 'password_changed' },
      `Changed the password of ${user.name} at ${url}`,
    );
  },
});

export const sessionCommands: readonly CommandSpec[] = [login, logout, whoami, password];
