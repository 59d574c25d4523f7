/** `serve`: a server that plays some of the parts, for installations of several processes. */
import { command } from '../command.ts';
import { UsageError } from '../program/usage-error.ts';

export const serve = command({
  name: 'serve',
  summary: 'Start a server that plays only some of the roles',
  details:
    'gateway answers requests, engine schedules and runs jobs; both share the PostgreSQL named by --database-url. ' +
    'Takes the settings of `carillon start`.',
  arguments: [{ name: '[settings...]', description: 'Settings as --name value; --roles is needed' }],
  examples: [
    'carillon serve --roles gateway --database-url postgres://db.example.org/carillon --data /var/lib/carillon',
    'carillon serve --roles engine --database-url postgres://db.example.org/carillon --port 7421',
  ],
  passThrough: true,
  async run({ args, cli }) {
    const asksForHelp = args.some((word) => word === '--help' || word === '-h');
    if (!asksForHelp && !args.some((word) => /^--roles(=|$)/.test(word)))
      throw new UsageError(
        'serve needs --roles.',
        '--roles gateway, --roles engine, or both: gateway,engine.',
      );
    const { runServer } = await import('@carillon/server');
    process.exit(await runServer({ argv: args, env: cli.world.env, cwd: cli.world.cwd }));
  },
});
