/** `runs`: what ran, its log, and stopping or repeating it. */
import type { Carillon, Job, ListedRun, Run, RunWithAttempts, ShortRun, Worker } from '@carillon/client';
import { type CommandSpec, command } from '../command.ts';
import { EXIT, UsageError } from '../errors.ts';
import {
  count,
  IN_NAMESPACE,
  LIMIT,
  labelFilter,
  RUN_REQUEST,
  spelled,
  text,
  texts,
  toggle,
  withDefault,
} from '../flags.ts';
import type { Fact, Output } from '../output/output.ts';
import type { Column } from '../output/table.ts';
import { countOf, showSpan } from '../output/text.ts';
import { shortIds } from '../resolve.ts';
import { eachIdCommand, optional, pageSize, readLimited } from './actions.ts';
import { showArtifacts } from './run-artifacts.ts';
import { LOG_FLAGS, showRunLog } from './run-logs.ts';
import { showStarted, watchRun } from './watch.ts';
import { showWhy } from './why.ts';

const RUN = '01893f2e-7c12-7d01-8e11-b0b1b2b3b4b5';
const RUN_ID = {
  ...{ name: '<run>', description: 'Id of the run, or key or name of a job: its latest run' },
  names: 'run',
} as const;

export const runCommands: readonly CommandSpec[] = [
  command('runs list', 'List runs, newest first', {
    details:
      'Of all jobs, or of one; each run once, by its last attempt. What waits is listed of one job, or with --status queued.',
    arguments: [{ name: '[job]', description: 'Key, name or id of the job [all jobs]', names: 'job' }],
    options: {
      job_id: text('--job <job>', 'The same as [job]'),
      status: texts(
        '--status <status>',
        'claimed, running, cancelling, success, failed, timed_out, returned, lost, cancelled, skipped or queued; several with commas. What failed: failed,timed_out',
      ),
      since: text(
        '--since <time>',
        'Since then: 15m, 1h or 1d ago, or a time; what failed counts by its end too',
      ),
      until: text('--until <time>', 'Before then'),
      namespace: IN_NAMESPACE,
      user_id: text('--user <user>', 'Of jobs of this user: name or id; "me" for your own'),
      handler: text('--handler <name>', 'Of jobs run by this handler'),
      label: labelFilter('--label <name=value>', 'Of jobs with this label; may be repeated'),
      worker_id: text('--worker <id>', 'Handed to this worker'),
      error: text('--error <part>', 'Whose error contains this'),
      each: toggle('--attempts', 'Each attempt, also those that were tried again'),
      limit: withDefault(LIMIT, '20'),
    },
    examples: [
      'carillon runs list --status failed,timed_out --since 1h',
      'carillon runs list 01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f',
      'carillon runs list --job nightly --since 1d',
      'carillon runs list --worker 5b1f6d3c-9a53-4c0e-8a3f-0c1d2e3f4a5b --status running',
    ],
    async run({ args: [named], options: { limit, each, job_id: job = named, ...filter }, cli }) {
      if (named !== undefined && job !== named)
        throw new UsageError('Two jobs are named: one by --job, one without.', 'Name one of them.');
      const client = await cli.client();
      const list = client.runs.list({
        ...{ ...filter, job_id: job, limit: pageSize(limit) },
        attempts: each ? 'all' : 'last',
      });
      const runs = await readLimited(list, limit, cli.out);
      const statuses = filter.status?.flatMap((list) => spelled(list).split(',')) ?? [];
      if (statuses.includes('failed') && !statuses.includes('timed_out'))
        cli.out.note('What took too long is not among these: --status failed,timed_out shows both.');
      noteUnoffered(cli.out, runs);
      const isFiltered = Object.keys(filter).length > 0;
      const columns = job === undefined ? acrossColumns(cli.out, runs) : runColumns(cli.out, runs);
      cli.out.list(runs, withProgress(columns, runs), { empty: isFiltered ? 'No runs match.' : 'No runs.' });
    },
  }),
  command('runs show', 'Show a run with all its attempts', {
    arguments: [RUN_ID],
    options: { watch: toggle('-w, --watch', 'Show every change until the run ends') },
    examples: [`carillon runs show ${RUN}`],
    async run({ args: [id = ''], options, cli }) {
      if (options.watch) return watchRun(cli, id);
      const client = await cli.client();
      const run = await client.runs.get(id);
      cli.out.record(run, cli.out.json ? [] : runFacts(run, await aboutRun(client, run), cli.out));
      if (!cli.out.json && isLive(run)) cli.out.note(`What it writes: carillon runs logs -f ${run.run_id}`);
      if (!cli.out.json && run.attempts.length > 1) {
        cli.out.raw('');
        cli.out.list(run.attempts, runColumns(cli.out, run.attempts).slice(1), { empty: '' });
      }
      return EXIT.ok;
    },
  }),
  command('runs why', 'Say why a run waits, or how it ended', {
    arguments: [RUN_ID],
    details: 'What it waits for, who holds that, how many stand before it, and what can be done.',
    examples: [`carillon runs why ${RUN}`],
    run: async ({ args: [id = ''], cli }) => showWhy(cli, await (await cli.client()).runs.why(id)),
  }),
  command('runs logs', 'Show the log of a run', {
    arguments: [{ ...RUN_ID, awaitedWith: 'follow' }],
    details:
      'What it wrote, between the lines that tell when its attempts began and how they ended. With -f, the first run of a job that has not run yet is waited for. With --stderr, --search, --since or --tail only what it wrote.',
    options: LOG_FLAGS,
    examples: [
      `carillon runs logs ${RUN}`,
      `carillon runs logs -f ${RUN}`,
      `carillon runs logs ${RUN} --search timeout --tail 20`,
    ],
    run: ({ args: [id = ''], options, cli }) => showRunLog(cli, id, options),
  }),
  command('runs result', 'Print what the handler of a run answered', {
    arguments: [RUN_ID],
    details: 'As JSON, also where it is too large to be shown with the run.',
    examples: [`carillon runs result ${RUN} > result.json`],
    async run({ args: [id = ''], cli }) {
      const client = await cli.client();
      cli.out.raw(JSON.stringify(await client.runs.result(id), null, 2));
      return EXIT.ok;
    },
  }),
  command('runs artifacts', 'List the files that a run left, or read one', {
    arguments: [RUN_ID, { name: '[name]', description: 'Name of a file, which is written to stdout' }],
    details: 'A script leaves files in the folder that $CARILLON_ARTIFACTS names.',
    options: {
      attempt: count('--attempt <number>', 'The file that this attempt left [the latest that left one]'),
      save: text('--save <file>', 'Write it to this file, which must not exist, and not to stdout'),
    },
    examples: [
      `carillon runs artifacts ${RUN}`,
      `carillon runs artifacts ${RUN} report.pdf --save report.pdf`,
    ],
    run: ({ args: [id = '', name], options, cli }) => showArtifacts(cli, { id, name }, options),
  }),
  eachIdCommand('runs cancel', 'Stop runs', {
    details: 'One that is running is asked to stop; one that waits is cancelled at once.',
    arguments: [{ ...RUN_ID, name: '<run...>', description: 'Ids of runs, or keys or names of jobs' }],
    examples: [`carillon runs cancel ${RUN}`, `carillon runs cancel ${RUN} --yes`],
    question: (count) => `Cancel ${count === 1 ? 'this run' : `these ${count} runs`} for good?`,
    act: (client, id) => client.runs.cancel(id),
    sentence: (id, { outcome }) => `${outcome === 'cancelled' ? 'Cancelled' : 'Asked to stop'} ${id}`,
  }),
  command('runs rerun', 'Run again what has run', {
    arguments: [RUN_ID],
    details: 'With the input that it was asked for with, unless another one is given.',
    options: {
      wait: toggle('-w, --wait', 'Wait for the new run to end; fails when it fails'),
      ...RUN_REQUEST,
    },
    examples: [`carillon runs rerun ${RUN} --wait`],
    async run({ args: [id = ''], options: { wait, ...request }, cli }) {
      const client = await cli.client();
      return showStarted(cli, await client.runs.rerun(id, request), wait);
    },
  }),
];

