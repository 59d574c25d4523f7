/** Signing in and out, and one's own password. */
import { hostname } from 'node:os';
import { CarillonError, type Grant, type Role, type User, type UserSession } from '@carillon/client';
import type { Cli } from '../cli.ts';
import { type CommandSpec, command } from '../command.ts';
import { loginFile, readLogin, removeLogin, type StoredLogin, writeLogin } from '../connection.ts';
import { chosenContext } from '../contexts.ts';
import { CommandFailure, UsageError } from '../errors.ts';
import { choice, fromNow, grantText, ROLES, text, toggle, withDefault } from '../flags.ts';
import { ask, askPassword, askPasswords } from '../output/ask.ts';
import { eachIdCommand, listCommand } from './actions.ts';
import { findUser } from './find-account.ts';

const LOCAL_URL = 'http://127.0.0.1:7420';

const login = command('login', 'Sign in and stay signed in', {
  details:
    'With a name, the password is asked for and a key of your own is made on the server, with all your grants. With --key, that ' +
    'one is kept. Either is stored as a context in ~/.config/carillon/contexts.json, readable by you alone. The key of the login ' +
    'before ends.',
  options: {
    name: text('--name <name>', 'Name to sign in with'),
    namespace: text('--namespace <name>', 'Narrow it: only your grants in this namespace [all]'),
    role: choice('--role <role>', 'Narrow it: no higher role than this [all]', ROLES),
    expires_at: withDefault(fromNow('--expires-in <duration>', 'The key that is made ends after'), '30d'),
  },
  examples: [
    'carillon login --url https://carillon.example.org --name ada',
    'carillon login --url https://carillon.example.org --key ck2_…',
  ],
  async run({ options, cli }) {
    const { env } = cli.world;
    const key = cli.globals.key ?? (env.CARILLON_KEY || undefined);
    const url = cli.globals.url ?? (await knownUrl(cli, { hasKey: key !== undefined }));
    const stored =
      key !== undefined && options.name === undefined
        ? await checkKey(cli, { url, key })
        : await signIn(cli, url, options);
    const before = await readLogin(env).catch(() => undefined);
    await writeLogin(env, stored);
    // Only now: a login that fails leaves the one before as it was.
    if (before?.url === url && before.key !== stored.key) await endLogin(cli, before);
    const { name } = stored;
    const file = loginFile(env);
    cli.out.done({ url, name, file }, `Signed in at ${url} as ${name}. Kept in ${file}.`);
  },
});

/** The server that other commands would connect to. A key that was given is not sent to one that only a folder names. */
async function knownUrl(cli: Cli, { hasKey }: { hasKey: boolean }): Promise<string> {
  const known = await cli.connection().catch((error: unknown) => {
    if (error instanceof CarillonError && (error.code as string) === 'no_server') return undefined;
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
  options: { name?: string; namespace?: string; role?: Role; expires_at: string },
): Promise<StoredLogin> {
  cli.announceServer(url);
  const name = options.name ?? (await ask('Name: ', cli.world));
  const password = await askPassword('Password: ', cli.world);
  const { session } = cli.clientOf({ url, key: undefined });
  const { user, key } = await session.createKeyWithPassword({ name, password }, (who) => ({
    name: `carillon login on ${hostname()}`.slice(0, 100),
    expires_at: options.expires_at,
    grants: narrowed(who, options),
  }));
  cli.out.note(`This login may: ${key.grants.map(grantText).join(' ')}`);
  return { url, key: key.key, keyId: key.key_id, name: user.name };
}

/** All grants of the user, or what is left of them in one namespace and up to one role. */
export function narrowed(
  { name, grants }: Pick<User, 'name' | 'grants'>,
  wanted: { namespace?: string; role?: Role },
): Grant[] {
  const { namespace, role } = wanted;
  const within = grants
    .filter((grant) => namespace === undefined || grant.namespace === namespace || grant.namespace === '*')
    .map((grant) => ({
      ...grant,
      namespace: namespace ?? grant.namespace,
      role: role === undefined || ROLES.indexOf(grant.role) < ROLES.indexOf(role) ? grant.role : role,
    }));
  // A namespace has one grant of each kind: of two that became one, the higher role counts.
  const left = new Map<string, Grant>();
  for (const grant of within) {
    const kind = `${grant.namespace} ${grant.own_only ?? false}`;
    const other = left.get(kind);
    if (!other || ROLES.indexOf(other.role) < ROLES.indexOf(grant.role)) left.set(kind, grant);
  }
  if (left.size > 0) return [...left.values()];
  const where = namespace === undefined ? 'anywhere' : `in ${namespace}`;
  throw new CommandFailure(
    `${name} may do nothing ${where}.`,
    `Somebody who may can change that: carillon users grant ${name} viewer`,
  );
}

/** A key that `login` made is revoked. Signing out and in always succeeds; a key that stays valid is worth a warning. */
async function endLogin(cli: Cli, stored: StoredLogin): Promise<void> {
  const { keyId } = stored;
  if (keyId === undefined) return;
  await cli
    .clientOf(stored)
    .keys.revoke(keyId)
    .catch((error: unknown) => {
      if (!(error instanceof CarillonError)) throw error;
      if (error.status !== 401 && error.status !== 404)
        cli.out.warn(`The key ${keyId} could not be revoked: ${error.message}`);
    });
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
    const { url } = stored;
    await endLogin(cli, stored);
    await removeLogin(env);
    cli.out.done({ status: 'signed_out', url }, `Signed out of ${url}.`);
    const stays = await chosenContext(env).catch(() => undefined);
    if (stays)
      cli.out.note(
        `Commands go on using the context ${stays.name} (${stays.context.url}): sign in with \`carillon login --context ${stays.name}\`, or remove it with \`carillon context remove ${stays.name}\`.`,
      );
  },
});

