/** `login`: makes a key with name and password, or takes a given one, and keeps it for later commands. */
import { hostname } from 'node:os';
import type { Grant, User } from '@carillon/client';
import type { Cli } from '../cli.ts';
import { command } from '../command.ts';
import { loginFile, type StoredLogin, writeLogin } from '../connection/stored-login.ts';
import { ask, askPassword } from '../output/ask.ts';
import { CommandFailure } from '../program/command-failure.ts';
import { readSeconds } from '../read/read-number.ts';
import { grantText, ROLES } from '../read/roles.ts';

interface Options {
  readonly url?: string;
  readonly key?: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly expiresIn: string;
}

const LOCAL = 'http://127.0.0.1:7420';

export const login = command<Options>({
  name: 'login',
  summary: 'Sign in and stay signed in',
  details:
    'With a name, the password is asked for and a key of your own is made on the server. With --key, that one is kept. ' +
    'Either is stored in ~/.config/carillon/login.json, readable by you alone.',
  options: [
    { flags: '--name <name>', description: 'Name to sign in with' },
    { flags: '--namespace <name>', description: 'Which of your grants the key gets [the widest]' },
    { flags: '--expires-in <duration>', description: 'The key that is made ends after', fallback: '30d' },
  ],
  examples: [
    'carillon login --url https://carillon.example.org --name ada',
    'carillon login --url https://carillon.example.org --key ck_…',
  ],
  async run({ options, cli }) {
    const { env } = cli.world;
    const url = options.url ?? (env.CARILLON_URL || (await knownUrl(cli)));
    const key = options.key ?? (env.CARILLON_KEY || undefined);
    const made =
      key !== undefined && options.name === undefined
        ? await keepKey(cli, { url, key })
        : await signIn(cli, { url, options });
    await writeLogin(env, made);
    cli.out.done(
      { url: made.url, name: made.name, file: loginFile(env) },
      `Signed in at ${made.url} as ${made.name}. Kept in ${loginFile(env)}.`,
    );
  },
});

/** The server that commands would talk to anyway. */
async function knownUrl(cli: Cli): Promise<string> {
  try {
    return (await cli.connection()).url;
  } catch {
    // None is known yet: the one on this machine, where it answers unless told otherwise.
    return LOCAL;
  }
}

/** A key that does not work is not kept. */
async function keepKey(cli: Cli, at: { url: string; key: string }): Promise<StoredLogin> {
  const who = await cli.clientOf(at).session.whoami();
  return { ...at, name: who.name };
}

async function signIn(cli: Cli, { url, options }: { url: string; options: Options }): Promise<StoredLogin> {
  const name = options.name ?? (await ask('Name: ', cli.world));
  const password = await askPassword('Password: ', cli.world);
  const seconds = readSeconds(options.expiresIn, '--expires-in') ?? 0;
  const { user, key } = await cli
    .clientOf({ url, key: undefined })
    .session.createKeyWithPassword({ name, password }, (who) => ({
      name: `carillon login on ${hostname()}`.slice(0, 100),
      expires_at: new Date(Date.now() + seconds * 1_000).toISOString(),
      ...chooseGrant(who, options.namespace),
    }));
  if (user.grants.length > 1) {
    cli.out.note(`This login may: ${grantText(key)}. You also have other grants: choose with --namespace.`);
  }
  return { url, key: key.key, keyId: key.key_id, name: user.name };
}

/** A key carries one grant: the one asked for, else the widest. */
function chooseGrant({ name, grants }: User, namespace: string | undefined): Grant {
  const fitting = grants.filter((grant) => namespace === undefined || grant.namespace === namespace);
  const [widest] = [...fitting].sort((a, b) => breadth(b) - breadth(a));
  if (widest) return widest;
  const where = namespace === undefined ? 'anywhere' : `in ${namespace}`;
  throw new CommandFailure(`${name} may do nothing ${where}.`, {
    fix: `Somebody who may can change that: carillon users grant ${name} viewer`,
  });
}

function breadth({ namespace, role, own_only: ownOnly }: Grant): number {
  return (namespace === '*' ? 100 : 0) + (ownOnly ? 0 : 10) + ROLES.indexOf(role);
}