const UNOFFERED_MAX = 3;

/** In full, where the column of a narrow terminal cuts it: nothing happens until somebody does something about it. */
function noteUnoffered(out: Output, runs: readonly ShortRun[]): void {
  const reasons = runs.flatMap(({ reason }) => (reason?.startsWith('no worker offers') ? [reason] : []));
  for (const reason of [...new Set(reasons)].slice(0, UNOFFERED_MAX)) out.note(`Some wait: ${reason}.`);
}

/**
 * Of many jobs: a narrow terminal keeps whose run it was, the beginning of its id, which is accepted wherever a run is named, and
 * why it failed.
 */
function acrossColumns(out: Output, runs: readonly ListedRun[]): Column<ListedRun>[] {
  const isRepeated = repeats(runs);
  const short = out.width === undefined ? (id: string) => id : shortIds(runs.map(({ run_id: id }) => id));
  return [
    { header: 'STATUS', value: (run) => run.status, fixed: true, paint: (word) => out.state(word) },
    { header: 'JOB', value: (run) => run.job_name ?? `removed ${run.job_id}` },
    { header: 'NAMESPACE', value: (run) => run.namespace, rank: 6 },
    { header: 'ERROR', value: errorText, rank: 4, usefulWidth: 24 },
    { header: 'ENDED', value: (run) => out.briefTime(run.ended_at), fixed: true, rank: 5 },
    { header: 'ID', value: (run) => short(run.run_id), fixed: true, rank: 3 },
    { header: 'TRY', value: (run) => tryText(run, isRepeated), fixed: true, right: true },
    { header: 'TOOK', value: tookText, right: true },
  ];
}

