/** Starting a server, migrating its database, and how it is doing. */
import type { CarillonError, Worker } from '@carillon/client';
import { type CommandSpec, type CommandText, command } from '../command.ts';
import { CommandFailure, EXIT, UsageError } from '../errors.ts';
import { text } from '../flags.ts';
import { optional } from './actions.ts';

/** A command that runs a server in this process. `check` throws when the settings cannot be meant. */
function serverCommand(
  name: string,
  summary: string,
  { check, ...rest }: CommandText & { check?: (args: readonly string[]) => void },
): CommandSpec {
  return {
    name,
    summary,
    ...rest,
    passThrough: true,
    async run({ args, cli }) {
      check?.(args);
      // Loaded here: other commands need neither the database driver nor the web server.
      const { runServer } = await import('@carillon/server');
      const { env, cwd } = cli.world;
      const invocation = { command: `carillon ${name}`, summary: `${summary}.`, examples: rest.examples };
      process.exit(await runServer({ argv: args, env, cwd }, invocation));
    },
  };
}

const start = serverCommand('start', 'Start a server with all its parts', {
  details:
    'Without settings it keeps its own database in ./.carillon and listens on 127.0.0.1:7420. ' +
    '`carillon start --help` shows the settings.',
  arguments: [{ name: '[settings...]', description: 'Settings as --name value' }],
  examples: ['carillon start', 'carillon start --port 8080 --data /var/lib/carillon'],
});

const serve = serverCommand('serve', 'Start a server that plays only some of the roles', {
  details:
    'gateway answers requests (reads or writes: only those), engine schedules jobs and runs them (scheduler or dispatcher: only that); ' +
    'all share the PostgreSQL named by --database-url. ' +
    'Takes the settings of `carillon start`.',
  arguments: [{ name: '[settings...]', description: 'Settings as --name value; --roles is needed' }],
  examples: [
    'carillon serve --roles gateway --database-url postgres://db.example.org/carillon --data /var/lib/carillon',
    'carillon serve --roles engine --database-url postgres://db.example.org/carillon --port 7421',
  ],
  check(args) {
    if (args.some((word) => word === '--help' || word === '-h' || /^--roles(=|$)/.test(word))) return;
    throw new UsageError(
      'serve needs --roles.',
      '--roles gateway (or reads, or writes), --roles engine (or scheduler, or dispatcher), or several: reads,engine.',
    );
  },
});

const migrate = command('migrate', 'Bring a database to the newest version', {
  details: 'A server does the same when it starts; this is for those who want it done before.',
  options: {
    databaseUrl: text('--database-url <url>', 'PostgreSQL to migrate (or CARILLON_DATABASE_URL)'),
  },
  examples: ['carillon migrate --database-url postgres://db.example.org/carillon'],
  async run({ options, cli }) {
    const url = options.databaseUrl ?? (cli.world.env.CARILLON_DATABASE_URL || undefined);
    if (url === undefined)
      throw new UsageError(
        'Which database?',
        'Name it with --database-url. The embedded one is migrated by `carillon start`.',
      );
    const { migrate: applyMigrations } = await import('@carillon/server');
    const applied = await applyMigrations(url).catch((error: unknown) => {
      const message = `The database cannot be migrated: ${(error as Error).message}`;
      throw new CommandFailure(message, undefined, { cause: error });
    });
    const sentence =
      applied.length === 0 ? 'Nothing to do: it is up to date.' : `Applied ${applied.join(', ')}`;
    cli.out.done({ applied }, sentence);
  },
});

const status = command('status', 'Show how the server is doing', {
  details: 'Fails when it cannot run jobs. Workers are shown to those who may see them.',
  examples: ['carillon status', 'carillon status --url https://carillon.example.org'],
  async run({ cli }) {
    const { url, key, from, context, namespace } = await cli.connection();
    const client = await cli.client();
    const { ready, reasons } = await client.ready();
    // Everybody may see whether the server is up; the rest only those who have the right.
    const isRefusal = (error: CarillonError) => error.status !== undefined;
    const who = await optional(client.session.whoami(), isRefusal);
    const all = await optional(client.workers.list().toArray(), isRefusal);
    const alive = all?.filter((worker) => worker.alive);
    const sum = (of: (worker: Worker) => number) =>
      alive?.reduce((total, worker) => total + of(worker), 0) ?? null;
    const running = sum((worker) => worker.running);
    const nobody = `nobody${key === undefined ? '' : ', the key is not valid'}: \`carillon login\` signs you in`;
    const where = { url, context: context ?? null, namespace: namespace ?? null };
    cli.out.record({ ...where, ready, reasons, workers: alive?.length ?? null, running }, [
      ['server', url],
      ['found through', from],
      ['namespace', namespace],
      ['ready', ready ? 'yes' : `no: ${reasons.join('; ')}`],
      ['you are', who?.name ?? nobody],
      ['workers', who && (alive ? String(alive.length) : 'not visible to you')],
      ['running', alive && `${running} of ${sum((worker) => worker.slots)} slots`],
    ]);
    return ready ? EXIT.ok : EXIT.failed;
  },
});

export const serverCommands: readonly CommandSpec[] = [start, serve, migrate, status];
