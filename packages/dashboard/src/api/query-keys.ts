/**
 * What every answer that the page keeps is kept under. The first word says what it is about, and the second that it is a list or of which
 * one it is: by these two, updates of the stream find what to ask again (refresher.ts). Asking again by a shorter key means all below it.
 */

/** What a stream tells of. */
export const ABOUT_RUNS = ['jobs', 'runs', 'dead', 'workers', 'stats', 'failures'] as const;
export type AboutRuns = (typeof ABOUT_RUNS)[number];

export type QueryKey = readonly unknown[];

const TOLD: ReadonlySet<unknown> = new Set(ABOUT_RUNS);

export function isAboutRuns([about]: QueryKey): boolean {
  return TOLD.has(about);
}

const list = (about: AboutRuns, ...rest: readonly unknown[]): QueryKey => [about, 'list', ...rest];

export const queryKeys = {
  all: (about: AboutRuns): QueryKey => [about],

  job: (jobId: string | undefined): QueryKey => ['jobs', jobId],
  /** Of one job, asked again with it. */
  ofJob: (jobId: string, what: string, ...rest: readonly unknown[]): QueryKey => [
    'jobs',
    jobId,
    what,
    ...rest,
  ],
  jobs: (...rest: readonly unknown[]): QueryKey => list('jobs', ...rest),

  run: (runId: string): QueryKey => ['runs', runId],
  whyRun: (runId: string): QueryKey => ['runs', runId, 'why'],
  artifacts: (runId: string, attempts: string): QueryKey => ['runs', runId, 'artifacts', attempts],
  checkpoint: (runId: string, savedAt: string): QueryKey => ['runs', runId, 'checkpoint', savedAt],
  lastSuccess: (runId: string, epoch: number, jobVersion: number | undefined): QueryKey => [
    'runs',
    runId,
    'last success',
    epoch,
    jobVersion,
  ],
  runs: (...rest: readonly unknown[]): QueryKey => list('runs', ...rest),

  deadLetters: (...rest: readonly unknown[]): QueryKey => list('dead', ...rest),

  worker: (workerId: string): QueryKey => ['workers', workerId],
  workers: (...rest: readonly unknown[]): QueryKey => list('workers', ...rest),
  workerSum: (filter: unknown): QueryKey => ['workers', 'sum', filter],
  /** Not asked again with every beat. */
  workerNames: (): QueryKey => ['worker names'],

  now: (namespace: string | undefined): QueryKey => ['stats', 'now', namespace],
  overTime: (namespace: string | undefined, range: unknown): QueryKey => [
    'stats',
    'over time',
    namespace,
    range,
  ],
  failures: (namespace: string | undefined, range: unknown): QueryKey => ['failures', namespace, range],

  /** Of no job that is stored as it is shown: never told of by the stream. */
  schedule: (what: string, ...rest: readonly unknown[]): QueryKey => ['schedules', what, ...rest],
  jobToEdit: (jobId: string | undefined): QueryKey => ['to-edit', jobId],
  search: (wanted: string): QueryKey => ['search', wanted],
  namesakes: (wanted: string, except: string | undefined): QueryKey => ['namesakes', wanted, except],

  /** Those that the page shows names of, and all lists of them. */
  namespaces: (...rest: readonly unknown[]): QueryKey => ['namespaces', ...rest],
  handlerNames: (): QueryKey => ['handlers', 'names'],
  users: (...rest: readonly unknown[]): QueryKey => ['users', ...rest],
  apiKeys: (...rest: readonly unknown[]): QueryKey => ['keys', ...rest],
  signingKeys: (...rest: readonly unknown[]): QueryKey => ['signing keys', ...rest],
  secrets: (...rest: readonly unknown[]): QueryKey => ['secrets', ...rest],
  sessions: (...rest: readonly unknown[]): QueryKey => ['sessions', ...rest],
  audit: (search: unknown): QueryKey => ['audit', search],

  session: (): QueryKey => ['session'],
  signInMethods: (): QueryKey => ['sign-in methods'],
  preferences: (userId: unknown): QueryKey => ['me', 'preferences', userId],
  views: (...rest: readonly unknown[]): QueryKey => ['me', 'views', ...rest],
};
