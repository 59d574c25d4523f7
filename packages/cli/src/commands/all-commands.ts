/** Every command, in the order of help and documentation. */
import { type CommandSpec, command } from '../command.ts';
import { renderCompletion, SHELLS, type Shell } from '../completion.ts';
import { NAMES_IN } from '../flags.ts';
import { takesNamesOfNamespaces } from '../resolve.ts';
import { applyCommands } from './apply.ts';
import { contextCommands } from './contexts.ts';
import { dlqCommands } from './dlq.ts';
import { handlerCommands } from './handlers.ts';
import { audit, events } from './history.ts';
import { importCrontab } from './import.ts';
import { jobCommands } from './jobs.ts';
import { keyCommands } from './keys.ts';
import { namespaceCommands } from './namespaces.ts';
import { runCommands } from './runs.ts';
import { preview } from './schedules.ts';
import { secretCommands } from './secrets.ts';
import { serverCommands } from './server.ts';
import { sessionCommands } from './session.ts';
import { signingKeyCommands } from './signing-keys.ts';
import { userCommands } from './users.ts';
import { worker } from './worker.ts';
import { workerCommands } from './workers.ts';

const completion = command('completion', 'Print the completion script of a shell', {
  details: 'Written to where the shell looks for it, it completes commands and options.',
  arguments: [{ name: '<shell>', description: 'Which shell', choices: SHELLS }],
  examples: [
    'source <(carillon completion bash)',
    'carillon completion zsh > ~/.zfunc/_carillon',
    'carillon completion fish > ~/.config/fish/completions/carillon.fish',
  ],
  async run({ args: [shell = 'bash'], cli }) {
    cli.out.raw(renderCompletion(shell as Shell, { commands: allCommands, nouns: NOUNS }));
  },
});

const commands: readonly CommandSpec[] = [
  ...serverCommands,
  ...sessionCommands,
  ...contextCommands,
  ...jobCommands,
  ...runCommands,
  ...dlqCommands,
  preview,
  ...applyCommands,
  importCrontab,
  events,
  ...handlerCommands,
  ...workerCommands,
  worker,
  ...keyCommands,
  ...userCommands,
  ...namespaceCommands,
  ...signingKeyCommands,
  ...secretCommands,
  audit,
  completion,
];

/** Wherever a job, a run or a dead letter is called by a name, --namespace says where to look for it. */
export const allCommands: readonly CommandSpec[] = commands.map((spec) =>
  takesNamesOfNamespaces(spec) && spec.options?.namespace === undefined
    ? { ...spec, options: { ...spec.options, namespace: NAMES_IN } }
    : spec,
);

/** What the nouns are about, for the first page of help. */
export const NOUNS: Readonly<Record<string, string>> = {
  context: 'Servers by name, with key and namespace',
  jobs: 'Make, read, change and stop jobs',
  runs: 'See what ran, and stop it or do it again',
  dlq: 'Runs that failed for good (dead letters)',
  handlers: 'What jobs can name as their handler',
  workers: 'Who runs jobs',
  keys: 'API keys',
  sessions: 'Who is signed in',
  users: 'People and what they may',
  namespaces: 'Keep the jobs of teams apart',
  'signing-keys': 'What receivers of http jobs verify requests with',
  secrets: 'Values that payloads name and do not hold',
  import: 'Take over jobs from elsewhere',
};
