/** `handlers`: what jobs can name, and the payload that each takes. */
import { type CommandSpec, command } from '../command.ts';
import { listCommand } from './actions.ts';

export const handlerCommands: readonly CommandSpec[] = [
  listCommand('handlers list', 'List what jobs can name as their handler', {
    examples: ['carillon handlers list'],
    all: true,
    read: (client, query) => client.handlers.list(query),
    columns: () => [
      { header: 'NAME', value: (handler) => handler.name, fixed: true },
      { header: 'WORKERS', value: (handler) => handler.workers, right: true },
      { header: 'FROM', value: (handler) => handler.origin?.replace('_', '-') },
      { header: 'DESCRIPTION', value: (handler) => handler.description },
    ],
    empty: 'No handlers.',
  }),
  command('handlers get', 'Show a handler and the payload it takes', {
    arguments: [{ name: '<name>', description: 'Name of the handler' }],
    examples: ['carillon handlers get http', 'carillon handlers get http --json'],
    async run({ args: [name = ''], cli }) {
      const client = await cli.client();
      const handler = await client.handlers.get(name);
      const { description, origin, workers, parameters } = handler;
      cli.out.record(handler, [
        ['name', handler.name],
        ['description', description],
        ['from', origin?.replace('_', '-')],
        ['workers', String(workers)],
        ['payload', parameters ? JSON.stringify(parameters, null, 2) : 'any'],
      ]);
    },
  }),
];
