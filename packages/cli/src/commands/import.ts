/** `import crontab`: the lines of a crontab as jobs. Importing the same crontab again creates nothing twice. */
import { CarillonError } from '@carillon/client';
import type { Cli } from '../cli.ts';
import { command } from '../command.ts';
import { isSystemCrontab, type PlannedJob, parseCrontab, planJobs } from '../crontab.ts';
import { EXIT } from '../errors.ts';
import { contextNamespace, readFileOrInput, text, toggle, withDefault, YES } from '../flags.ts';
import { type ProgressBar, withBar } from '../output/progress.ts';
import { countOf } from '../output/text.ts';
import { isConfirmed, optional } from './actions.ts';
import { createdText } from './define-job.ts';
import { findUnoffered } from './unoffered.ts';

export const importCrontab = command('import crontab', 'Make jobs of the lines of a crontab', {
  details:
    'Understands CRON_TZ, variables, % and nicknames; refuses @reboot. A curl or wget that calls one address becomes an http ' +
    'job, with its method, headers, body, password and time limit; any other line a script job (docs/scripts.md), which needs ' +
    'the permission scripts.submit. ' +
    'A line whose handler no worker offers would never run: it is left out, or made as a paused job with --paused. The ' +
    'crontab itself is left as it is, and a line that was imported before is not imported twice. As in cron nothing is ' +
    'tried again; other than in cron, a run that is still going keeps the next one from starting, and a call that is ' +
    'answered with another status than 2xx has failed.',
  arguments: [{ name: '<file>', description: 'The crontab; - reads the standard input' }],
  options: {
    system: toggle('--system', 'Lines name a user (known for /etc/crontab and /etc/cron.d)'),
    timeZone: text('--tz <zone>', 'Time zone where it has no CRON_TZ [that of this machine]'),
    handler: withDefault(text('--handler <name>', 'What runs commands'), 'script'),
    namespace: contextNamespace('Namespace of the jobs'),
    paused: toggle('--paused', 'Also make jobs of lines that no worker can run now, and pause them'),
    dryRun: toggle('--dry-run', 'Only show what would be made, and which lines would not'),
    yes: YES,
  },
  examples: [
    'carillon import crontab /etc/crontab --dry-run',
    'crontab -l | carillon import crontab - --yes --namespace ops',
  ],
  async run({ args: [file = ''], options, cli }) {
    const { out } = cli;
    const { handler, namespace, dryRun, yes, paused = false } = options;
    const crontab = await readFileOrInput(file, cli.world);
    const { entries, problems } = parseCrontab(crontab, { system: options.system ?? isSystemCrontab(file) });
    const timeZone = options.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
    if (namespace !== undefined) await requireNamespace(cli, namespace);
    const plan = await withWorkers(cli, planJobs(entries, { timeZone, handler, namespace }));
    for (const { line, text: content, reason } of problems)
      out.warn(`line ${line} is left out: ${reason}\n      ${content}`);
    if (entries.some(({ mailTo }) => mailTo !== undefined))
      out.warn('MAILTO is not carried over: what a run says is kept with the run.');
    for (const { line, note } of plan) if (note !== undefined) out.warn(`line ${line}: ${note}`);
    const checked = await checkJobs(cli, plan);
    const refusals = checked.filter(({ refusal }) => refusal !== undefined);
    // With --yes nobody is asked any more, and what the server refuses in its preview is not sent: that is its answer.
    const fate = yes && !dryRun ? 'was' : 'would be';
    for (const { line, refusal } of refusals) out.warn(`line ${line} ${fate} refused: ${refusal}`);
    if (dryRun || !out.json) showPlan(cli, checked, { paused });
    const leftOut = paused ? [] : plan.filter(({ canRun }) => canRun === false);
    tellOfIdle(cli, plan, { paused });
    const isPartial = problems.length + leftOut.length > 0;
    if (dryRun) return isPartial || refusals.length > 0 ? EXIT.failed : EXIT.ok;
    const hopeless = new Set([...leftOut, ...refusals].map(({ line }) => line));
    const wanted = plan.filter(({ line }) => !hopeless.has(line));
    if (wanted.length === 0 && refusals.length === 0)
      return plan.length > 0 || isPartial ? EXIT.failed : EXIT.ok;
    const question = `Make ${countOf(wanted.length, 'job')}?`;
    if (wanted.length > 0 && !(await isConfirmed(cli, { yes, question, otherwise: 'Nothing was made.' })))
      return EXIT.ok;
    const refused = await createJobs(cli, wanted, { leftOut, refusals });
    return isPartial || refused > 0 ? EXIT.failed : EXIT.ok;
  },
});

/** A misspelled namespace would have every line refused: said before anything else. */
async function requireNamespace(cli: Cli, namespace: string): Promise<void> {
  const look = async () => (await cli.client()).namespaces.get(namespace);
  // No server answers, or this caller may not look: the lines themselves will tell.
  await optional(look(), ({ code }) => code !== 'namespace_not_found');
}

/** A planned job, and whether a worker offers its handler now; undefined where that is not known. */
interface RunnableJob extends PlannedJob {
  readonly canRun: boolean | undefined;
}

async function withWorkers(cli: Cli, plan: readonly PlannedJob[]): Promise<readonly RunnableJob[]> {
  const handlers = plan.map(({ job }) => job.handler);
  const missing = (await findUnoffered(cli, handlers))?.missing;
  return plan.map((planned) => ({
    ...planned,
    canRun: missing && !missing.has(planned.job.handler ?? ''),
  }));
}

