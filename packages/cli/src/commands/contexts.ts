/** `context`: servers by name, each with its key and its namespace. Nothing here asks a server. */
import type { Cli } from '../cli.ts';
import { type CommandSpec, command } from '../command.ts';
import { type Context, checkContextName, chosenContext, readContexts, writeContexts } from '../contexts.ts';
import { EXIT, UsageError } from '../errors.ts';
import { text, YES } from '../flags.ts';
import { isConfirmed } from './actions.ts';

const NAME = { name: '<name>', description: 'Name of the context' };

export const contextCommands: readonly CommandSpec[] = [
  command('context add', 'Name a server, with the key and the namespace to use there', {
    details:
      'The address and the key are --url and --key (or CARILLON_KEY); `carillon login --context <name>` keeps a key of your ' +
      'own instead. A context of that name is changed: what is not given stays. The first one is the current one.',
    arguments: [NAME],
    options: {
      namespace: text('--namespace <name>', 'What commands mean where they get no --namespace; "" for none'),
    },
    examples: [
      'carillon context add prod --url https://carillon.example.org --namespace billing',
      'carillon context add prod --namespace reports',
    ],
    async run({ args: [given = ''], options: { namespace }, cli }) {
      const { env } = cli.world;
      const name = checkContextName(given);
      const { current, all } = await readContexts(env);
      const before = Object.hasOwn(all, name) ? all[name] : undefined;
      const url = cli.globals.url ?? before?.url;
      if (url === undefined || !/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
        throw new UsageError(
          url === undefined ? 'Which server?' : `"${url}" is not an address of a server.`,
          'Give its address, such as --url https://carillon.example.org',
        );
      const key = cli.globals.key ?? (env.CARILLON_KEY || undefined);
      // A key belongs to the address it was kept for.
      const kept = key === undefined && before?.url === url ? before : {};
      const { namespace: _, ...rest }: Context = {
        ...kept,
        url,
        added: true,
        ...(key !== undefined && { key }),
      };
      const wanted = namespace ?? before?.namespace;
      const stored: Context = wanted ? { ...rest, namespace: wanted } : rest;
      await writeContexts(env, { current: current ?? name, all: { ...all, [name]: stored } });
      const isCurrent = (current ?? name) === name;
      const became = isCurrent && (current === undefined || stored.key === undefined);
      cli.out.done(shown(name, stored, isCurrent), `${before ? 'Changed' : 'Added'} ${name}: ${url}`);
      if (stored.key === undefined) cli.out.note(`Sign in there with \`carillon login --context ${name}\`.`);
      if (became) cli.out.note(`Commands use it from now on: it is the current context.`);
      if (!isCurrent) cli.out.note(`Use it from now on with \`carillon context use ${name}\`.`);
    },
  }),
  command('context use', 'Use a context from now on', {
    arguments: [NAME],
    examples: ['carillon context use prod'],
    async run({ args: [name = ''], cli }) {
      const context = await present(cli, name);
      const { all } = await readContexts(cli.world.env);
      await writeContexts(cli.world.env, { current: name, all });
      cli.out.done(shown(name, context, true), `Using ${name}: ${context.url}`);
    },
  }),
  command('context list', 'List contexts', {
    examples: ['carillon context list'],
    async run({ cli }) {
      const { all } = await readContexts(cli.world.env);
      const inUse = await chosenContext(cli.world.env).catch(() => undefined);
      const rows = Object.entries(all).map(([name, context]) => shown(name, context, name === inUse?.name));
      cli.out.list(
        rows,
        [
          { header: 'IN USE', value: ({ current }) => (current ? '*' : ''), fixed: true },
          { header: 'NAME', value: ({ context }) => context, fixed: true },
          { header: 'SERVER', value: ({ url }) => url },
          { header: 'NAMESPACE', value: ({ namespace }) => namespace },
          { header: 'SIGNED IN', value: (row) => signedInText(row) },
        ],
        { empty: 'No contexts: `carillon context add` makes one, and so does `carillon login`.' },
      );
    },
  }),
  command('context show', 'Show a context', {
    details: 'The one in use, or the one named. Its key is not shown.',
    arguments: [{ name: '[name]', description: NAME.description }],
    examples: ['carillon context show', 'carillon context show prod'],
    async run({ args: [name], cli }) {
      const inUse = await chosenContext(cli.world.env);
      const found = name === undefined ? inUse : { name, context: await present(cli, name) };
      if (!found)
        throw new UsageError('No context is in use.', '`carillon context list` shows those there are.');
      const row = shown(found.name, found.context, found.name === inUse?.name);
      cli.out.record(row, [
        ['context', row.context],
        ['server', row.url],
        ['namespace', row.namespace],
        ['signed in', signedInText(row)],
        ['in use', row.current ? 'yes' : 'no'],
      ]);
    },
  }),
  command('context remove', 'Forget a context and the key in it', {
    details: 'The key stays valid on the server: `carillon logout` revokes one that `carillon login` made.',
    arguments: [NAME],
    options: { yes: YES },
    examples: ['carillon context remove prod --yes'],
    async run({ args: [name = ''], options: { yes }, cli }) {
      const { env } = cli.world;
      await present(cli, name);
      const question = `Remove the context ${name}?`;
      if (!(await isConfirmed(cli, { yes, question }))) return EXIT.ok;
      const { current, all } = await readContexts(env);
      const { [name]: _, ...others } = all;
      await writeContexts(env, { current: current === name ? undefined : current, all: others });
      cli.out.done({ context: name, status: 'removed' }, `Removed ${name}`);
      return EXIT.ok;
    },
  }),
];

async function present(cli: Cli, name: string): Promise<Context> {
  const chosen = await chosenContext({ ...cli.world.env, CARILLON_CONTEXT: name });
  return chosen?.context ?? { url: '' };
}

/** Everything but the key. */
function shown(context: string, { url, namespace, name, key }: Context, current: boolean) {
  return {
    context,
    url,
    namespace: namespace ?? null,
    signed_in_as: name ?? null,
    has_key: key !== undefined,
    current,
  };
}

function signedInText({ signed_in_as: who, has_key: hasKey }: ReturnType<typeof shown>): string {
  return who ?? (hasKey ? 'with a key' : 'no');
}
