/** `jobs`: list, show and stop jobs, run them now. Creating and changing them is in define-job.ts. */
import type { BulkRequest, Carillon, JobChanged, ListedJob } from '@carillon/client';
import { type CommandSpec, command } from '../command.ts';
import { EXIT, UsageError } from '../errors.ts';
import { firstRunOf } from '../first-run.ts';
import {
  choice,
  IN_NAMESPACE,
  LIMIT,
  labelFilter,
  PRIORITY,
  RUN_REQUEST,
  text,
  toggle,
  withDefault,
  words,
  YES,
} from '../flags.ts';
import type { Output } from '../output/output.ts';
import { countOf } from '../output/text.ts';
import { shortIds } from '../resolve.ts';
import { changeMatching, eachIdCommand, listCommand, pageSize } from './actions.ts';
import { createJob, updateJob } from './define-job.ts';
import { jobFacts, ownerName, scheduleText, statusWord } from './job-facts.ts';
import { resultsInParts } from './many-ids.ts';
import { asksForLines, LOG_FLAGS, showRunLog } from './run-logs.ts';
import { skipCommands } from './skip-fire.ts';
import { versionCommands } from './versions.ts';
import { showStarted, watchJob } from './watch.ts';
import { showWhy } from './why.ts';

const JOB = '01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f';
const ANOTHER = '01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e10';
const JOB_ID = { name: '<job>', description: 'Key, name or id of the job', names: 'job' } as const;
const JOB_IDS = { name: '<job...>', description: 'Keys, names or ids of jobs', names: 'job' } as const;

const JOB_FILTERS = {
  namespace: IN_NAMESPACE,
  label: labelFilter('--label <name=value>', 'With this label; may be repeated'),
  handler: text('--handler <name>', 'Run by this handler'),
  text: text('--text <part>', 'Whose name contains this'),
};
const SCHEDULE_TYPES = ['immediate', 'future', 'cron', 'interval', 'one_time', 'recurring'] as const;
const SORT_KEYS = ['created_at', 'updated_at', 'name', 'priority', 'next_run_at'] as const;

