/** `namespaces`: keep the jobs of teams apart. */
import { type CommandSpec, command } from '../command.ts';
import { text } from '../flags.ts';
import { eachIdCommand, listCommand } from './actions.ts';

export const namespaceCommands: readonly CommandSpec[] = [
  listCommand('namespaces list', 'List namespaces', {
    examples: ['carillon namespaces list'],
    all: true,
    read: (client, query) => client.namespaces.list(query),
    columns: (out) => [
      { header: 'NAME', value: (namespace) => namespace.name, fixed: true },
      { header: 'DESCRIPTION', value: (namespace) => namespace.description },
      { header: 'CREATED', value: (namespace) => out.shortTime(namespace.created_at), fixed: true },
    ],
    empty: 'No namespaces.',
  }),
  command('namespaces create', 'Add a namespace', {
    arguments: [{ name: '<name>', description: 'Its name' }],
    options: { description: text('--description <text>', 'What it is for') },
    examples: ['carillon namespaces create billing --description "Invoices and reminders"'],
    async run({ args: [name = ''], options, cli }) {
      const client = await cli.client();
      cli.out.done(await client.namespaces.create({ name, ...options }), `Added ${name}`);
    },
  }),
  eachIdCommand('namespaces delete', 'Remove namespaces that hold no jobs', {
    arguments: [{ name: '<name...>', description: 'Names of namespaces' }],
    examples: ['carillon namespaces delete old-project --yes'],
    question: (count) => `Remove ${count === 1 ? 'this namespace' : `${count} namespaces`} for good?`,
    act: async (client, name) => (await client.namespaces.remove(name)) ?? { name, status: 'deleted' },
    sentence: (name) => `Removed ${name}`,
  }),
];