const whoami = command('whoami', 'Show who you are to the server', {
  examples: ['carillon whoami'],
  async run({ cli }) {
    const { url, from, keyFrom } = await cli.connection();
    const client = await cli.client();
    const who = await client.session.whoami();
    cli.out.record({ url, key_from: keyFrom ?? null, ...who }, [
      // A key has a name of its own, which says where or for what it was made, not by whom.
      ['signed in as', who.user_name],
      ['name', who.name],
      ['kind', who.kind],
      ['user', who.user_id],
      ['may', who.grants.map(grantText).join(' ')],
      ['only', who.scopes?.join(' ')],
      ['until', who.expires_at === null ? undefined : cli.out.shortTime(who.expires_at)],
      ['server', url],
      ['found through', from],
      ['key from', keyFrom],
    ]);
  },
});

const password = command('password', 'Change your own password', {
  details:
    'Asks for the current and the new one; without a terminal they are the first two lines of the standard input. ' +
    'Ends your sessions; keys and logins of this command stay, unless --end-keys ends those that you made.',
  options: {
    name: text('--name <name>', 'Name you sign in with [that of the stored login]'),
    endKeys: toggle(
      '--end-keys',
      'Also end all keys and logins that you made, those of others too',
      'end_keys',
    ),
  },
  examples: [
    'carillon password',
    'carillon password --end-keys',
    'carillon password --name ada --url https://carillon.example.org',
  ],
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
    const { endKeys } = options;
    const user = await session.changePassword({ name, password: current }, wanted, { endKeys });
    cli.out.done(
      { user_id: user.user_id, name: user.name, status: 'password_changed' },
      `Changed the password of ${user.name} at ${url}`,
    );
    if (endKeys) cli.out.note('Your keys and logins have ended: sign in again with `carillon login`.');
  },
});

const list = listCommand('sessions list', 'List who is signed in', {
  details: 'Your own sessions; those of others with the permission users.read.',
  options: {
    user: text('--user <user>', 'Of this user: name or id', 'user_id'),
    all: toggle('--all', 'Of everybody'),
  },
  examples: ['carillon sessions list', 'carillon sessions list --all', 'carillon sessions list --user ada'],
  read: async (client, { user, ...query }) =>
    client.sessions.list({
      ...query,
      ...(user !== undefined && { user_id: (await findUser(client, user)).user_id }),
    }),
  columns: (out) => [
    { header: 'ID', value: (session) => session.session_id, fixed: true },
    { header: 'USER', value: sessionOwner },
    { header: 'SINCE', value: (session) => out.shortTime(session.created_at) },
    { header: 'LAST SEEN', value: (session) => out.shortTime(session.last_seen_at) },
    { header: 'FROM', value: (session) => session.address },
    { header: 'WITH', value: (session) => session.user_agent },
  ],
  empty: 'No sessions.',
});

const end = eachIdCommand('sessions end', 'End sessions', {
  details: 'Your own; those of others with the permission users.manage.',
  arguments: [{ name: '<id...>', description: 'Ids of sessions', names: 'session' }],
  examples: ['carillon sessions end 01893f2e-7c14-7aa1-9c0d-1e2f3a4b5c6d'],
  question: (count) => `End ${count === 1 ? 'this session' : `these ${count} sessions`} for good?`,
  act: async (client, id) => (await client.sessions.end(id)) ?? { session_id: id, status: 'ended' },
  sentence: (id) => `Ended ${id}`,
});

/** One of nobody is named after what opened it. */
function sessionOwner({ user_name: name, method }: UserSession): string {
  return name ?? (method === 'ticket' ? 'admin key (link)' : 'admin key');
}

export const sessionCommands: readonly CommandSpec[] = [login, logout, whoami, password, list, end];
