/** `import crontab`: the lines of a crontab as jobs. Shows what it would make before it makes it; repeating it makes nothing twice. */
import { CarillonError } from '@carillon/client';
import type { Cli } from '../cli.ts';
import { command } from '../command.ts';
import { type PlannedJob, planJobs } from '../crontab/job-of-entry.ts';
import { type JudgedJob, judgeJobs } from '../crontab/judge-jobs.ts';
import { type CrontabProblem, isSystemCrontab, parseCrontab } from '../crontab/parse-crontab.ts';
import { confirm } from '../output/ask.ts';
import { countOf } from '../output/count-of.ts';
import { madeText } from '../output/made-text.ts';
import { ProgressBar } from '../output/progress-bar.ts';
import { EXIT } from '../program/exit-codes.ts';
import { readFileOrInput } from '../read/read-json.ts';
import { warnWithoutWorkers } from './warn-without-workers.ts';

interface Options {
  readonly system?: boolean;
  readonly tz?: string;
  readonly handler: string;
  readonly namespace?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export const importCrontab = command<Options>({
  name: 'import crontab',
  summary: 'Make jobs of the lines of a crontab',
  details:
    'Understands CRON_TZ, variables, % and nicknames; refuses @reboot. A plain curl or wget becomes an http job, any ' +
    'other line a job for the handler that runs commands. The crontab itself is left as it is, and a line that was ' +
    'imported before is not imported twice. As in cron nothing is tried again; other than in cron, a run that is still ' +
    'going keeps the next one from starting.',
  arguments: [{ name: '<file>', description: 'The crontab; - reads the standard input' }],
  options: [
    { flags: '--system', description: 'Lines name a user (known for /etc/crontab and /etc/cron.d)' },
    { flags: '--tz <zone>', description: 'Time zone where it has no CRON_TZ [that of this machine]' },
    { flags: '--handler <name>', description: 'What runs commands', fallback: 'script' },
    { flags: '--namespace <name>', description: 'Namespace of the jobs' },
    {
      flags: '--dry-run',
      description: 'Only show what would be made, and which lines the server would refuse',
    },
    { flags: '-y, --yes', description: 'Do not ask' },
  ],
  examples: [
    'carillon import crontab /etc/crontab --dry-run',
    'crontab -l | carillon import crontab - --yes --namespace ops',
  ],
  async run({ args: [file = ''], options, cli }) {
    const text = await readFileOrInput(file, cli.world);
    const { entries, problems } = parseCrontab(text, { system: options.system ?? isSystemCrontab(file) });
    const plan = planJobs(entries, {
      timeZone: options.tz ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
      handler: options.handler,
      namespace: options.namespace,
    });
    showProblems(cli, problems);
    if (entries.some(({ mailTo }) => mailTo !== undefined))
      cli.out.warn('MAILTO is not carried over: what a run says is kept with the run.');
    // With --yes nobody reads the plan before it is carried out, and the server judges each line then.
    const judged: readonly JudgedJob[] = options.yes && !options.dryRun ? plan : await judgeJobs(cli, plan);
    const refusals = judged.filter(({ refusal }) => refusal !== undefined);
    for (const { line, refusal } of refusals) cli.out.warn(`line ${line} would be refused: ${refusal}`);
    if (options.dryRun) {
      showPlan(cli, judged);
      return problems.length + refusals.length > 0 ? EXIT.failed : EXIT.ok;
    }
    if (!cli.out.json) showPlan(cli, judged);
    if (plan.length === 0) return problems.length > 0 ? EXIT.failed : EXIT.ok;
    if (!options.yes && !(await confirm(`Make ${countOf(plan.length, 'job')}?`, cli.world))) {
      cli.out.note('Nothing was made.');
      return EXIT.ok;
    }
    const refused = await makeJobs(cli, plan);
    return refused + problems.length > 0 ? EXIT.failed : EXIT.ok;
  },
});

function showProblems({ out }: Cli, problems: readonly CrontabProblem[]): void {
  for (const { line, text, reason } of problems)
    out.warn(`line ${line} is left out: ${reason}\n      ${text}`);
}

function showPlan({ out }: Cli, plan: readonly JudgedJob[]): void {
  if (out.json) {
    const jobs = plan.map(({ line, job, nextAt: next_run_time, refusal }) => ({
      ...{ line, job, next_run_time },
      ...(refusal !== undefined && { refused: refusal }),
    }));
    out.done(jobs, '');
    return;
  }
  out.list(
    plan,
    [
      { header: 'LINE', value: ({ line }) => line, fixed: true, right: true },
      { header: 'NAME', value: ({ job }) => job.name },
      { header: 'SCHEDULE', value: ({ job }) => job.cron_expression, fixed: true },
      { header: 'TIME ZONE', value: ({ job }) => job.time_zone },
      { header: 'HANDLER', value: ({ job }) => job.handler },
      {
        header: 'NEXT RUN',
        value: ({ nextAt, refusal }) => (refusal === undefined ? out.shortTime(nextAt) : 'refused'),
        fixed: true,
      },
    ],
    { empty: 'The crontab holds no lines to import.' },
  );
}

/** One by one, so that each can be repeated and a refusal names its line. Answers how many were refused. */
async function makeJobs(cli: Cli, plan: readonly PlannedJob[]): Promise<number> {
  const client = await cli.client();
  const signal = cli.untilInterrupted();
  const bar = new ProgressBar(plan.length, cli.out.terminal);
  const made: { line: number; name: string; job_id: string; created: boolean }[] = [];
  const refused: { line: number; name: string; error: string }[] = [];
  const countNew = () => made.filter(({ created }) => created).length;
  for (const { line, job, idempotencyKey } of plan) {
    try {
      const { job_id, created = true } = await client.jobs.create(job, { idempotencyKey, signal });
      made.push({ line, name: job.name, job_id, created });
    } catch (error) {
      if (!(error instanceof CarillonError) || error.status !== 400) {
        bar.end();
        if (made.length > 0)
          cli.out.note(
            `${countOf(countNew(), 'job')} made so far; the same command again makes only the others.`,
          );
        throw error;
      }
      refused.push({ line, name: job.name, error: error.message });
    }
    bar.advance();
  }
  bar.end();
  for (const { line, error } of refused) cli.out.warn(`line ${line} was refused: ${error}`);
  const fresh = countNew();
  cli.out.done(
    { made, refused },
    madeText({ made: fresh, there: made.length - fresh, refused: refused.length }),
  );
  await warnWithoutWorkers(
    cli,
    plan.flatMap(({ job }) => job.handler ?? []),
  );
  return refused.length;
}
