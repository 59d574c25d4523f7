/** `start`: a whole server in this process. */
import { type CommandSpec, command } from '../command.ts';
import { runServerAs } from './run-server-as.ts';

export const start: CommandSpec = command({
  name: 'start',
  summary: 'Start a server with all its parts',
  details:
    'Without settings it keeps its own database in ./.carillon and listens on 127.0.0.1:7420. ' +
    '`carillon start --help` shows the settings.',
  arguments: [{ name: '[settings...]', description: 'Settings as --name value' }],
  examples: ['carillon start', 'carillon start --port 8080 --data /var/lib/carillon'],
  passThrough: true,
  run: (call) => runServerAs(start, call),
});
