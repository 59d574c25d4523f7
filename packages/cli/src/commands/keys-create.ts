/** `keys create`: makes a key and shows it, this once. */
import type { Role } from '@carillon/client';
import { command } from '../command.ts';
import { readSeconds } from '../read/read-number.ts';
import { ROLES } from '../read/roles.ts';

interface Options {
  readonly role: Role;
  readonly namespace?: string;
  readonly ownOnly?: boolean;
  readonly scope?: readonly string[];
  readonly expiresIn?: string;
}

export const keysCreate = command<Options>({
  name: 'keys create',
  summary: 'Make an API key',
  details: 'The key is shown once, and cannot be read again later.',
  arguments: [{ name: '<name>', description: 'What it is for' }],
  options: [
    { flags: '--role <role>', description: 'What it may', choices: ROLES, fallback: 'viewer' },
    { flags: '--namespace <name>', description: 'Where; * for everywhere' },
    { flags: '--own-only', description: 'Only jobs of its owner' },
    {
      flags: '--scope <action>',
      description: 'No other actions than this, such as jobs.create; may be repeated',
      repeatable: true,
    },
    { flags: '--expires-in <duration>', description: 'Ends after: 12h, 90d' },
  ],
  examples: [
    'carillon keys create deploy --role editor --namespace billing --expires-in 90d',
    'carillon keys create submit-only --role editor --scope jobs.create --json | jq -r .key',
  ],
  async run({ args: [name = ''], options, cli }) {
    const client = await cli.client();
    const seconds = readSeconds(options.expiresIn, '--expires-in');
    const made = await client.keys.create({
      name,
      role: options.role,
      ...(options.namespace !== undefined && { namespace: options.namespace }),
      ...(options.ownOnly && { own_only: true }),
      ...(options.scope && { scopes: options.scope }),
      ...(seconds !== undefined && { expires_at: new Date(Date.now() + seconds * 1_000).toISOString() }),
    });
    cli.out.done(made, made.key);
    cli.out.note(`Made ${made.name} (${made.key_id}). Keep the key: it is not shown again.`);
  },
});
