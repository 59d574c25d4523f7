/** `dlq`: dead letters, which are runs that failed for good, and redriving them. */
import type { Carillon, DeadLetter, DeadReason } from '@carillon/client';
import type { Cli } from '../cli.ts';
import { type CommandSpec, command } from '../command.ts';
import { UsageError } from '../errors.ts';
import { choice, count, IN_NAMESPACE, text, toggle, YES } from '../flags.ts';
import { changeMatching, forEachId, listCommand } from './actions.ts';
import { PART_MAX, resultsInParts } from './many-ids.ts';

const RUN = '01893f2e-7c12-7d01-8e11-b0b1b2b3b4b5';
const ANOTHER = '01893f2e-7c12-7d01-8e11-b0b1b2b3b4b6';
const JOB = '01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f';

/** With a progress bar fewer are sent than the server takes, so that it moves. */
const PART_MAX_WITH_BAR = 100;

const DEAD_REASONS: readonly DeadReason[] = [
  ...(['retries_exhausted', 'not_retryable', 'deadline_passed', 'crashed_workers'] as const),
  ...(['never_started', 'retries_stopped'] as const),
];

/** The run that was sent in its place, or that made its job succeed. */
function handledBy({ redriven_run_id: again, resolved_by: later }: DeadLetter): string | null {
  return again ?? later;
}

export const dlqCommands: readonly CommandSpec[] = [
  listCommand('dlq list', 'List runs that failed for good, latest first', {
    options: {
      job_id: text('--job <job>', 'Of this job'),
      reason: choice('--reason <reason>', 'Given up for this reason', DEAD_REASONS),
      error: text('--error <part>', 'With this in their error, in any case'),
      namespace: IN_NAMESPACE,
      handled: choice(
        '--handled <which>',
        'true: sent round or run again, or their job has succeeded since; false: not yet, the default',
        ['true', 'false', 'all'],
      ),
      all: toggle('--all', 'The same as --handled all'),
    },
    details: 'Those that are not handled yet, unless --handled says otherwise.',
    examples: [
      'carillon dlq list',
      `carillon dlq list --job ${JOB}`,
      'carillon dlq list --handled true',
      'carillon dlq list --all -o wide',
    ],
    read: (client, { all, handled, ...query }) =>
      client.deadLetters.list({
        ...query,
        ...(!all && handled !== 'all' && { handled: handled === 'true' }),
      }),
    columns: (out) => [
      { header: 'ID', value: (letter) => letter.run_id, fixed: true, rank: 1 },
      { header: 'JOB', value: (letter) => letter.job_name ?? letter.job_id, rank: 3 },
      { header: 'DIED', value: (letter) => out.briefTime(letter.died_at), fixed: true, rank: 5 },
      { header: 'ERROR', value: (letter) => letter.error_message, rank: 2, usefulWidth: 24 },
      { header: 'REASON', value: (letter) => letter.reason, fixed: true, rank: 4 },
      { header: 'TRIES', value: (letter) => letter.attempts, fixed: true, right: true, rank: 6 },
      { header: 'HANDLED BY', value: handledBy, fixed: true, rank: 7 },
    ],
    empty: 'No dead letters.',
    noMatch: 'No dead letters match.',
  }),
  command('dlq show', 'Show a run that failed for good', {
    arguments: [
      {
        name: '<id>',
        description: 'Id of the run, or key or name of a job: its latest one',
        names: 'dead letter',
      },
    ],
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
        ['handled by', handledBy(letter)],
      ]);
    },
  }),
  command('dlq redrive', 'Send dead letters round again', {
    arguments: [
      {
        name: '[id...]',
        description: 'Ids of runs, or keys or names of jobs: the latest one of each',
        names: 'dead letter',
      },
    ],
    options: {
      job_id: text('--job <job>', 'All of this job'),
      reason: choice('--reason <reason>', 'All given up for this reason', DEAD_REASONS),
      error: text('--error <part>', 'All with this in their error, in any case'),
      namespace: text('--namespace <name>', 'All in this namespace [that of the context]'),
      all: toggle('--all', 'All there are'),
      limit: count('--limit <count>', 'At most so many'),
      dryRun: toggle('--dry-run', 'Only show how many there are'),
      yes: YES,
    },
    examples: [
      `carillon dlq redrive ${RUN}`,
      `carillon dlq redrive ${RUN} ${ANOTHER}`,
      `carillon dlq redrive --job ${JOB} --dry-run`,
      'carillon dlq redrive --all --limit 100 --yes',
    ],
    async run({ args, options: { all, limit: max, dryRun, yes, ...filter }, cli }) {
      const client = await cli.client();
      if (args.length > 0) return redriveNamed(cli, client, args);
      if (!all && !Object.values(filter).some(Boolean))
        throw new UsageError(
          'Say which dead letters are meant.',
          'Ids, --job, --reason, --error, --namespace or --all.',
        );
      const namespace = filter.namespace ?? (await cli.defaultNamespace());
      const selected = { ...filter, ...(namespace !== undefined && { namespace }) };
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
          const request = { filter: selected, dry_run: part.dryRun, ...range };
          return client.deadLetters.redriveMany(request, { signal });
        },
        sentence: (report) =>
          `${report.redriven} of ${report.matched} sent round again, ${report.refused} refused.`,
      });
    },
  }),
];

async function redriveNamed(cli: Cli, client: Carillon, ids: readonly string[]): Promise<number> {
  const resultOf = await resultsInParts(ids, {
    send: async (part) => (await client.deadLetters.redriveMany({ run_ids: part })).results,
    idOf: ({ run_id: id }) => id,
  });
  return forEachId(cli, ids, async (id) => {
    const { outcome, job_id = null, new_run_id: again = null } = resultOf(id) ?? {};
    const answer = { job_id, run_id: again, redriven_from: id };
    const sentence =
      outcome === 'redriven'
        ? `Sent ${id} round again as ${again}`
        : `${id} was sent round again before, as ${again}: nothing was sent`;
    return { answer, sentence };
  });
}