export const jobCommands: readonly CommandSpec[] = [
  createJob,
  listCommand('jobs list', 'List jobs, newest first', {
    options: {
      status: words(
        '--status <status>',
        'scheduled (or pending), running, paused, cancelled, completed or failed; may be repeated',
      ),
      type: choice('--type <type>', 'Kind of schedule', SCHEDULE_TYPES),
      priority: PRIORITY,
      user_id: text('--user <user>', 'Whose jobs: name or id; "me" for your own'),
      ...JOB_FILTERS,
      sort: choice(
        '--sort <order>',
        'By this, and with - in front the other way round; newest first unless said otherwise',
        SORT_KEYS.flatMap((key) => [key, `-${key}` as const]),
      ),
    },
    examples: [
      'carillon jobs list',
      'carillon jobs list --status failed --label team=billing',
      'carillon jobs list --sort next_run_at -n 10',
      "carillon jobs list --json -n 0 | jq -r '.[].job_id'",
    ],
    read: (client, query) => client.jobs.list({ ...query, include: ['last_run'] }),
    columns: (out, jobs) => [
      { header: 'ID', value: idColumn(out, jobs), fixed: true, rank: 1 },
      { header: 'NAME', value: (job) => job.name, rank: 2, usefulWidth: 20 },
      { header: 'STATUS', value: statusWord, fixed: true, rank: 3, paint: (word) => out.state(word) },
      { header: 'NEXT RUN', value: (job) => out.briefTime(job.next_run_at), fixed: true, rank: 4 },
      { header: 'LAST RUN', value: (job) => lastRunWord(job, out), rank: 6 },
      { header: 'SCHEDULE', value: (job) => scheduleText(job, (iso) => out.dayOrTime(iso)), rank: 5 },
      { header: 'HANDLER', value: (job) => job.handler, rank: 7 },
      { header: 'NAMESPACE', value: (job) => job.namespace, rank: 8 },
      { header: 'OWNER', value: ownerName, rank: 9 },
    ],
    empty: 'No jobs.',
    noMatch: 'No jobs match.',
  }),
  command('jobs show', 'Show a job and how it is doing', {
    arguments: [JOB_ID],
    options: { watch: toggle('-w, --watch', 'Show every change until the job ends') },
    examples: [`carillon jobs show ${JOB}`, `carillon jobs show ${JOB} --watch`],
    async run({ args: [id = ''], options, cli }) {
      if (options.watch) return watchJob(cli, id);
      const client = await cli.client();
      const [job, status] = await Promise.all([client.jobs.get(id), client.jobs.status(id)]);
      const value = { ...job, state: status.status, latest_run: status.latest_run };
      cli.out.record(value, jobFacts(job, status, cli.out));
      return EXIT.ok;
    },
  }),
  command('jobs why', 'Say why a job does not run now', {
    arguments: [JOB_ID],
    details:
      'Whether it is paused, not due, at its limit, without a worker, behind others or over, and what can be done.',
    examples: [`carillon jobs why ${JOB}`],
    run: async ({ args: [id = ''], cli }) => showWhy(cli, await (await cli.client()).jobs.why(id)),
  }),
  updateJob,
  eachIdCommand('jobs pause', 'Pause jobs', {
    details: 'The schedule stops; runs that have started go on.',
    arguments: [JOB_IDS],
    examples: [`carillon jobs pause ${JOB}`, `carillon jobs pause ${JOB} ${ANOTHER}`],
    act: (client, id): Promise<Outcome> => client.jobs.pause(id),
    actOnMany: (client, ids) => changeMany(client, { action: 'pause', ids, outcome: 'paused' }),
    sentence: (id, { changed }) => (changed ? `Paused ${id}` : `${id} was paused already`),
  }),
  eachIdCommand('jobs resume', 'Resume paused jobs', {
    arguments: [JOB_IDS],
    examples: [`carillon jobs resume ${JOB}`, `carillon jobs resume ${JOB} ${ANOTHER}`],
    act: (client, id): Promise<Outcome> => client.jobs.resume(id),
    actOnMany: (client, ids) => changeMany(client, { action: 'resume', ids, outcome: 'resumed' }),
    sentence: (id, { changed }) => (changed ? `Resumed ${id}` : `${id} was not paused`),
  }),
  ...versionCommands,
  ...skipCommands,
  eachIdCommand('jobs cancel', 'Cancel jobs for good', {
    details: 'Runs that have started are asked to stop. The job stays readable.',
    arguments: [JOB_IDS],
    examples: [`carillon jobs cancel ${JOB}`, `carillon jobs cancel ${JOB} ${ANOTHER} --yes`],
    question: (count) => `Cancel ${jobsText(count)} for good?`,
    act: (client, id): Promise<Outcome> => client.jobs.cancel(id),
    actOnMany: (client, ids) => changeMany(client, { action: 'cancel', ids, outcome: 'cancelled' }),
    sentence: (id, { changed }) => (changed ? `Cancelled ${id}` : `${id} was cancelled already`),
  }),
  command('jobs run', 'Run a job at once', {
    details: 'Also when it is paused: a pause stops the schedule, not the person.',
    arguments: [JOB_ID],
    options: {
      wait: toggle('-w, --wait', 'Wait for the run to end; fails when it fails'),
      ...RUN_REQUEST,
      idempotencyKey: text('--idempotency-key <key>', 'The same key again answers the same run'),
    },
    examples: [
      `carillon jobs run ${JOB}`,
      `carillon jobs run ${JOB} --wait`,
      `carillon jobs run ${JOB} --input '{"body": {"day": "2030-01-02"}}' --reason 'a day was missed'`,
    ],
    async run({ args: [id = ''], options: { wait, ...request }, cli }) {
      const client = await cli.client();
      return showStarted(cli, await client.jobs.runNow(id, request), wait);
    },
  }),
  eachIdCommand('jobs delete', 'Remove jobs', {
    details:
      'They are cancelled and their definitions are gone. The history of their runs stays until it is retention_days old.',
    arguments: [JOB_IDS],
    examples: [`carillon jobs delete ${JOB} --yes`],
    question: (count) => `Remove ${jobsText(count)} for good?`,
    act: (client, id) => client.jobs.remove(id),
    sentence: (id) => `Removed ${id}`,
  }),
  command('jobs logs', 'Show what the latest runs of a job said', {
    details:
      'What each of them wrote, between the lines that tell when its attempts began and how they ended; as JSON these lines alone. With -f, --stderr, --search, --since or --tail the log of the latest run, as `carillon runs logs` shows it.',
    arguments: [JOB_ID],
    options: { limit: LIMIT, ...LOG_FLAGS },
    examples: [
      `carillon jobs logs ${JOB}`,
      `carillon jobs logs -f ${JOB}`,
      `carillon jobs logs ${JOB} -n 200 -o json`,
    ],
    async run({ args: [id = ''], options: { limit, ...log }, cli }) {
      const { out } = cli;
      const client = await cli.client();
      if (log.follow || asksForLines(log)) {
        const [latest] = (await client.jobs.runs(id, { limit: 1 }).page()).items;
        const runId =
          latest?.run_id ?? (await firstRunOf(cli, await client.jobs.get(id), { wait: log.follow === true }));
        return await showRunLog(cli, runId, log);
      }
      const { logs } = await client.jobs.logs(id, { limit: pageSize(limit) });
      if (out.json || logs.length === 0) {
        out.list(logs, [], { empty: 'It has said nothing yet.' });
        return EXIT.ok;
      }
      for (const runId of new Set(logs.map(({ run_id }) => run_id))) {
        out.raw(out.paint.bold(`run ${runId}`));
        await showRunLog(cli, runId, log);
      }
      return EXIT.ok;
    },
  }),
  listCommand('jobs upcoming', 'List what runs soon', {
    options: {
      within: withDefault(text('--within <duration>', 'How far ahead: 5m, 1h'), '5m'),
      namespace: IN_NAMESPACE,
    },
    examples: ['carillon jobs upcoming', 'carillon jobs upcoming --within 1h'],
    read: (client, query) => client.jobs.upcoming(query),
    columns: (out) => [
      { header: 'RUNS AT', value: (run) => out.shortTime(run.run_at), fixed: true },
      { header: 'JOB', value: (run) => run.job_id, fixed: true },
      { header: 'NAME', value: (run) => run.name },
      { header: 'HANDLER', value: (run) => run.handler },
      { header: 'PRIORITY', value: (run) => run.priority },
      { header: 'NAMESPACE', value: (run) => run.namespace },
    ],
    empty: ({ within }) => `Nothing runs within ${within}.`,
  }),
  command('jobs bulk', 'Pause, resume or cancel all jobs that match', {
    arguments: [{ name: '<action>', description: 'What to do', choices: ['pause', 'resume', 'cancel'] }],
    options: {
      status: words('--status <status>', 'Jobs with this status; may be repeated'),
      type: choice('--type <type>', 'Kind of schedule', SCHEDULE_TYPES),
      priority: PRIORITY,
      user_id: text('--user <user>', 'Whose jobs: name or id; "me" for your own'),
      ...JOB_FILTERS,
      // That of the context narrows what was said, but says nothing by itself.
      namespace: text('--namespace <name>', 'In this namespace [that of the context]'),
      dryRun: toggle('--dry-run', 'Only show how many there are'),
      yes: YES,
    },
    examples: [
      'carillon jobs bulk pause --label team=billing --dry-run',
      'carillon jobs bulk cancel --namespace old --yes',
    ],
    async run({ args, options: { dryRun, yes, ...filter }, cli }) {
      const action = args[0] as BulkRequest['action'];
      if (Object.keys(filter).length === 0)
        throw new UsageError(
          'Say which jobs are meant.',
          'Such as --namespace staging, or --label team=billing.',
        );
      const namespace = filter.namespace ?? (await cli.defaultNamespace());
      const selected = { ...filter, ...(namespace !== undefined && { namespace }) };
      const client = await cli.client();
      const signal = cli.untilInterrupted();
      return changeMatching(cli, {
        noun: 'job',
        dryRun,
        yes,
        question: (matched) => `${action.charAt(0).toUpperCase()}${action.slice(1)} ${matched}?`,
        send: (part) => {
          const request = {
            action,
            filter: selected,
            dry_run: part.dryRun,
            ...(part.from && { cursor: part.from }),
          };
          return client.jobs.bulk(request, { signal });
        },
        sentence: ({ changed, matched, refused }) =>
          `${changed} of ${countOf(matched, 'job')} changed, ${refused} refused.`,
      });
    },
  }),
];