/** Of one job: a narrow terminal leaves out times before the error. */
function runColumns(out: Output, runs: readonly ShortRun[]): Column<ShortRun>[] {
  const isRepeated = repeats(runs);
  return [
    { header: 'ID', value: (run) => run.run_id, fixed: true, rank: 1 },
    { header: 'STATUS', value: (run) => run.status, fixed: true, rank: 2, paint: (word) => out.state(word) },
    { header: 'TRY', value: (run) => tryText(run, isRepeated), fixed: true, right: true, rank: 5 },
    { header: 'SCHEDULED', value: (run) => out.shortTime(run.scheduled_at), fixed: true, rank: 6 },
    { header: 'TOOK', value: tookText, right: true, rank: 7 },
    { header: 'ERROR', value: errorText, rank: 3 },
    { header: 'STARTED', value: (run) => out.shortTime(run.started_at), fixed: true, rank: 8 },
  ];
}

/** What failed and is tried again is not given up. */
function errorText(run: ShortRun & Partial<ListedRun>): string | null {
  const text = run.error_message ?? run.reason;
  return run.tried_again ? `${text ?? ''} (tried again)`.trim() : text;
}

type Attempt = Pick<ShortRun, 'run_id' | 'attempt_number' | 'epoch'>;

/** An attempt that was lost or given back costs none: the one that follows has its number again. */
export function repeats(attempts: readonly Attempt[]): (attempt: Attempt) => boolean {
  const nameOf = ({ run_id, attempt_number }: Attempt) => `${run_id} ${attempt_number}`;
  const first = new Map<string, number>();
  for (const attempt of attempts) {
    const name = nameOf(attempt);
    first.set(name, Math.min(first.get(name) ?? attempt.epoch, attempt.epoch));
  }
  return (attempt) => attempt.epoch > (first.get(nameOf(attempt)) ?? attempt.epoch);
}

/** `1+`: attempt 1 again. */
function tryText(run: Attempt, isRepeated: (attempt: Attempt) => boolean): string {
  return `${run.attempt_number}${isRepeated(run) ? '+' : ''}`;
}

