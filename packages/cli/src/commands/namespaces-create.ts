/** `namespaces create`. */
import { command } from '../command.ts';

export const namespacesCreate = command<{ readonly description?: string }>({
  name: 'namespaces create',
  summary: 'Add a namespace',
  arguments: [{ name: '<name>', description: 'Its name' }],
  options: [{ flags: '--description <text>', description: 'What it is for' }],
  examples: ['carillon namespaces create billing --description "Invoices and reminders"'],
  async run({ args: [name = ''], options, cli }) {
    const client = await cli.client();
    const { description } = options;
    const made = await client.namespaces.create({ name, ...(description !== undefined && { description }) });
    cli.out.done(made, `Added ${name}`);
  },
});