/** Servers that others can reach run no scripts unless they are told to. */
function howToOffer(idle: readonly RunnableJob[]): string {
  return idle.some(({ job }) => job.handler === 'script')
    ? 'Start the server with --script-enabled'
    : 'Start a worker that offers it';
}

function tellOfIdle({ out }: Cli, plan: readonly RunnableJob[], { paused }: { paused: boolean }): void {
  const idle = plan.filter(({ canRun }) => canRun === false);
  if (idle.length === 0) return;
  const handlers = [...new Set(idle.map(({ job }) => `"${job.handler}"`))].join(', ');
  const fate = paused
    ? 'made and paused: resume them when one does.'
    : `left out. ${howToOffer(idle)}, or import them paused with --paused.`;
  const lines = idle.map(({ line }) => line).join(', ');
  out.warn(
    `no worker offers the handler ${handlers}: ${idle.length} of ${countOf(plan.length, 'line')} would never run (${lines}), and ${idle.length === 1 ? 'is' : 'are'} ${fate}`,
  );
}

/** A planned job with what the server would do with it: its first run, or why it would be refused. */
interface CheckedJob extends RunnableJob {
  readonly nextAt?: string | undefined;
  readonly refusal?: string | undefined;
}

/** When no server answers, the plan is returned unchecked, with a warning. */
async function checkJobs(cli: Cli, plan: readonly RunnableJob[]): Promise<readonly CheckedJob[]> {
  const check = async (bar: ProgressBar) => {
    const checked: CheckedJob[] = [];
    for (const planned of plan) {
      checked.push(await checkJob(cli, planned));
      bar.advance();
    }
    return checked;
  };
  const isUnanswered = (error: CarillonError) => error.status === undefined;
  const checked = await optional(withBar(cli.out.terminal, plan.length, check, 'checked'), isUnanswered);
  if (!checked) cli.out.warn('no server answers, so it was not asked whether it would take these.');
  return checked ?? plan;
}

async function checkJob(cli: Cli, planned: RunnableJob): Promise<CheckedJob> {
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

function showPlan({ out }: Cli, plan: readonly CheckedJob[], { paused }: { paused: boolean }): void {
  const json = plan.map(
    ({ line, job, nextAt: next_run_time, refusal: refused, canRun: can_run = null, note }) => {
      return { line, job, next_run_time, can_run, refused, note };
    },
  );
  const fate = ({ refusal, canRun }: CheckedJob) => {
    if (refusal !== undefined) return 'refused';
    if (canRun === undefined) return 'not known';
    return canRun ? 'yes' : paused ? 'paused' : 'no, left out';
  };
  out.list(
    plan,
    [
      { header: 'LINE', value: ({ line }) => line, fixed: true, right: true, rank: 1 },
      { header: 'NAME', value: ({ job }) => job.name, rank: 2 },
      { header: 'SCHEDULE', value: ({ job }) => job.cron_expression, fixed: true, rank: 5 },
      { header: 'TIME ZONE', value: ({ job }) => job.time_zone, rank: 7 },
      { header: 'HANDLER', value: ({ job }) => job.handler, rank: 4 },
      {
        ...{ header: 'RUNS', value: fate, fixed: true, rank: 3 },
        paint: (word: string, row: CheckedJob) =>
          fate(row) === 'yes' ? out.paint.green(word) : out.paint.yellow(word),
      },
      { header: 'NEXT RUN', value: ({ nextAt }) => out.shortTime(nextAt), fixed: true, rank: 6 },
    ],
    { empty: 'The crontab holds no lines to import.', json },
  );
}

/** One by one, so that a refusal names its line and the command can be repeated. Returns how many were refused, with those before. */
async function createJobs(
  cli: Cli,
  plan: readonly RunnableJob[],
  { leftOut, refusals }: { leftOut: readonly RunnableJob[]; refusals: readonly CheckedJob[] },
): Promise<number> {
  const client = await cli.client();
  const signal = cli.untilInterrupted();
  const made: { line: number; name: string; job_id: string; created: boolean }[] = [];
  const refusedNow: { line: number; name: string; error: string }[] = [];
  const create = async ({ line, job, idempotencyKey, canRun }: RunnableJob) => {
    try {
      const { job_id, created = true } = await client.jobs.create(job, { idempotencyKey, signal });
      if (created && canRun === false) await client.jobs.pause(job_id, { signal });
      made.push({ line, name: job.name, job_id, created });
    } catch (error) {
      if (!(error instanceof CarillonError) || error.status !== 400) throw error;
      refusedNow.push({ line, name: job.name, error: error.message });
    }
  };
  const countCreated = () => made.filter(({ created }) => created).length;
  const createAll = async (bar: ProgressBar) => {
    for (const planned of plan) {
      await create(planned);
      bar.advance();
    }
  };
  await withBar(cli.out.terminal, plan.length, createAll, 'made').catch((error: unknown) => {
    const soFar = `${countOf(countCreated(), 'job')} made so far`;
    if (made.length > 0) cli.out.note(`${soFar}; the same command again makes only the others.`);
    throw error;
  });
  for (const { line, error } of refusedNow) cli.out.warn(`line ${line} was refused: ${error}`);
  const refusedBefore = refusals.map(({ line, job: { name }, refusal: error = '' }) => ({
    line,
    name,
    error,
  }));
  const refused = [...refusedBefore, ...refusedNow].sort((a, b) => a.line - b.line);
  const created = countCreated();
  const sentence = createdText({ created, existed: made.length - created, refused: refused.length });
  const left_out = leftOut.map(({ line, job: { name, handler } }) => ({ line, name, handler }));
  cli.out.done({ made, refused, left_out }, sentence);
  return refused.length;
}