function attemptText(run: RunWithAttempts, job: Job | undefined): string {
  const again = repeats(run.attempts)(run) ? ' (again)' : '';
  return `${run.attempt_number}${job ? ` of ${job.max_retries + 1}` : ''}${again}`;
}

interface AboutRun {
  readonly job: Job | undefined;
  readonly worker: Worker | undefined;
}

/** What people know its job and its worker by. Both may be gone, or not for the caller to see. */
async function aboutRun(client: Carillon, run: RunWithAttempts): Promise<AboutRun> {
  const [job, worker] = await Promise.all([
    optional(client.jobs.get(run.job_id)),
    run.worker_id === null ? undefined : optional(client.workers.get(run.worker_id)),
  ]);
  return { job, worker };
}

function runFacts(run: RunWithAttempts, { job, worker }: AboutRun, out: Output): Fact[] {
  return [
    ['id', run.run_id],
    ['job', job ? `${job.name} (${run.job_id})` : run.job_id],
    ['status', statusText(run)],
    ['attempt', attemptText(run, job)],
    ['trigger', run.trigger],
    ['scheduled', out.time(run.scheduled_at)],
    ['started', out.time(run.started_at)],
    ['ended', out.time(run.ended_at)],
    ['took', tookText(run)],
    ['worker', worker?.name ? `${worker.name} (${run.worker_id})` : run.worker_id],
    ['progress', progressText(run)],
    ['memory', memoryText(run)],
    ['CPU time', run.cpu_seconds === null ? null : `${run.cpu_seconds.toFixed(2)} s`],
    ['checkpoint', checkpointText(run, out)],
    ['reason', run.reason],
    ['asked for because', run.request_reason],
    ['input', run.input === null ? null : JSON.stringify(run.input)],
    ['error', run.error_message],
    ['result', resultText(run)],
    ['late report', run.late_report],
  ];
}

function isLive({ status }: Pick<Run, 'status'>): boolean {
  return status === 'RUNNING' || status === 'CANCELLING';
}

function statusText({ status }: Run): string {
  return status === 'CANCELLING' ? 'CANCELLING: it was told to stop, and has not ended yet' : status;
}

function tookText(run: Pick<Run, 'status' | 'started_at' | 'ended_at'>): string {
  if (!isLive(run)) return showSpan(run.started_at, run.ended_at);
  const soFar = showSpan(run.started_at, new Date().toISOString());
  return soFar && `${soFar} so far`;
}

/** Most runs say nothing of it: then there is no column. */
function withProgress<Row extends Pick<Run, 'progress'>>(
  columns: Column<Row>[],
  runs: readonly Row[],
): Column<Row>[] {
  if (runs.every(({ progress }) => progress === null)) return columns;
  return [...columns, { header: 'PROGRESS', value: progressText, rank: 4 }];
}

function progressText({ progress }: Pick<Run, 'progress'>): string | null {
  if (!progress) return null;
  const percent = `${Math.round(progress.percent)} %`;
  return progress.message ? `${percent}, ${progress.message}` : percent;
}

function memoryText({ peak_memory_bytes: bytes }: RunWithAttempts): string | null {
  return bytes === null ? null : `at most ${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

function resultText({ result, result_size: bytes, run_id: id }: Run): string | null {
  if (bytes !== null) return `${bytes} bytes: carillon runs result ${id}`;
  return result === null ? null : JSON.stringify(result, null, 2);
}

/** Of a redriven dead letter, whose attempts are another run's, only the epoch is known. */
function checkpointText({ checkpoint, attempts }: RunWithAttempts, out: Output): string | null {
  if (!checkpoint) return null;
  const { bytes, saved_at: savedAt, epoch } = checkpoint;
  const by = attempts.find((attempt) => attempt.epoch === epoch);
  const attempt = by ? `attempt ${by.attempt_number}, ` : '';
  return `${countOf(bytes, 'byte')}, saved ${out.time(savedAt)} (${attempt}epoch ${epoch})`;
}
