/** `runs`: what ran, its log, and stopping or repeating it. */
import type { LogLine, Run } from '@carillon/client';
import type { Cli } from '../cli.ts';
import { type CommandSpec, command } from '../command.ts';
import { EXIT, UsageError } from '../errors.ts';
import { LIMIT, RUN_REQUEST, text, toggle, withDefault } from '../flags.ts';
import type { Fact, Output } from '../output/output.ts';
import type { Column } from '../output/table.ts';
import { plainText, showSpan } from '../output/text.ts';
import { eachIdCommand, pageSize, readLimited } from './actions.ts';
import { followRun, showStarted, watchRun } from './watch.ts';

const RUN = '01893f2e-7c12-7d01-8e11-b0b1b2b3b4b5';
const RUN_ID = { name: '<id>', description: 'Id of the run' };

export const runCommands: readonly CommandSpec[] = [
  command('runs list', 'List the runs of a job, newest first', {
    arguments: [{ name: '[job]', description: 'Id of the job' }],
    options: {
      worker: text('--worker <id>', 'What this worker is running now, instead'),
      limit: withDefault(LIMIT, '20'),
    },
    examples: [
      'carillon runs list 01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f',
      'carillon runs list --worker 5b1f6d3c-9a53-4c0e-8a3f-0c1d2e3f4a5b',
    ],
    async run({ args: [job], options: { worker, limit }, cli }) {
      if ((job === undefined) === (worker === undefined))
        throw new UsageError('Name a job, or a worker with --worker.', 'carillon jobs list shows the jobs.');
      const client = await cli.client();
      const query = { limit: pageSize(limit) };
      const list =
        worker === undefined ? client.jobs.runs(job ?? '', query) : client.runs.ofWorker(worker, query);
      cli.out.list(await readLimited(list, limit, cli.out), runColumns(cli.out), { empty: 'No runs.' });
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
      cli.out.record(run, runFacts(run, cli.out));
      if (!cli.out.json && run.attempts.length > 1) {
        cli.out.raw('');
        cli.out.list(run.attempts, runColumns(cli.out).slice(1), { empty: '' });
      }
      return EXIT.ok;
    },
  }),
  command('runs logs', 'Show the log of a run', {
    arguments: [RUN_ID],
    options: { follow: toggle('-f, --follow', 'Go on until the run ends') },
    examples: [`carillon runs logs ${RUN}`, `carillon runs logs -f ${RUN}`],
    async run({ args: [id = ''], options, cli }) {
      const client = await cli.client();
      const shown = new Set<string>();
      const showNew = async () => {
        const { logs } = await client.runs.logs(id);
        for (const line of logs) showOnce(line, shown, cli);
      };
      if (options.follow) {
        const signal = cli.untilInterrupted();
        for await (const _ of followRun(client, id, signal)) await showNew();
        if (signal.aborted) return EXIT.interrupted;
      }
      await showNew();
      return EXIT.ok;
    },
  }),
  eachIdCommand('runs cancel', 'Stop runs', {
    details: 'One that is running is asked to stop; one that waits is cancelled at once.',
    arguments: [{ name: '<id...>', description: 'Ids of runs' }],
    examples: [`carillon runs cancel ${RUN}`],
    act: (client, id) => client.runs.cancel(id),
    sentence: (id, { status }) => `${status === 'cancelled' ? 'Cancelled' : 'Asked to stop'} ${id}`,
  }),
  command('runs rerun', 'Run again what has run', {
    arguments: [{ name: '<id>', description: 'Id of a run that has ended' }],
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

function runColumns(out: Output): Column<Run>[] {
  return [
    { header: 'ID', value: (run) => run.run_id, fixed: true },
    { header: 'STATUS', value: (run) => run.status, fixed: true, paint: (word) => out.state(word) },
    { header: 'TRY', value: (run) => run.attempt_number, fixed: true, right: true },
    { header: 'SCHEDULED', value: (run) => out.shortTime(run.scheduled_at), fixed: true },
    { header: 'TOOK', value: (run) => showSpan(run.start_time, run.end_time), right: true },
    { header: 'ERROR', value: (run) => run.error_message ?? run.reason },
    { header: 'STARTED', value: (run) => out.shortTime(run.start_time), fixed: true },
  ];
}

function runFacts(run: Run, out: Output): Fact[] {
  return [
    ['id', run.run_id],
    ['job', run.job_id],
    ['status', run.status],
    ['attempt', String(run.attempt_number)],
    ['trigger', run.trigger],
    ['scheduled', out.time(run.scheduled_at)],
    ['started', out.time(run.start_time)],
    ['ended', out.time(run.end_time)],
    ['took', showSpan(run.start_time, run.end_time)],
    ['worker', run.executor_id],
    ['reason', run.reason],
    ['asked for because', run.request_reason],
    ['error', run.error_message],
    ['result', run.result === null ? null : JSON.stringify(run.result, null, 2)],
    ['late report', run.late_report],
  ];
}

function showOnce(line: LogLine, shown: Set<string>, { out }: Cli): void {
  const key = `${line.timestamp} ${line.message}`;
  if (shown.has(key)) return;
  shown.add(key);
  out.entry(line, `${out.paint.dim(out.time(line.timestamp))}  ${plainText(line.message)}`);
}
