/** `serve`: a server that plays some of the parts, for installations of several processes. */
import { type CommandSpec, command } from '../command.ts';
import { UsageError } from '../program/usage-error.ts';
import { runServerAs } from './run-server-as.ts';

export const serve: CommandSpec = command({
  name: 'serve',
  summary: 'Start a server that plays only some of the roles',
  details:
    'gateway answers requests (reads or writes: only those), engine schedules jobs and runs them (scheduler or dispatcher: only that); ' +
    'all share the PostgreSQL named by --database-url. ' +
    'Takes the settings of `carillon start`.',
  arguments: [{ name: '[settings...]', description: 'Settings as --name value; --roles is needed' }],
  examples: [
    'carillon serve --roles gateway --database-url postgres://db.example.org/carillon --data /var/lib/carillon',
    'carillon serve --roles engine --database-url postgres://db.example.org/carillon --port 7421',
  ],
  passThrough: true,
  async run(call) {
    const { args } = call;
    const asksForHelp = args.some((word) => word === '--help' || word === '-h');
    if (!asksForHelp && !args.some((word) => /^--roles(=|$)/.test(word)))
      throw new UsageError(
        'serve needs --roles.',
        '--roles gateway (or reads, or writes), --roles engine (or scheduler, or dispatcher), or several: reads,engine.',
      );
    return runServerAs(serve, call);
  },
});
