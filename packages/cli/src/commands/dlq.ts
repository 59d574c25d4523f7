/** `dlq`: dead letters, which are runs that failed for good, and redriving them. */
import { type CommandSpec, command } from '../command.ts';
import { UsageError } from '../errors.ts';
import { count, IN_NAMESPACE, text, toggle, YES } from '../flags.ts';
import { changeMatching, forEachId, listCommand } from './actions.ts';

const RUN = '01893f2e-7c12-7d01-8e11-b0b1b2b3b4b5';
const JOB = '01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f';

/** The server takes so many in one request; with a progress bar fewer are sent, so that it moves. */
export const PART_MAX = 1_000;
const PART_MAX_WITH_BAR = 100;

export const dlqCommands: readonly CommandSpec[] = [
  listCommand('dlq list', 'List runs that failed for good, latest first', {
    options: {
      job_id: text('--job <id>', 'Of this job'),
      reason: text('--reason <reason>', 'Given up for this reason'),
      namespace: IN_NAMESPACE,
    },
    examples: ['carillon dlq list', `carillon dlq list --job ${JOB}`],
    read: (client, query) => client.deadLetters.list(query),
    columns: (out) => [
      { header: 'ID', value: (letter) => letter.run_id, fixed: true },
      { header: 'JOB', value: (letter) => letter.job_name ?? letter.job_id },
      { header: 'REASON', value: (letter) => letter.reason, fixed: true },
      { header: 'TRIES', value: (letter) => letter.attempts, fixed: true, right: true },
      { header: 'DIED', value: (letter) => out.shortTime(letter.died_at), fixed: true },
      { header: 'ERROR', value: (letter) => letter.error_message },
      { header: 'SENT AGAIN AS', value: (letter) => letter.redriven_as },
    ],
    empty: 'No dead letters.',
    noMatch: 'No dead letters match.',
  }),
  command('dlq show', 'Show a run that failed for good', {
    arguments: [{ name: '<id>', description: 'Id of the run' }],
    examples: [`carillon dlq show ${RUN}`],
    async run({ args: [id = ''], cli }) {
      const client = await cli.client();
      const letter = await client.deadLetters.get(id);
      cli.out.record(letter, [
        ['run', letter.run_id],
        ['job', letter.job_id],
        ['name', letter.job_name],
        ['reason', letter.reason],
        ['attempts', String(letter.attempts)],
        ['scheduled', cli.out.time(letter.scheduled_at)],
        ['died', cli.out.time(letter.died_at)],
        ['error', letter.error_message],
        ['sent again as', letter.redriven_as],
      ]);
    },
  }),
  command('dlq redrive', 'Send dead letters round again', {
    arguments: [{ name: '[id...]', description: 'Ids of runs' }],
    options: {
      job_id: text('--job <id>', 'All of this job'),
      reason: text('--reason <reason>', 'All given up for this reason'),
      namespace: text('--namespace <name>', 'All in this namespace'),
      all: toggle('--all', 'All there are'),
      limit: count('--limit <count>', 'At most so many'),
      dryRun: toggle('--dry-run', 'Only show how many there are'),
      yes: YES,
    },
    examples: [
      `carillon dlq redrive ${RUN}`,
      `carillon dlq redrive --job ${JOB} --dry-run`,
      'carillon dlq redrive --all --limit 100 --yes',
    ],
    async run({ args, options: { all, limit: max, dryRun, yes, ...filter }, cli }) {
      const client = await cli.client();
      if (args.length > 0)
        return forEachId(cli, args, async (id) => {
          const answer = await client.deadLetters.redrive(id);
          return { answer, sentence: `Sent ${id} round again as ${answer.run_id}` };
        });
      if (!all && !Object.values(filter).some(Boolean))
        throw new UsageError(
          'Say which dead letters are meant.',
          'Ids, --job, --reason, --namespace or --all.',
        );
      const signal = cli.untilInterrupted();
      return changeMatching(cli, {
        noun: 'dead letter',
        dryRun,
        yes,
        max,
        question: (matched) => `Send ${matched} round again?`,
        send: (part) => {
          const partMax = cli.out.terminal && !part.dryRun ? PART_MAX_WITH_BAR : PART_MAX;
          const range = { limit: Math.min(part.left, partMax), ...(part.from && { cursor: part.from }) };
          const request = { filter, dry_run: part.dryRun, ...range };
          return client.deadLetters.redriveMany(request, { signal });
        },
        sentence: (report) =>
          `${report.redriven} of ${report.matched} sent round again, ${report.refused} refused.`,
      });
    },
  }),
];
