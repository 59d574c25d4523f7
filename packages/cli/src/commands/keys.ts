/** `keys`: API keys. The key itself is only shown when it is created. */
import { type CommandSpec, command } from '../command.ts';
import { choice, fromNow, ROLES, text, texts, toggle, withDefault } from '../flags.ts';
import { eachIdCommand, listCommand } from './actions.ts';

export const keyCommands: readonly CommandSpec[] = [
  listCommand('keys list', 'List API keys', {
    examples: ['carillon keys list'],
    read: (client, query) => client.keys.list(query),
    columns: (out) => [
      { header: 'ID', value: (key) => key.key_id, fixed: true },
      { header: 'NAME', value: (key) => key.name },
      { header: 'PREFIX', value: (key) => key.prefix, fixed: true },
      { header: 'ROLE', value: (key) => (key.own_only ? `${key.role}, own jobs` : key.role) },
      { header: 'NAMESPACE', value: (key) => key.namespace },
      { header: 'EXPIRES', value: (key) => out.shortTime(key.expires_at) },
      { header: 'LAST USED', value: (key) => out.shortTime(key.last_used_at) },
    ],
    empty: 'No keys.',
  }),
  command('keys create', 'Make an API key', {
    details: 'The key is shown once, and cannot be read again later.',
    arguments: [{ name: '<name>', description: 'What it is for' }],
    options: {
      role: withDefault(choice('--role <role>', 'What it may', ROLES), 'viewer'),
      namespace: text('--namespace <name>', 'Where; * for everywhere'),
      own_only: toggle('--own-only', 'Only jobs of its owner'),
      scope: texts('--scope <action>', 'No other actions than this, such as jobs.create; may be repeated'),
      expires_at: fromNow('--expires-in <duration>', 'Ends after: 12h, 90d'),
    },
    examples: [
      'carillon keys create deploy --role editor --namespace billing --expires-in 90d',
      'carillon keys create submit-only --role editor --scope jobs.create --json | jq -r .key',
    ],
    async run({ args: [name = ''], options: { scope, ...fields }, cli }) {
      const client = await cli.client();
      const created = await client.keys.create({ name, ...fields, ...(scope && { scopes: scope }) });
      cli.out.done(created, created.key);
      cli.out.note(`Made ${created.name} (${created.key_id}). Keep the key: it is not shown again.`);
    },
  }),
  eachIdCommand('keys revoke', 'Revoke API keys', {
    arguments: [{ name: '<key...>', description: 'Names or ids of keys', names: 'key' }],
    examples: ['carillon keys revoke 01893f2e-7c13-7aa1-9c0d-1e2f3a4b5c6d'],
    act: async (client, id) => (await client.keys.revoke(id)) ?? { key_id: id, status: 'revoked' },
    sentence: (id) => `Revoked ${id}`,
  }),
];
