/** `signing-keys`: what receivers of http jobs verify requests with. */
import { type CommandSpec, command } from '../command.ts';
import { EXIT } from '../errors.ts';
import { seconds, text, withDefault, YES } from '../flags.ts';
import { eachIdCommand, isConfirmed } from './actions.ts';

const OF_NAMESPACE = { name: '<namespace>', description: 'Name of the namespace' };
const NOT_AGAIN =
  'Keep the secret: it is not shown again. docs/verify-requests.md shows how receivers use it.';

export const signingKeyCommands: readonly CommandSpec[] = [
  command('signing-keys list', 'List the keys that sign requests of a namespace', {
    arguments: [OF_NAMESPACE],
    examples: ['carillon signing-keys list billing'],
    async run({ args: [namespace = ''], cli }) {
      const client = await cli.client();
      const keys = await client.namespaces.signingKeys.list(namespace);
      const { out } = cli;
      out.list(
        keys,
        [
          { header: 'ID', value: (key) => key.signing_key_id, fixed: true },
          { header: 'CREATED', value: (key) => out.shortTime(key.created_at), fixed: true },
          { header: 'STARTS', value: (key) => out.shortTime(key.starts_at) },
          { header: 'ENDS', value: (key) => out.shortTime(key.ends_at) },
        ],
        { empty: 'No signing keys: requests of this namespace are not signed.' },
      );
    },
  }),
  command('signing-keys create', 'Make a key that signs requests of a namespace', {
    details: 'The secret is shown once, and cannot be read again later. Other keys go on signing beside it.',
    arguments: [OF_NAMESPACE],
    options: { starts_at: text('--starts-at <time>', 'When it begins to sign; left out: now') },
    examples: ['carillon signing-keys create billing'],
    async run({ args: [namespace = ''], options, cli }) {
      const client = await cli.client();
      const created = await client.namespaces.signingKeys.create(namespace, options);
      cli.out.done(created, created.secret);
      cli.out.note(`Made ${created.signing_key_id}. ${NOT_AGAIN}`);
    },
  }),
  command('signing-keys rotate', 'Replace the keys that sign requests of a namespace', {
    details:
      'Until the overlap is over, requests carry the signatures of the new key and of the old ones. With --overlap 0s the old ones end ' +
      'at once, after a question.',
    arguments: [OF_NAMESPACE],
    options: {
      overlap_seconds: withDefault(
        seconds('--overlap <duration>', 'How long the old keys go on: 1h, 7d'),
        '1d',
      ),
      yes: YES,
    },
    examples: ['carillon signing-keys rotate billing --overlap 7d'],
    async run({ args: [namespace = ''], options: { yes, ...options }, cli }) {
      const client = await cli.client();
      const question = `End all other signing keys of ${namespace} for good?`;
      if (options.overlap_seconds === 0 && !(await isConfirmed(cli, { yes, question }))) return EXIT.ok;
      const created = await client.namespaces.signingKeys.create(namespace, options);
      cli.out.done(created, created.secret);
      cli.out.note(`Made ${created.signing_key_id}. ${NOT_AGAIN}`);
      return EXIT.ok;
    },
  }),
  eachIdCommand('signing-keys delete', 'Delete signing keys', {
    arguments: [{ name: '<id...>', description: 'Ids, or beginnings of them', names: 'signing key' }],
    examples: ['carillon signing-keys delete 01893f2e-7c14 --namespace billing'],
    act: async (client, id) =>
      (await client.namespaces.signingKeys.remove(id)) ?? { signing_key_id: id, status: 'deleted' },
    sentence: (id) => `Deleted ${id}`,
    question: (count) =>
      `Delete ${count === 1 ? 'this signing key' : `these ${count} signing keys`} for good?`,
  }),
];
