/** `import crontab`: the lines of a crontab as jobs. Importing the same crontab again creates nothing twice. */
import { CarillonError } from '@carillon/client';
import type { Cli } from '../cli.ts';
import { command } from '../command.ts';
import { isSystemCrontab, type PlannedJob, parseCrontab, planJobs } from '../crontab.ts';
import { EXIT } from '../errors.ts';
import { readFileOrInput, text, toggle, withDefault, YES } from '../flags.ts';
import { type ProgressBar, withBar } from '../output/progress.ts';
import { countOf } from '../output/text.ts';
import { isConfirmed, optional } from './actions.ts';
import { createdText, warnWithoutWorkers } from './define-job.ts';

export const importCrontab = command('import crontab', 'Make jobs of the lines of a crontab', {
  details:
    'Understands CRON_TZ, variables, % and nicknames; refuses @reboot. A plain curl or wget becomes an http job, any ' +
    'other line a job for the handler that runs commands. The crontab itself is left as it is, and a line that was ' +
    'imported before is not imported twice. As in cron nothing is tried again; other than in cron, a run that is still ' +
    'going keeps the next one from starting.',
  arguments: [{ name: '<file>', description: 'The crontab; - reads the standard input' }],
  options: {
    system: toggle('--system', 'Lines name a user (known for /etc/crontab and /etc/cron.d)'),
    timeZone: text('--tz <zone>', 'Time zone where it has no CRON_TZ [that of this machine]'),
    handler: withDefault(text('--handler <name>', 'What runs commands'), 'script'),
    namespace: text('--namespace <name>', 'Namespace of the jobs'),
    dryRun: toggle('--dry-run', 'Only show what would be made, and which lines the server would refuse'),
    yes: YES,
  },
  examples: [
    'carillon import crontab /etc/crontab --dry-run',
    'crontab -l | carillon import crontab - --yes --namespace ops',
  ],
  async run({ args: [file = ''], options, cli }) {
    const { out } = cli;
    const { handler, namespace, dryRun, yes } = options;
    const crontab = await readFileOrInput(file, cli.world);
    const { entries, problems } = parseCrontab(crontab, { system: options.system ?? isSystemCrontab(file) });
    const timeZone = options.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
    const plan = planJobs(entries, { timeZone, handler, namespace });
    for (const { line, text: content, reason } of problems)
      out.warn(`line ${line} is left out: ${reason}\n      ${content}`);
    if (entries.some(({ mailTo }) => mailTo !== undefined))
      out.warn('MAILTO is not carried over: what a run says is kept with the run.');
    // With --yes nobody reads the plan first, and the server checks each line when the job is created.
    const checked: readonly CheckedJob[] = yes && !dryRun ? plan : await checkJobs(cli, plan);
    const refusals = checked.filter(({ refusal }) => refusal !== undefined);
    for (const { line, refusal } of refusals) out.warn(`line ${line} would be refused: ${refusal}`);
    if (dryRun || !out.json) showPlan(cli, checked);
    if (dryRun) return problems.length + refusals.length > 0 ? EXIT.failed : EXIT.ok;
    if (plan.length === 0) return problems.length > 0 ? EXIT.failed : EXIT.ok;
    const question = `Make ${countOf(plan.length, 'job')}?`;
    if (!(await isConfirmed(cli, { yes, question, otherwise: 'Nothing was made.' }))) return EXIT.ok;
    const refused = await createJobs(cli, plan);
    return refused + problems.length > 0 ? EXIT.failed : EXIT.ok;
  },
});

/** A planned job with what the server would do with it: its first run, or why it would be refused. */
interface CheckedJob extends PlannedJob {
  readonly nextAt?: string | undefined;
  readonly refusal?: string | undefined;
}

/** When no server answers, the plan is returned unchecked, with a warning. */
async function checkJobs(cli: Cli, plan: readonly PlannedJob[]): Promise<readonly CheckedJob[]> {
  const check = async (bar: ProgressBar) => {
    const checked: CheckedJob[] = [];
    for (const planned of plan) {
      checked.push(await checkJob(cli, planned));
      bar.advance();
    }
    return checked;
  };
  const isUnanswered = (error: CarillonError) => error.status === undefined;
  const checked = await optional(withBar(cli.out.terminal, plan.length, check), isUnanswered);
  if (!checked) cli.out.warn('no server answers, so it was not asked whether it would take these.');
  return checked ?? plan;
}

async function checkJob(cli: Cli, planned: PlannedJob): Promise<CheckedJob> {
  const client = await cli.client();
  const { cron_expression = null, time_zone = null } = planned.job;
  try {
    const signal = cli.untilInterrupted();
    const { fires } = await client.schedules.preview({ cron_expression, time_zone, count: 1 }, { signal });
    return { ...planned, nextAt: fires[0]?.at };
  } catch (error) {
    if (error instanceof CarillonError && error.status === 400) return { ...planned, refusal: error.message };
    throw error;
  }
}

function showPlan({ out }: Cli, plan: readonly CheckedJob[]): void {
  const json = plan.map(({ line, job, nextAt: next_run_time, refusal: refused }) => {
    return { line, job, next_run_time, refused };
  });
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
        value: ({ nextAt, refusal }) => (refusal ? 'refused' : out.shortTime(nextAt)),
        fixed: true,
      },
    ],
    { empty: 'The crontab holds no lines to import.', json },
  );
}

/** One by one, so that a refusal names its line and the command can be repeated. Returns how many were refused. */
async function createJobs(cli: Cli, plan: readonly PlannedJob[]): Promise<number> {
  const client = await cli.client();
  const signal = cli.untilInterrupted();
  const made: { line: number; name: string; job_id: string; created: boolean }[] = [];
  const refused: { line: number; name: string; error: string }[] = [];
  const create = async ({ line, job, idempotencyKey }: PlannedJob) => {
    try {
      const { job_id, created = true } = await client.jobs.create(job, { idempotencyKey, signal });
      made.push({ line, name: job.name, job_id, created });
    } catch (error) {
      if (!(error instanceof CarillonError) || error.status !== 400) throw error;
      refused.push({ line, name: job.name, error: error.message });
    }
  };
  const countCreated = () => made.filter(({ created }) => created).length;
  await withBar(cli.out.terminal, plan.length, async (bar) => {
    for (const planned of plan) {
      await create(planned);
      bar.advance();
    }
  }).catch((error: unknown) => {
    const soFar = `${countOf(countCreated(), 'job')} made so far`;
    if (made.length > 0) cli.out.note(`${soFar}; the same command again makes only the others.`);
    throw error;
  });
  for (const { line, error } of refused) cli.out.warn(`line ${line} was refused: ${error}`);
  const created = countCreated();
  const sentence = createdText({ created, existed: made.length - created, refused: refused.length });
  cli.out.done({ made, refused }, sentence);
  await warnWithoutWorkers(
    cli,
    plan.map(({ job }) => job.handler),
  );
  return refused.length;
}
