/**
 * Every request that the screens of the dashboard send while somebody looks around, with answers that can be checked against what the
 * store was filled with. Those that change something are not asked; page-requests.test.ts holds the list against the screens.
 */
import type { Carillon } from '../../packages/client/src/index.ts';
import { cursorAfter, every, full, has, type Page, type Row, tooMany, workerOf } from './answer-checks.ts';
import { busyUser, errors, handlers, namespaces, type PlannedStore } from './planned-store.ts';

export type PageRequest = {
  readonly screen: string;
  readonly name: string;
  /** The call of the client, such as `jobs.list`. */
  readonly call: string;
  /** Who asks: everything is seen by the first, one small namespace by the other. */
  readonly by: 'admin' | 'viewer';
  readonly send: (client: Carillon) => Promise<unknown>;
  /** Answers what is wrong with the answer, if anything. */
  readonly fault?: (answer: never) => string | undefined;
};

export const viewedNamespace = 'search';
const hourMs = 3_600_000;

/** Cursors deep in a list are read once before anything is measured. */
export async function pageRequests(client: Carillon, plan: PlannedStore): Promise<readonly PageRequest[]> {
  const requests: PageRequest[] = [];
  const add = (
    screen: string,
    call: string,
    name: string,
    rest: Omit<PageRequest, 'screen' | 'call' | 'name' | 'by'>,
  ) => requests.push({ screen, call, name, by: 'admin', ...rest });
  const deepJobs = await cursorAfter(40, () => client.jobs.list({ include: 'last_run', limit: 50 }));
  const deepRuns = await cursorAfter(40, () => client.runs.list({ attempts: 'last', limit: 50 }));
  const deepFailed = await cursorAfter(40, () =>
    client.runs.list({ status: 'FAILED', attempts: 'last', limit: 50 }),
  );
  const [frequent] = await client.stats.failures({ from: '30d', limit: 1 });
  const hot = plan.job(0);
  const [deadRun, failedRun] = [lastRun(plan, (run) => run.isDead), lastRun(plan, (run) => run.error >= 0)];
  const waiting = firstJob(plan, ({ kind, handler }) => kind === 'future' && handlers[handler] === 'rare');
  const ended = firstJob(plan, ({ kind }) => kind === 'ended');
  const pageIds = Array.from({ length: 50 }, (_, i) => plan.job(plan.jobs - 1 - i).jobId);
  const hotIds = Array.from({ length: 50 }, (_, i) => plan.job(i).jobId);

  add('all', 'session.whoami', 'who I am', { send: (c) => c.session.whoami() });
  add('all', 'session.methods', 'ways to sign in', { send: (c) => c.session.methods() });
  add('all', 'namespaces.list', 'namespaces', {
    send: (c) => c.namespaces.list({ limit: 100 }).page(),
    fault: ({ items }: Page) =>
      items.length === namespaces.length ? undefined : `${items.length} namespaces`,
  });
  add('all', 'stats.now', 'what goes on', { send: (c) => c.stats.now() });
  add('all', 'stats.now', 'what goes on in a namespace', {
    send: (c) => c.stats.now({ namespace: 'shop' }),
  });
  for (const [what, text, hits] of searches(plan, failedRun.runId))
    add('palette', 'search.find', what, {
      send: (c) => c.search.find(text),
      fault: (found: Row) => (hits && !JSON.stringify(found).includes(hits) ? `no ${hits}` : undefined),
    });

  for (const range of ['1h', '6h', '24h', '7d', '30d'] as const) {
    add('overview', 'stats.overTime', `counts ${range}`, {
      send: (c) => c.stats.overTime({ from: range }),
      fault: (stats: { buckets: readonly Row[] }) => (stats.buckets.length > 0 ? undefined : 'no counts'),
    });
    add('overview', 'stats.failures', `failures ${range}`, {
      send: (c) => c.stats.failures({ from: range, limit: 20 }),
      fault: (groups: readonly Row[]) =>
        range === '1h' || range === '6h' || String(groups[0]?.message).startsWith(errors[0]!)
          ? undefined
          : 'the most frequent error is not first',
    });
  }
  add('overview', 'stats.overTime', 'counts 7d of a namespace', {
    send: (c) => c.stats.overTime({ from: '7d', namespace: 'billing' }),
  });
  add('overview', 'stats.failures', 'failures 7d of a namespace', {
    send: (c) => c.stats.failures({ from: '7d', namespace: 'billing', limit: 20 }),
  });
  const dragged = {
    from: new Date(plan.nowMs - 3_600_000).toISOString(),
    to: new Date(plan.nowMs).toISOString(),
  };
  add('overview', 'stats.overTime', 'counts of a range that was dragged', {
    send: (c) => c.stats.overTime(dragged),
  });
  add('overview', 'stats.failures', 'failures of a range that was dragged', {
    send: (c) => c.stats.failures({ ...dragged, limit: 20 }),
  });
  add('overview', 'jobs.upcoming', 'what comes next', {
    send: (c) => c.jobs.upcoming({ limit: 200, within: '1h' }).page(),
    fault: full(1),
  });
  add('overview', 'jobs.upcoming', 'what comes next in a small namespace', {
    send: (c) => c.jobs.upcoming({ namespace: 'tiny', limit: 200, within: '1h' }).page(),
  });
  add('overview', 'jobs.list', 'whether there is a job', {
    send: (c) => c.jobs.list({ limit: 1 }).page(),
    fault: full(1),
  });

  const jobs = (
    name: string,
    filter: NonNullable<Parameters<Carillon['jobs']['list']>[0]>,
    fault = full(0),
  ) =>
    add('jobs', 'jobs.list', name, {
      send: (c) =>
        c.jobs
          .list({ ...filter, include: 'last_run', limit: 50 })
          .page()
          .catch(tooMany),
      fault,
    });
  const newest = plan.job(plan.jobs - 1).jobId;
  jobs(
    'newest',
    {},
    (page) => full(50)(page) ?? (has(page, 'job_id', newest) ? undefined : 'not the newest'),
  );
  add('jobs', 'jobs.list', 'after 2,000', {
    send: (c) => c.jobs.list().from(deepJobs).page(),
    fault: full(50),
  });
  jobs('oldest first', { sort: 'created_at' }, full(50));
  for (const sort of ['name', 'next_run_at', '-updated_at', 'priority'] as const)
    jobs(`sorted by ${sort}`, { sort });
  jobs(
    'sorted by name in a small namespace',
    { sort: 'name', namespace: 'tiny' },
    every('namespace', 'tiny'),
  );
  for (const status of ['SCHEDULED', 'RUNNING', 'PAUSED', 'COMPLETED', 'FAILED', 'CANCELLED'])
    jobs(`state ${status}`, { status });
  jobs('state FAILED,PAUSED', { status: 'FAILED,PAUSED' });
  for (const type of ['recurring', 'cron', 'interval', 'one-time']) jobs(`kind ${type}`, { type });
  jobs('a frequent handler', { handler: 'mail' }, every('handler', 'mail'));
  jobs('a rare handler', { handler: 'rare' }, every('handler', 'rare'));
  jobs('no such handler', { handler: 'nobody' }, every('handler', 'nobody'));
  jobs('a frequent label', { label: 'env:production' }, full(50));
  jobs('a rare label', { label: 'release:r4242' });
  jobs('two labels', { label: ['env:staging', 'team:team-3'] }, full(50));
  jobs('no such label', { label: 'env:none' });
  jobs('text that is frequent', { text: 'mail' }, full(50));
  jobs('text that is nowhere', { text: 'no such name' });
  jobs('a namespace', { namespace: 'billing' }, every('namespace', 'billing'));
  jobs('a small namespace', { namespace: 'tiny' }, every('namespace', 'tiny'));
  jobs('an owner with many', { user_id: busyUser }, every('user_id', busyUser));
  jobs('an owner with none', { user_id: 'nobody' });
  jobs('priority', { priority: 'high' });
  jobs('all filters', {
    status: 'COMPLETED',
    handler: 'mail',
    namespace: 'shop',
    label: 'env:production',
    text: 'mail',
  });
  add('jobs', 'jobs.strips', 'strips of the newest', { send: (c) => c.jobs.strips(pageIds, { runs: 20 }) });
  add('jobs', 'jobs.strips', 'strips of busy jobs', {
    send: (c) => c.jobs.strips(hotIds, { runs: 20 }),
    fault: (strips: readonly Row[]) => (strips.length === 50 ? undefined : `${strips.length} strips`),
  });
  add('jobs', 'users.list', 'users', { send: (c) => c.users.list({ limit: 200 }).page() });
  add('jobs', 'handlers.list', 'handlers', { send: (c) => c.handlers.list({ limit: 200 }).page() });
  add('jobs', 'jobs.bulk', 'dry run of a filter', {
    send: (c) => c.jobs.bulk({ action: 'pause', dry_run: true, filter: { handler: 'report' } }),
  });

  add('job', 'jobs.get', 'a job with many runs', {
    send: (c) => c.jobs.get(hot.jobId),
    fault: (job: Row) => (job.name === hot.name ? undefined : 'another job'),
  });
  for (const [what, { jobId }] of [
    ['busy', hot],
    ['ended', ended],
    ['waiting', waiting],
  ] as const) {
    add('job', 'jobs.why', `why, of a job that is ${what}`, { send: (c) => c.jobs.why(jobId) });
    // The list of its runs, the strip of their outcomes, what its last run became of, and the neighbours of a run.
    for (const limit of [50, 100, 1, 200])
      add('job', 'runs.list', `${limit} runs of a job that is ${what}`, {
        send: (c) => c.runs.list({ job_id: jobId, attempts: 'last', limit }).page(),
        fault: what === 'busy' ? full(Math.min(limit, Math.floor(plan.runs / plan.jobs))) : full(1),
      });
    add('job', 'deadLetters.list', `dead letters of a job that is ${what}`, {
      send: (c) => c.deadLetters.list({ job_id: jobId, handled: false, limit: 100 }).page(),
    });
  }
  add('job', 'jobs.versions', 'versions', {
    send: (c) => c.jobs.versions(hot.jobId, { limit: 50 }).page(),
    fault: full(6),
  });
  const [fromNow, inAMonth] = [0, 30].map((days) => new Date(plan.nowMs + days * 24 * hourMs).toISOString());
  add('job', 'schedules.preview', 'next fires', {
    send: (c) => c.schedules.preview({ job_id: hot.jobId, count: 5 }),
  });
  add('job', 'schedules.preview', 'fires of a month', {
    send: (c) => c.schedules.preview({ job_id: hot.jobId, after: fromNow, until: inAMonth, count: 100 }),
  });
  const nightly = { cron_expression: '30 2 * * *', time_zone: 'Europe/Paris' };
  for (const namespace of ['default', 'tiny'])
    add('edit', 'schedules.preview', `fires of a new job in ${namespace}, with how many others`, {
      send: (c) => c.schedules.preview({ ...nightly, namespace, count: 10 }),
    });
  add('edit', 'schedules.preview', 'fires of a changed job', {
    send: (c) => c.schedules.preview({ ...nightly, job_id: hot.jobId, count: 10 }),
  });
  add('edit', 'schedules.preview', 'fires around a clock change', {
    send: (c) => c.schedules.preview({ ...nightly, namespace: 'default', after: inAMonth, count: 3 }),
  });
  for (const name of [hot.name, 'mail-mail once', 'no such name'])
    add('edit', 'jobs.list', `whether another job is called ${name}`, {
      send: (c) => c.jobs.list({ name, namespace: 'default', limit: 2 }).page(),
    });
  add('job', 'stats.overTime', 'counts of a job', {
    send: (c) => c.stats.overTime({ job_id: hot.jobId, from: '7d' }),
  });

  const runs = (
    name: string,
    filter: NonNullable<Parameters<Carillon['runs']['list']>[0]>,
    fault = full(0),
  ) =>
    add('runs', 'runs.list', name, {
      send: (c) => c.runs.list({ attempts: 'last', ...filter, limit: 50 }).page(),
      fault,
    });
  runs('newest', {}, full(50));
  runs('newest, each attempt', { attempts: 'all' }, full(50));
  runs('failures, each attempt', { attempts: 'all', status: 'FAILED' }, full(50));
  add('runs', 'runs.list', 'what waits', {
    send: (c) => c.runs.list({ status: 'QUEUED', limit: 50 }).page(),
  });
  for (const since of ['1h', '24h', undefined])
    runs(`failures like the most frequent, since ${since ?? 'ever'}`, {
      failure: frequent?.fingerprint,
      since,
    });
  runs('failures like none', { failure: '0'.repeat(16) });
  add('runs', 'runs.list', 'after 2,000', {
    send: (c) => c.runs.list().from(deepRuns).page(),
    fault: full(50),
  });
  add('runs', 'runs.list', 'FAILED after 2,000', { send: (c) => c.runs.list().from(deepFailed).page() });
  for (const status of [
    'QUEUED',
    'CLAIMED',
    'RUNNING',
    'SUCCESS',
    'FAILED',
    'TIMED_OUT',
    'CANCELLED',
    'SKIPPED',
    'RETURNED',
    'LOST',
  ])
    runs(`state ${status}`, { status });
  runs('state FAILED,TIMED_OUT', { status: 'FAILED,TIMED_OUT', since: '1h' });
  for (const since of ['15m', '1h', '24h', '7d']) runs(`since ${since}`, { since }, full(1));
  const until = new Date(plan.nowMs - 14 * 24 * hourMs).toISOString();
  runs('two weeks ago', { until }, full(50));
  runs(
    'an hour two weeks ago',
    { until, since: new Date(Date.parse(until) - hourMs).toISOString() },
    full(20),
  );
  runs('a frequent handler', { handler: 'mail' }, every('handler', 'mail'));
  runs('a rare handler', { handler: 'rare' });
  runs('no such handler', { handler: 'nobody' });
  runs('a frequent label', { label: 'env:production' });
  runs('a rare label', { label: 'release:r4242' });
  runs('no such label', { label: 'env:none' });
  runs('an error', { error: 'no space left' }, full(1));
  runs('an error that is nowhere', { error: 'no such error' });
  runs('an owner with many', { user_id: busyUser });
  runs('an owner with none', { user_id: 'nobody' });
  runs('a worker', { worker_id: plan.worker(3) });
  runs('no such worker', { worker_id: 'host-999.1.1' });
  runs('a namespace', { namespace: 'billing' }, every('namespace', 'billing'));
  runs('a small namespace', { namespace: 'tiny' });
  runs('a job with many runs', { job_id: hot.jobId }, every('job_id', hot.jobId));
  runs(
    'failures of a job with many runs',
    { job_id: hot.jobId, status: 'FAILED' },
    every('job_id', hot.jobId),
  );
  runs('all filters', {
    status: 'FAILED',
    handler: 'mail',
    namespace: 'shop',
    label: 'env:production',
    error: 'invoice',
    since: '7d',
  });
  add('runs', 'runs.bulk', 'dry run', {
    send: (c) => c.runs.bulk({ action: 'rerun', run_ids: [failedRun.runId], dry_run: true }),
  });

  for (const [what, runId] of [
    ['failed', failedRun.runId],
    ['waiting', waiting.jobId],
  ] as const) {
    add('run', 'runs.get', `a run that is ${what}`, {
      send: (c) => c.runs.get(runId),
      fault: (run: Row) => (run.run_id === runId ? undefined : 'another run'),
    });
    add('run', 'runs.why', `why, of a run that is ${what}`, { send: (c) => c.runs.why(runId) });
  }
  // Read at once: the end of a stream is told a second after the last line.
  for (const [what, query] of [
    ['', {}],
    [', a text in it', { search: 'no such line' }],
    [', one attempt of it', { epoch: 1 }],
    [', one stream of it', { stream: ['stderr', 'system'] }],
  ] as const)
    add('run', 'runs.tailLogs', `log of a run that ended${what}`, {
      send: (c) => c.runs.logText(failedRun.runId, query),
    });

  add('run', 'runs.artifacts', 'files of a run', { send: (c) => c.runs.artifacts(failedRun.runId) });
  // Most runs have none, which is an answer too.
  add('run', 'runs.checkpoint', 'what a run saved', {
    send: (c) => c.runs.checkpoint(failedRun.runId).catch(() => undefined),
  });
  add('run', 'runs.list', 'the last success before a run', {
    send: (c) =>
      c.runs
        .list({ job_id: plan.job(failedRun.job).jobId, status: 'SUCCESS', until: dragged.to, limit: 1 })
        .page(),
  });

  const letters = (name: string, filter: Parameters<Carillon['deadLetters']['list']>[0], fault = full(0)) =>
    add('dead letters', 'deadLetters.list', name, {
      send: (c) => c.deadLetters.list({ ...filter, limit: 50 }).page(),
      fault,
    });
  letters('open', { handled: false }, full(1));
  letters('handled', { handled: true }, full(1));
  letters('of a reason', { handled: false, reason: 'never_started' });
  letters('of a rare handler', { handled: false, handler: 'rare' });
  letters('of a small namespace', { handled: false, namespace: 'tiny' });
  letters('of an owner with none', { handled: false, user_id: 'nobody' });
  letters('of a job', { handled: false, job_id: plan.job(deadRun.job).jobId });
  // By the id of a run: there may be none of it any more.
  add('dead letters', 'deadLetters.get', 'a letter', {
    send: (c) => c.deadLetters.get(deadRun.runId).catch(() => undefined),
  });
  add('dead letters', 'deadLetters.redriveMany', 'dry run', {
    send: (c) => c.deadLetters.redriveMany({ filter: {}, dry_run: true }),
  });

  add('workers', 'workers.list', 'workers', {
    send: (c) => c.workers.list({ limit: 200 }).page(),
    fault: full(1),
  });
  add('workers', 'workers.list', 'workers with a label', {
    send: (c) => c.workers.list({ label: 'zone:none', limit: 100 }).page(),
  });
  add('workers', 'workers.list', 'workers that are alive, by a handler', {
    send: (c) => c.workers.list({ alive: true, handler: 'http', limit: 100 }).page(),
  });
  add('workers', 'workers.get', 'a worker', {
    send: async (c) => c.workers.get((await workerOf(c)) ?? ''),
  });
  add('workers', 'runs.list', 'runs of a worker', {
    send: (c) => c.runs.list({ worker_id: plan.worker(7), limit: 50 }).page(),
  });
  add('settings', 'keys.list', 'keys', { send: (c) => c.keys.list({ limit: 100 }).page() });
  add('settings', 'secrets.list', 'secrets', { send: (c) => c.secrets.list({ namespace: 'default' }) });
  add('settings', 'namespaces.signingKeys.list', 'signing keys', {
    send: (c) => c.namespaces.signingKeys.list('default'),
  });
  for (const [what, filter] of [
    ['all', {}],
    ['a namespace', { namespace: 'tiny' }],
    ['what', { action: 'jobs.update' }],
    ['what is rare', { action: 'users.create' }],
    ['who', { actor: busyUser }],
    ['who is nobody', { actor: 'nobody at all' }],
    ['of a job', { subject_id: hot.jobId }],
    ['by everything', { namespace: 'shop', actor: 'nobody', action: 'jobs.update', subject_id: hot.jobId }],
  ] as const)
    add('settings', 'audit.list', `audit, ${what}`, {
      send: (c) => c.audit.list({ ...filter, limit: 100 }).page(),
    });
  const narrow = ['jobs', 'runs', 'dead letters', 'overview'];
  const viewers = requests.filter(
    ({ screen, name }) =>
      narrow.includes(screen) &&
      !/namespace|owner|dry run|busy|many runs|of a job|users|an error|all filters/.test(name),
  );
  return [...requests, ...viewers.map(({ fault: _, ...request }) => ({ ...request, by: 'viewer' as const }))];
}

function searches(
  plan: PlannedStore,
  runId: string,
): readonly (readonly [string, string, string | undefined])[] {
  const { name, jobId } = plan.job(1);
  return [
    ['a name', name, jobId],
    ['the beginning of many names', 'invoice', 'invoice'],
    ['one character', 'i', undefined],
    ['nothing like it', 'zzz no such', undefined],
    ['an id of a job', jobId, jobId],
    ['an id of a run', runId, runId],
    ['the beginning of an id', jobId.slice(0, 8), undefined],
    ['the beginning of every id', jobId.slice(0, 4), undefined],
  ];
}

function firstJob(plan: PlannedStore, wanted: (job: ReturnType<PlannedStore['job']>) => boolean) {
  for (let index = plan.recurring; index < plan.jobs; index += 1) {
    const job = plan.job(index);
    if (wanted(job)) return job;
  }
  throw new Error('the plan has no such job');
}

function lastRun(plan: PlannedStore, wanted: (run: ReturnType<PlannedStore['run']>) => boolean) {
  for (let n = plan.runs - 1; n >= 0; n -= 1) {
    const run = plan.run(n);
    if (wanted(run)) return run;
  }
  throw new Error('the plan has no such run');
}
