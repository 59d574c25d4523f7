/** `keys`: API keys. A secret is only shown when it is made. */
import type { ApiKey, CreatedKey, Grant, Role } from '@carillon/client';
import type { Cli } from '../cli.ts';
import { type CommandSpec, command } from '../command.ts';
import { EXIT, UsageError } from '../errors.ts';
import {
  choice,
  fromNow,
  grants,
  grantText,
  IN_NAMESPACE,
  names,
  pastInstant,
  ROLES,
  text,
  texts,
  toggle,
  withDefault,
  YES,
} from '../flags.ts';
import { eachIdCommand, isConfirmed, listCommand } from './actions.ts';
import { findKey, findUser } from './find-account.ts';
import { askOwnPassword, isPasswordWanted } from './own-password.ts';
import { narrowed } from './session.ts';

const KEY = { name: '<key>', description: 'Id, name, or the beginning up to the second _' };
const OF_USER = text('--user <user>', 'Of this user: name or id', 'user_id');
const EXPIRES_IN = fromNow('--expires-in <duration>', 'Ends after: 12h, 90d', 'expires_at');
/** What makes a key without a password may be at most this old. */
const WITHOUT_PASSWORD_MS_MAX = 30 * 24 * 3_600_000;
const MINUTE_MS = 60_000;

export const keyCommands: readonly CommandSpec[] = [
  listCommand('keys list', 'List API keys', {
    details: 'Your own; with the permission keys.read also those of others.',
    options: {
      user: OF_USER,
      namespace: IN_NAMESPACE,
      name: text('--name <name>', 'With this name'),
      expired: toggle('--expired', 'That have expired'),
      unused_since: pastInstant('--unused-since <time>', 'Neither made nor used since: 30d (ago), or a time'),
    },
    examples: [
      'carillon keys list',
      'carillon keys list --user ada',
      'carillon keys list --unused-since 90d',
    ],
    read: async (client, { user, ...query }) =>
      client.keys.list({
        ...query,
        ...(user !== undefined && { user_id: (await findUser(client, user)).user_id }),
      }),
    columns: (out) => [
      { header: 'ID', value: (key) => key.key_id, fixed: true },
      { header: 'NAME', value: (key) => key.name },
      { header: 'OWNER', value: (key) => key.user_name ?? '-', rank: 4 },
      { header: 'PREFIX', value: (key) => key.prefix, fixed: true, rank: 6 },
      { header: 'MAY', value: mayText, rank: 3 },
      { header: 'EXPIRES', value: (key) => out.shortTime(key.expires_at), rank: 5 },
      { header: 'LAST USED', value: (key) => out.shortTime(key.last_used_at) },
    ],
    empty: 'No keys.',
    noMatch: 'No keys match.',
  }),
  command('keys create', 'Make an API key', {
    details:
      'The key is shown once, and cannot be read again later. Keys of your own need no permission. One that lasts longer than ' +
      'your login takes your password, which is asked for; without a terminal the key ends with the login instead.',
    arguments: [{ name: '<name>', description: 'What it is for' }],
    options: {
      role: choice('--role <role>', 'What it may [viewer]', ROLES),
      namespace: text(
        '--namespace <name>',
        'Where; * for everywhere [that of the context, else default, else wherever you may]',
      ),
      own_only: toggle('--own-only', 'Only jobs of its owner'),
      grants: grants(
        '--grant <role@namespace>',
        'Instead of these: editor@billing, viewer (everywhere), editor@billing:own; may be repeated',
      ),
      scope: texts('--scope <action>', 'No other actions than this, such as jobs.create; may be repeated'),
      worker: toggle(
        '--worker',
        'A key for workers: connects them, and may do nothing else; with --handlers',
      ),
      handlers: names(
        '--handlers <names>',
        'With --worker: the handlers that the worker may offer, with commas',
      ),
      namespaces: names(
        '--namespaces <names>',
        'With --worker: whose jobs it may be given [all that you may]',
      ),
      expires_at: EXPIRES_IN,
      user: text('--user <user>', 'Whose key it is: name or id [yours]', 'user_id'),
    },
    examples: [
      'carillon keys create deploy --role editor --namespace billing --expires-in 90d',
      'carillon keys create console --grant viewer@ops --grant editor@ops:own',
      'carillon keys create thumbnails --worker --handlers resize-image,script --namespaces media',
      'carillon keys create submit-only --role editor --scope jobs.create --json | jq -r .key',
    ],
    async run({ args: [name = ''], options: { scope, user, grants: several, ...fields }, cli }) {
      const { role, namespace, own_only, worker, handlers, namespaces, ...rest } = fields;
      if (several && (role ?? namespace ?? own_only) !== undefined)
        throw new UsageError('--grant says what --role, --namespace and --own-only say: give only --grant.');
      const others = [role, namespace, own_only, several, scope, user];
      if (worker && others.some((other) => other !== undefined))
        throw new UsageError(
          '--worker says what the key may: give only --handlers and --namespaces with it.',
        );
      if (worker !== (handlers && true) || (namespaces && !worker))
        throw new UsageError(
          'A worker key takes --worker and --handlers.',
          'Such as --worker --handlers script,http',
        );
      const client = await cli.client();
      const rights = handlers
        ? { worker: { handlers, ...(namespaces && { namespaces }) } }
        : { grants: several ?? (await grantsOf(cli, { role, namespace, own_only })) };
      const key = {
        ...{ name, ...rest, ...rights },
        ...(scope && { scopes: scope }),
        ...(user !== undefined && { user_id: (await findUser(client, user)).user_id }),
      };
      const created = await withPassword(cli, fields.expires_at, (more) =>
        client.keys.create({ ...key, ...more }),
      );
      const may = mayText(created);
      showSecret(cli, created, `Made ${created.name} (${created.key_id}). It may: ${may}`);
    },
  }),
  command('keys rename', 'Rename an API key', {
    arguments: [KEY, { name: '<name>', description: 'What it is called from now on' }],
    examples: ['carillon keys rename deploy "deploy of billing"'],
    async run({ args: [given = '', name = ''], cli }) {
      const client = await cli.client();
      const { key_id: id, name: before } = await findKey(client, given);
      cli.out.done(await client.keys.update(id, { name }), `Renamed ${before} to ${name}`);
    },
  }),
  command('keys rotate', 'Give an API key a new secret', {
    details:
      'The new secret is shown once. The one before works on for the overlap, so that programs can be changed one after the other; ' +
      'one from an earlier rotation ends at once. With --overlap 0 so does the one before, after a question.',
    arguments: [KEY],
    options: {
      overlap: withDefault(
        text('--overlap <duration>', 'The secret before works on for: 1h, 7d; 0 ends it'),
        '24h',
      ),
      expires_at: EXPIRES_IN,
      yes: YES,
    },
    examples: [
      'carillon keys rotate deploy',
      'carillon keys rotate deploy --overlap 7d',
      'carillon keys rotate leaked --overlap 0 --yes',
    ],
    async run({ args: [given = ''], options: { yes, ...options }, cli }) {
      const client = await cli.client();
      const question = `End the secret that ${given} has now for good?`;
      if (isNoTime(options.overlap) && !(await isConfirmed(cli, { yes, question }))) return EXIT.ok;
      const { key_id: id } = await findKey(client, given);
      const rotated = await withPassword(cli, options.expires_at, (more) =>
        client.keys.rotate(id, { ...options, ...more }),
      );
      const until = cli.out.shortTime(rotated.previous_expires_at);
      showSecret(
        cli,
        rotated,
        `Rotated ${rotated.name}. The secret before (${rotated.previous_prefix}) ends ${until}`,
      );
      return EXIT.ok;
    },
  }),
  eachIdCommand('keys revoke', 'Revoke API keys', {
    arguments: [{ name: '<key...>', description: 'Ids, names or beginnings of keys' }],
    examples: ['carillon keys revoke deploy'],
    act: async (client, given) => {
      const { key_id: id } = await findKey(client, given);
      return (await client.keys.revoke(id)) ?? { key_id: id, status: 'revoked' };
    },
    sentence: (given) => `Revoked ${given}`,
    question: (count) => `Revoke ${count === 1 ? 'this key' : `these ${count} keys`} for good?`,
  }),
];