type Outcome = Pick<JobChanged, 'job_id' | 'outcome' | 'changed'>;

async function changeMany(
  client: Carillon,
  {
    action,
    ids,
    outcome,
  }: Pick<BulkRequest, 'action'> & Pick<Outcome, 'outcome'> & { ids: readonly string[] },
): Promise<(id: string) => Outcome> {
  const resultOf = await resultsInParts(ids, {
    send: async (part) => (await client.jobs.bulk({ action, job_ids: part })).results,
    idOf: ({ job_id: id }) => id,
  });
  return (id) => ({ job_id: id, outcome, changed: resultOf(id)?.outcome === 'changed' });
}

function jobsText(count: number): string {
  return count === 1 ? 'this job' : `${count} jobs`;
}

/** Half a line of a terminal would be an id: there its beginning is shown, which is accepted wherever a job is named. */
function idColumn(out: Output, jobs: readonly ListedJob[]): (job: ListedJob) => string {
  if (out.width === undefined) return ({ job_id: id }) => id;
  const short = shortIds(jobs.map(({ job_id: id }) => id));
  return ({ job_id: id }) => short(id);
}

/** The status of the latest attempt and when it ended, or began. */
function lastRunWord({ last_run: run }: ListedJob, out: Output): string {
  if (!run) return '';
  return `${run.status} ${out.briefTime(run.ended_at ?? run.started_at ?? run.created_at)}`;
}
