/** `secrets`: values that payloads name and do not hold. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { World } from '../cli.ts';
import { type CommandSpec, command } from '../command.ts';
import { EXIT, UsageError } from '../errors.ts';
import { IN_NAMESPACE, text, YES } from '../flags.ts';
import { askPassword, readAll } from '../output/ask.ts';
import { forEachId, isConfirmed } from './actions.ts';

export const secretCommands: readonly CommandSpec[] = [
  command('secrets list', 'List the secrets of a namespace', {
    options: { namespace: IN_NAMESPACE },
    examples: ['carillon secrets list --namespace billing'],
    async run({ options, cli }) {
      const client = await cli.client();
      const secrets = await client.secrets.list(options);
      const { out } = cli;
      out.list(
        secrets,
        [
          { header: 'NAME', value: (secret) => secret.name, fixed: true },
          { header: 'VERSION', value: (secret) => String(secret.version), fixed: true },
          { header: 'MASKED', value: (secret) => (secret.masked ? 'yes' : 'no'), fixed: true },
          { header: 'SET', value: (secret) => out.shortTime(secret.updated_at), fixed: true },
          { header: 'BY', value: (secret) => secret.updated_by },
        ],
        { empty: 'No secrets.' },
      );
    },
  }),
  command('secrets set', 'Set a secret, which payloads name as {{secrets.name}}', {
    details:
      'The value is read from a file, from the standard input, or asked for without showing it: never from the command line, which others ' +
      'can read. One line break at its end is left out.',
    arguments: [{ name: '<name>', description: 'Its name' }],
    options: {
      from_file: text('--from-file <file>', 'Read the value from a file'),
      namespace: IN_NAMESPACE,
    },
    examples: ['carillon secrets set api-token', 'carillon secrets set tls.key --from-file key.pem'],
    async run({ args: [name = ''], options: { from_file: file, ...options }, cli }) {
      const client = await cli.client();
      const value = (await readValue(name, file, cli.world)).replace(/\r?\n$/, '');
      if (value === '') throw new UsageError('The value is empty.', 'Type it, or give it by --from-file.');
      const secret = await client.secrets.set(name, value, options);
      cli.out.done(secret, `Set ${name}, version ${secret.version}`);
      if (!secret.masked)
        cli.out.note('It has less than 8 characters, so runs that write it do not mask it.');
    },
  }),
  command('secrets delete', 'Delete secrets', {
    details: 'Runs that name them fail from then on, and are not tried again.',
    arguments: [{ name: '<name...>', description: 'Names of secrets' }],
    options: { namespace: IN_NAMESPACE, yes: YES },
    examples: ['carillon secrets delete api-token --yes'],
    async run({ args, options: { yes, ...options }, cli }) {
      const client = await cli.client();
      const question = `Delete ${args.length === 1 ? 'this secret' : `these ${args.length} secrets`} for good?`;
      if (!(await isConfirmed(cli, { yes, question }))) return EXIT.ok;
      return forEachId(cli, args, async (name) => ({
        answer: (await client.secrets.remove(name, options)) ?? { name, status: 'deleted' },
        sentence: `Deleted ${name}`,
      }));
    },
  }),
];

async function readValue(name: string, file: string | undefined, world: World): Promise<string> {
  if (file === undefined)
    return world.stdin.isTTY ? askPassword(`Value of ${name}: `, world) : readAll(world.stdin);
  try {
    return await readFile(resolve(world.cwd, file), 'utf8');
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${(error as Error).message}`);
  }
}