/** As the server reads it: 0, 0s. */
function isNoTime(overlap: string): boolean {
  return /^0+[a-z]*$/i.test(overlap.trim());
}

/** Where no namespace was named: that of the context, else the default one, else those that the maker has, as `jobs create` does. */
async function grantsOf(
  cli: Cli,
  {
    role = 'viewer',
    namespace,
    own_only = false,
  }: { role: Role | undefined; namespace: string | undefined; own_only: boolean | undefined },
): Promise<Grant[]> {
  const place = namespace ?? (await cli.defaultNamespace());
  if (place !== undefined) return [{ role, namespace: place, own_only }];
  const who = await (await cli.client()).session.whoami();
  if (who.grants.some((grant) => ['*', 'default'].includes(grant.namespace)))
    return [{ role, namespace: 'default', own_only }];
  const grants = own_only ? who.grants.map((grant) => ({ ...grant, own_only })) : who.grants;
  return narrowed({ name: who.name, grants }, { role });
}

function mayText({ worker, grants: given }: ApiKey): string {
  if (!worker) return given.map(grantText).join(' ');
  const { handlers, namespaces } = worker;
  return `connect workers for ${handlers.join(', ')}${namespaces.includes('*') ? '' : ` in ${namespaces.join(', ')}`}`;
}

function showSecret(cli: Cli, made: CreatedKey, sentence: string): void {
  cli.out.done(made, made.key);
  cli.out.note(`${sentence}. Keep the key: it is not shown again.`);
}

/** What lasts longer than the login takes the password of the person: asked for, or the key ends with the login. */
async function withPassword<T extends ApiKey>(
  cli: Cli,
  expiresAt: string | undefined,
  make: (more: { current_password?: string; expires_at?: string }) => Promise<T>,
): Promise<T> {
  try {
    return await make({});
  } catch (error) {
    if (!isPasswordWanted(error)) throw error;
    if (cli.world.stdin.isTTY) return make({ current_password: await askOwnPassword(cli, error) });
    if (expiresAt !== undefined) throw error;
    const client = await cli.client();
    const { expires_at: ends } = await client.session.whoami();
    const latestMs = Date.now() + WITHOUT_PASSWORD_MS_MAX - MINUTE_MS;
    const until = new Date(ends === null ? latestMs : Math.min(Date.parse(ends), latestMs)).toISOString();
    const made = await make({ expires_at: until });
    cli.out.note(
      `It ends ${cli.out.shortTime(until)}: for longer, a terminal is needed, which asks for your password.`,
    );
    return made;
  }
}
