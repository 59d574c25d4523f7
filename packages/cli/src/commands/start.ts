/** `start`: a whole server in this process. */
import { command } from '../command.ts';

export const start = command({
  name: 'start',
  summary: 'Start a server with all its parts',
  details:
    'Without settings it keeps its own database in ./.carillon and listens on 127.0.0.1:7420. ' +
    '`carillon start --help` shows the settings.',
  arguments: [{ name: '[settings...]', description: 'Settings as --name value' }],
  examples: ['carillon start', 'carillon start --port 8080 --data /var/lib/carillon'],
  passThrough: true,
  async run({ args, cli }) {
    // Loaded when asked for: the other commands need neither database driver nor web server.
    const { runServer } = await import('@carillon/server');
    process.exit(await runServer({ argv: args, env: cli.world.env, cwd: cli.world.cwd }));
  },
});
